//! The commands: one file or folder each. None imports another, except `demo`.

pub mod anonymize;
pub mod blk;
pub mod check;
pub mod compare;
pub mod demo;
pub mod doctor;
pub mod explain;
pub mod export;
pub mod fleet;
pub mod funclat;
pub mod generate;
pub mod hung;
pub mod import;
pub mod lake;
pub mod recipes;
pub mod record;
pub mod report;
pub mod run;
pub mod show;
pub mod simulate;
pub mod sweep;
pub mod top;
pub mod trial;
pub mod view;

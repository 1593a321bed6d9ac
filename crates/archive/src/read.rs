//! Reading a run.

mod batch;
pub(crate) mod check;
pub(crate) mod damage_log;
mod ends;
mod inventory;
mod lock;
mod message;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod stored;

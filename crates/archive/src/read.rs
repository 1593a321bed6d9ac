//! Reading a run.

pub(crate) mod check;
pub(crate) mod damage_log;
mod inventory;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod stored;

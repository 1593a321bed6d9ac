//! Reading a run.

pub(crate) mod check;
mod inventory;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod stored;

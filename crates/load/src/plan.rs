//! A recipe with every formula resolved to numbers, and what of it does not fit this machine.

mod actor;
mod definition;
mod direct;
mod file_names;
mod fit;
mod rank_placement;
mod resolve;
mod scope;
mod show;
#[cfg(test)]
mod tests;
mod totals;

pub use actor::{Actor, FileTransfer, RoundStep, StepWork, TransferDirection};
pub use definition::Plan;
pub use rank_placement::RankPlacement;
pub use resolve::PlanRequest;
pub use totals::PlanTotals;

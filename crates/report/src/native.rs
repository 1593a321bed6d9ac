//! A run's figures in the form of the program that its workload comes from, for the eyes and scripts of its users.

mod bonnie;
mod fsmark;
mod ior;

use explain::summary::Summary;

use crate::simoop;

/// Workloads whose original prints lines or columns of its own.
pub const WORKLOADS: [&str; 4] = ["bonnie", "fsmark", "ior", "simoop"];

/// The lines that the original would have printed; `None`: the workload is none of [`WORKLOADS`].
pub fn text(summary: &Summary) -> Option<String> {
    match summary.workload.as_str() {
        "simoop" => Some(format!("{}\n{}\n", simoop::FINAL_STATS, simoop::report(summary))),
        "bonnie" => Some(bonnie::lines(summary)),
        "fsmark" => Some(fsmark::text(summary)),
        "ior" => Some(ior::lines(summary)),
        _ => None,
    }
}

//! A run's figures in the output format of the tool its workload reproduces, for readers and scripts that know it.

mod bonnie;
mod fsmark;
mod ior;
mod mdtest;

use explain::summary::Summary;

use crate::simoop;

/// Workloads whose original tool has its own output format.
pub const WORKLOADS: [&str; 5] = ["bonnie", "fsmark", "ior", "mdtest", "simoop"];

/// The lines the original tool prints; `None` if the workload is not in [`WORKLOADS`].
pub fn text(summary: &Summary) -> Option<String> {
    match summary.workload.as_str() {
        "simoop" => Some(format!("{}\n{}\n", simoop::FINAL_STATS, simoop::report(summary))),
        "bonnie" => Some(bonnie::lines(summary)),
        "fsmark" => Some(fsmark::text(summary)),
        "ior" => Some(ior::lines(summary)),
        "mdtest" => Some(mdtest::lines(summary)),
        _ => None,
    }
}

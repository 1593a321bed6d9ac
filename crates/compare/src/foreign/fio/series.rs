//! Reports of one run (`--status-interval`, or a signal) are cumulative: the last one holds all before it.

use super::report::{Job, Report};

/// Two reports of a run may differ by this in the start that they imply: both times are in whole seconds.
const START_APART_MS: u64 = 2500;
/// Without a clock or a process id, a report whose jobs ran longer by this share continues the one before. Jobs of one
/// name run equally long.
pub(super) const LONGER: f64 = 1.05;

/// The last report of each run.
pub(super) fn last_of_each(reports: Vec<Report>) -> Vec<Report> {
    let mut last: Vec<Report> = Vec::new();
    for mut report in reports.into_iter().filter(|report| !report.jobs.is_empty()) {
        match last.last_mut().filter(|before| continues(before, &report)) {
            Some(before) => {
                report.preceded_by = before.preceded_by + 1;
                *before = report;
            }
            None => last.push(report),
        }
    }
    last
}

fn continues(before: &Report, after: &Report) -> bool {
    // Jobs that start later (stonewall) are added.
    before.version == after.version
        && before.jobs.len() <= after.jobs.len()
        && before.jobs.iter().zip(&after.jobs).all(|(before, after)| grows(before, after))
        && is_same_start(before, after)
}

fn grows(before: &Job, after: &Job) -> bool {
    (&before.name, before.group, &before.host) == (&after.name, after.group, &after.host)
        && before.total() <= after.total()
        && before.runtime_ms <= after.runtime_ms
}

fn is_same_start(before: &Report, after: &Report) -> bool {
    if let (Some(one), Some(other)) = (start_ms(before), start_ms(after)) {
        return one.abs_diff(other) <= START_APART_MS;
    }
    let pid = |report: &Report| report.jobs[0].pid;
    if let (Some(one), Some(other)) = (pid(before), pid(after)) {
        return one == other;
    }
    let runtime = |report: &Report| report.jobs.iter().filter_map(|job| job.runtime_ms).max().unwrap_or(0) as f64;
    runtime(after) >= runtime(before) * LONGER
}

fn start_ms(report: &Report) -> Option<u64> {
    let elapsed_s = report.jobs.iter().filter_map(|job| job.elapsed_s).max()?;
    report.at_ms?.checked_sub(elapsed_s.checked_mul(1000)?)
}

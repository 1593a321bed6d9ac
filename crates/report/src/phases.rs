//! The phases of a run: duration, throughput over time, and stragglers.

use comfy_table::Table;
use explain::summary::{PhaseSummary, Summary};
use model::event::Member;
use model::quantity::grouped;
use model::quantity::{Bytes, Nanoseconds};

use crate::number::rate;
use crate::sparkline::sparkline;
use crate::style::{Style, printable};

/// Points of a phase's sparkline.
const MOST_STEPS: usize = 60;
/// Phases shown: a run that repeats its phases may have thousands.
const MOST_PHASES: usize = 24;
/// Least excess of the slowest member over the median, as a share of the median, that is reported.
const EVEN: f64 = 0.05;

/// The threads of a phase's job, summed up.
#[derive(Debug, Clone, Copy)]
pub struct JobThreads<'a> {
    /// Number of members.
    pub members: usize,
    /// Items done by all members.
    pub items: u64,
    /// CPU time of all members; `None` unless it is known for each.
    pub cpu_ns: Option<u64>,
    /// From the common start to the first member's end.
    pub fastest_ns: u64,
    /// From the common start to the median member's end.
    pub median_ns: u64,
    /// From the common start to the last member's end.
    pub slowest_ns: u64,
    /// The last member.
    pub slowest: &'a Member,
}

impl<'a> JobThreads<'a> {
    /// Those of a phase; `None` if it has none.
    pub fn of(phase: &'a PhaseSummary) -> Option<JobThreads<'a>> {
        let took = |member: &Member| member.end_ns.saturating_sub(member.start_ns);
        let slowest = phase.job_threads.iter().max_by_key(|member| took(member))?;
        let mut times: Vec<u64> = phase.job_threads.iter().map(took).collect();
        times.sort_unstable();
        Some(JobThreads {
            members: times.len(),
            items: phase.job_threads.iter().map(|member| member.items).sum(),
            cpu_ns: phase.job_threads.iter().map(|member| member.cpu_ns).sum(),
            fastest_ns: times[0],
            median_ns: times[times.len() / 2],
            slowest_ns: took(slowest),
            slowest,
        })
    }
}

/// Whether the phases add to what the whole run shows.
pub(crate) fn are_informative(summary: &Summary) -> bool {
    summary.phases.iter().filter(|phase| phase.measured).count() > 1
        || summary.phases.iter().any(|phase| phase.measured && !phase.job_threads.is_empty())
}

/// The last measured phases, and the number of those left out.
fn shown(summary: &Summary) -> (Vec<&PhaseSummary>, usize) {
    let measured: Vec<&PhaseSummary> = summary.phases.iter().filter(|phase| phase.measured).collect();
    let left_out = measured.len().saturating_sub(MOST_PHASES);
    (measured[left_out..].to_vec(), left_out)
}

/// A row for each phase.
pub(crate) fn rows(summary: &Summary, table: &mut Table) {
    for phase in shown(summary).0 {
        let span_ns = phase.end_ns.map(|end_ns| end_ns.saturating_sub(phase.start_ns)).filter(|&ns| ns > 0);
        let per_s = |amount: f64| span_ns.map(|ns| amount * 1e9 / ns as f64);
        let operations: u64 = phase.operations.iter().map(|operation| operation.latencies.count()).sum();
        let errors: u64 = phase.operations.iter().map(|operation| operation.latencies.errors()).sum();
        let dash = || "-".to_owned();
        let bytes = phase.bytes.filter(|&bytes| bytes > 0);
        let bytes_per_s = bytes.and_then(|bytes| per_s(bytes as f64));
        table.add_row([
            printable(&phase.name),
            span_ns.map_or_else(dash, |ns| Nanoseconds(ns).to_string()),
            bytes.map_or_else(dash, |bytes| Bytes(bytes).to_string()),
            bytes_per_s.map_or_else(dash, |per_s| Bytes(per_s as u64).to_string()),
            per_s(operations as f64).map_or_else(dash, rate),
            grouped(errors),
        ]);
    }
}

/// The number of phases left out, throughput over time, and stragglers.
pub(crate) fn lines(summary: &Summary, style: Style) -> Vec<String> {
    let (phases, left_out) = shown(summary);
    let mut lines = Vec::new();
    if left_out > 0 {
        lines.push(style.faint(&format!("the {} before them are in --json", grouped(left_out as u64))));
    }
    let width = phases.iter().map(|phase| printable(&phase.name).chars().count()).max().unwrap_or(0);
    lines.extend(phases.iter().filter_map(|phase| over_time(phase, width, style)));
    lines.extend(phases.iter().filter_map(|phase| straggler(phase)).map(|line| style.remark(&line)));
    lines
}

/// Bytes/s over the phase, or operations/s if it moved no bytes.
fn over_time(phase: &PhaseSummary, width: usize, style: Style) -> Option<String> {
    let moves = phase.progress.iter().any(|progress| progress.bytes > 0);
    let steps = phase.progress.len().min(MOST_STEPS);
    if steps < 3 {
        return None;
    }
    let values: Vec<f64> = (0..steps)
        .map(|step| {
            let edge = |step: usize| phase.progress.len() * step / steps;
            let within = &phase.progress[edge(step)..edge(step + 1)];
            let amount: u64 = within.iter().map(|p| if moves { p.bytes } else { p.operations }).sum();
            let span_ns: u64 = within.iter().map(|p| p.end_ns.saturating_sub(p.start_ns)).sum();
            amount as f64 * 1e9 / span_ns.max(1) as f64
        })
        .collect();
    let show = |per_s: f64| if moves { format!("{}/s", Bytes(per_s as u64)) } else { format!("{}/s", rate(per_s)) };
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let line = sparkline(&values.iter().copied().map(Some).collect::<Vec<_>>(), style);
    Some(format!("{:<width$} {line}  from {} to {}", printable(&phase.name), show(least), show(most)))
}

fn straggler(phase: &PhaseSummary) -> Option<String> {
    let threads = JobThreads::of(phase)?;
    let late_ns = threads.slowest_ns - threads.median_ns.min(threads.slowest_ns);
    if threads.members < 2 || (late_ns as f64) < EVEN * threads.median_ns as f64 {
        return None;
    }
    Some(format!(
        "in {} the slowest of {}, {} {}, took {}; the median {}",
        printable(&phase.name),
        threads.members,
        printable(&threads.slowest.actor),
        threads.slowest.ordinal,
        Nanoseconds(threads.slowest_ns),
        Nanoseconds(threads.median_ns)
    ))
}

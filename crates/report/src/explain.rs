//! An explanation as text: where the time of slow operations went, who is to blame, and the worst one by one.

mod stalls;
mod tables;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use explain::blame::{Cause, Explanation, Stall};
use model::quantity::Nanoseconds;

use crate::number::{counted, grouped, share};
use crate::style::{Style, printable};

/// Stalls shown one by one, unless the person asks for another number.
pub const STALLS_SHOWN: usize = 5;

/// The whole explanation; of the stalls the worst `limit`.
pub fn text(run: &str, explanation: &Explanation, limit: usize, style: Style) -> String {
    let mut text = String::new();
    headline(&mut text, run, explanation, style);
    if explanation.slow_operations > 0 {
        tables::causes(&mut text, explanation, style);
        tables::classes(&mut text, explanation, style);
        tables::culprits(&mut text, explanation, style);
        stalls::stalls(&mut text, explanation, limit, style);
    }
    cautions(&mut text, explanation, style);
    text
}

/// One stall: how long it took, its causes, its chain.
pub(crate) fn one_stall(stall: &Stall, style: Style) -> String {
    let mut text = String::new();
    stalls::one(&mut text, stall, style);
    text
}

/// What a run ends with: the causes in one sentence, the worst stall, and where there is more.
pub fn brief(run: &str, explanation: &Explanation, style: Style) -> String {
    let threshold = Nanoseconds(explanation.slower_than_ns);
    let mut text = format!("\n{}\n", style.heading(&format!("Why operations took longer than {threshold}")));
    let _ = writeln!(text, " {}", sentence(explanation));
    stalls::worst(&mut text, explanation, style);
    let losses = &explanation.losses;
    if losses.any() {
        let _ = writeln!(text, " {}", style.remark("not all was recorded; the whole explanation says what is missing"));
    }
    if explanation.slow_operations > 0 {
        let _ = writeln!(text, " {}", style.faint(&format!("more: stallscope explain {}", printable(run))));
    }
    text
}

fn headline(text: &mut String, run: &str, explanation: &Explanation, style: Style) {
    let threshold = Nanoseconds(explanation.slower_than_ns);
    let _ = writeln!(text, "{}", style.heading(&format!("Why operations took longer than {threshold}")));
    if let Some(origin) = &explanation.simulated {
        let _ = writeln!(text, "{}", style.remark(&crate::simulation::badge(origin)));
    }
    let _ = writeln!(text, "{}", style.faint(&printable(run)));
    if let Some(asked_for_ns) = explanation.asked_for_ns {
        let asked_for = Nanoseconds(asked_for_ns);
        let line = format!(
            "operations between {asked_for} and {threshold} were not kept; record with --slower-than {asked_for}"
        );
        let _ = writeln!(text, "{}", style.remark(&line));
    }
    let _ = writeln!(text, "\n {}", sentence(explanation));
}

/// The whole explanation in one sentence.
fn sentence(explanation: &Explanation) -> String {
    let of_all = explanation.operations.map_or_else(String::new, |all| format!(" of {}", grouped(all)));
    if explanation.slow_operations == 0 {
        let slowest = explanation.slowest.as_ref().map_or_else(String::new, |(class, ns)| {
            format!("; the slowest was a {} of {}", printable(class), Nanoseconds(*ns))
        });
        return format!("No operation{of_all} was that slow{slowest}.");
    }
    let mut parts: Vec<String> = Vec::new();
    for time in explanation.causes.iter().filter(|time| time.cause != Cause::Unexplained).take(3) {
        let percent = time.time_ns as f64 / explanation.wall_ns.max(1) as f64;
        if percent >= 0.05 || parts.is_empty() {
            parts.push(format!("{} {}", share(percent), words(time.cause)));
        }
    }
    let unexplained = explanation.share(Cause::Unexplained).unwrap_or(0.0);
    parts.push(format!("{} unexplained", share(unexplained)));
    format!("{} took {} together: {}.", who(explanation), Nanoseconds(explanation.wall_ns), parts.join(", "))
}

/// `12 of 4,000 operations and 3 of other programs`; without a load of ours all operations are others'.
fn who(explanation: &Explanation) -> String {
    let (all, others) = (explanation.slow_operations, explanation.others);
    let Some(finished) = explanation.operations.filter(|_| all > others) else {
        return counted(all, "operation");
    };
    let own = format!("{} of {}", grouped(all - others), counted(finished, "operation"));
    if others > 0 { format!("{own} and {} of other programs", grouped(others)) } else { own }
}

/// A cause as a person says it.
pub fn words(cause: Cause) -> &'static str {
    match cause {
        Cause::DirectReclaim => "direct reclaim",
        Cause::ReclaimThrottle => "paused by reclaim",
        Cause::Shrinker => "shrinking caches",
        Cause::Compaction => "compaction",
        Cause::DirtyThrottle => "dirty throttling",
        Cause::WritebackWait => "waiting for writeback",
        Cause::Journal => "journal",
        Cause::FsLog => "file system's log",
        Cause::FsTransaction => "file system's transaction",
        Cause::RequestWait => "no free request",
        Cause::SchedulerQueue => "I/O scheduler's queue",
        Cause::IoThrottle => "I/O limit of a cgroup",
        Cause::Device => "device",
        Cause::Frozen => "frozen file system",
        Cause::Lock => "lock",
        Cause::CpuWait => "waiting for a CPU",
        Cause::PageFault => "page fault",
        Cause::Swap => "swapping in",
        Cause::IoWorker => "asynchronous I/O",
        Cause::NetworkFs => "network file system",
        Cause::Running => "running",
        Cause::Unexplained => "unexplained",
    }
}

/// A share of unexplained time that is worth a word.
const MUCH: f64 = 0.1;

/// What makes the figures less sure than they look.
fn cautions(text: &mut String, explanation: &Explanation, style: Style) {
    let losses = &explanation.losses;
    let mut lines: Vec<String> = Vec::new();
    if explanation.trace.is_none() {
        lines.push(
            "the kernel was not traced: only tasks that were seen blocked at a look are explained; record as root, \
             without --no-trace; 'stallscope doctor' says what is missing"
                .to_owned(),
        );
    }
    let unexplained = explanation.share(Cause::Unexplained).unwrap_or(0.0);
    if unexplained >= MUCH && explanation.trace.is_some() {
        lines.push(format!("{} is unexplained; where it slept stands in 'stalls' of --json", share(unexplained)));
    }
    for (what, count) in &losses.lost {
        lines.push(format!("{} {} lost: shares may be too small", grouped(*count), printable(what)));
    }
    for (table, why) in &losses.tables {
        lines.push(format!("the table '{}' was given up: {}", printable(table), printable(why)));
    }
    if losses.damaged > 0 {
        lines.push(format!("{} left out, because their times cannot be", counted(losses.damaged, "row")));
    }
    if losses.unknown_requests > 0 {
        let waits = counted(losses.unknown_requests, "wait");
        lines.push(format!("the requests of {waits} are not in the run: their time counts as the device's"));
    }
    if explanation.outside > 0 {
        let slow = counted(explanation.outside, "slow operation");
        lines.push(format!("{slow} ended outside of the measured time and count nowhere"));
    }
    if !lines.is_empty() || !losses.missing.is_empty() {
        text.push('\n');
    }
    for line in lines {
        let _ = writeln!(text, " {}", style.remark(&line));
    }
    for (what, why, remedy) in &losses.missing {
        let why = why.as_deref().map_or_else(|| "missing".to_owned(), printable);
        let remedy = remedy.as_deref().map_or_else(String::new, |remedy| format!(" ({})", printable(remedy)));
        let _ = writeln!(text, " {}", style.faint(&format!("without {}: {why}{remedy}", printable(what))));
    }
}

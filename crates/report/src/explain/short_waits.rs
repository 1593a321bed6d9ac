//! Waits of the recorded command that are shorter than a slow operation.

use std::fmt::Write as _;

use explain::blame::{ClassTimes, Explanation};
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};

use super::tables::blocker;
use crate::number::share;
use crate::style::{Style, printable};

/// Causes, calls and root blockers shown.
const SHOWN: usize = 3;

pub(super) fn short_waits(text: &mut String, explanation: &Explanation, style: Style) {
    let waits = &explanation.short_waits;
    if !explanation.short_waits_matter() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading("Shorter waits of the recorded command"));
    let _ = writeln!(
        text,
        " {}, {} together{}",
        counted(waits.count, "wait"),
        Nanoseconds(waits.time_ns),
        lengths(explanation)
    );
    for time in waits.causes.iter().take(SHOWN) {
        let part = share(time.time_ns as f64 / waits.time_ns.max(1) as f64);
        let (ns, count) = (Nanoseconds(time.time_ns).to_string(), counted(time.operations, "wait"));
        let _ = writeln!(text, " {ns:>9} {part:>6}  {}: {count}", time.cause.words());
    }
    let call = |class: &ClassTimes| format!("{} {}", printable(&class.class), Nanoseconds(class.wall_ns));
    let calls: Vec<String> = waits.calls.iter().take(SHOWN).map(call).collect();
    if !calls.is_empty() {
        let _ = writeln!(text, " in {}", calls.join(", "));
    }
    for culprit in waits.culprits.iter().take(SHOWN) {
        let (ns, cause) = (Nanoseconds(culprit.time_ns).to_string(), culprit.cause.words());
        let _ = writeln!(text, " {ns:>9}  {cause:<24}  {}", blocker(culprit));
    }
    if waits.unknown > 0 {
        let (count, time) = (counted(waits.unknown, "sleep"), Nanoseconds(waits.unknown_ns));
        let line = format!(" besides {count} of {time} together in which it may have idled");
        let _ = writeln!(text, "{}", style.faint(&line));
    }
}

/// `: 4,990 of 7.90 ms to 12.1 ms, and 10 recorded only as sums`
fn lengths(explanation: &Explanation) -> String {
    let waits = &explanation.short_waits;
    let (shortest, longest) = (Nanoseconds(waits.shortest_ns), Nanoseconds(waits.longest_ns));
    match (waits.recorded, waits.count.saturating_sub(waits.recorded)) {
        (0, _) => ", recorded only as sums".to_owned(),
        (_, 0) => format!(", of {shortest} to {longest}"),
        (recorded, sums) => {
            let (recorded, sums) = (grouped(recorded), counted(sums, "shorter one"));
            format!(": {recorded} of {shortest} to {longest}, and {sums}, recorded only as sums")
        }
    }
}

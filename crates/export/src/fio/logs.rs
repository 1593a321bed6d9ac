//! fio's interval logs: `time in ms, value, direction, block size, offset`, the last two 0 as where fio averages.

use std::io::{self, Write};

use super::direction::{DIRECTIONS, Direction, Step};

/// One of fio's interval logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// KiB per second.
    Bandwidth,
    /// Operations per second.
    Iops,
    /// Mean latency, ns.
    Latency,
    /// The same under the name of fio's completion latency.
    CompletionLatency,
}

impl LogKind {
    /// All of them.
    pub const ALL: [LogKind; 4] = [LogKind::Bandwidth, LogKind::Iops, LogKind::Latency, LogKind::CompletionLatency];

    /// The end of its file's name.
    pub fn suffix(self) -> &'static str {
        match self {
            LogKind::Bandwidth => "_bw.1.log",
            LogKind::Iops => "_iops.1.log",
            LogKind::Latency => "_lat.1.log",
            LogKind::CompletionLatency => "_clat.1.log",
        }
    }
}

/// Writes the intervals of all directions in the order of time. An interval without operations has rates of 0 and no
/// latency.
pub(super) fn write(sink: &mut impl Write, kind: LogKind, begin_ns: u64, directions: &[Direction]) -> io::Result<()> {
    let numbers = DIRECTIONS.iter().map(|(_, number, _)| *number);
    let mut steps: Vec<(u64, u8, &Step)> = numbers
        .zip(directions)
        .filter(|(_, direction)| direction.count > 0)
        .flat_map(|(number, direction)| direction.steps.iter().map(move |step| (step.end_ns, number, step)))
        .collect();
    steps.sort_by_key(|(end_ns, number, _)| (*end_ns, *number));
    for (end_ns, number, step) in steps {
        let per_s = |amount: u64| (u128::from(amount) * 1_000_000_000).checked_div(u128::from(step.span_ns));
        let value = match kind {
            LogKind::Bandwidth => per_s(step.bytes / 1024),
            LogKind::Iops => per_s(step.count),
            LogKind::Latency | LogKind::CompletionLatency => step.sum_ns.checked_div(step.count).map(u128::from),
        };
        if let Some(value) = value {
            writeln!(sink, "{}, {value}, {number}, 0, 0", end_ns.saturating_sub(begin_ns) / 1_000_000)?;
        }
    }
    Ok(())
}

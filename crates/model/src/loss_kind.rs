//! Kinds of losses, by their names in archives: declared once for those who count them and those who judge what is
//! left.

/// What a recording that lost something lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lacks {
    /// Figures: what tasks did and waited for is complete.
    Figures,
    /// Operations, requests, or what explains them further: the waits of tasks are complete.
    Details,
    /// Waits of tasks: at that time, any may be missing.
    Waits,
}

/// A kind of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossKind {
    /// As in [`crate::event::RunEvent::Loss`].
    pub name: &'static str,
    /// What the recording lacks then.
    pub lacks: Lacks,
}

const fn figures(name: &'static str) -> LossKind {
    LossKind { name, lacks: Lacks::Figures }
}

const fn details(name: &'static str) -> LossKind {
    LossKind { name, lacks: Lacks::Details }
}

const fn waits(name: &'static str) -> LossKind {
    LossKind { name, lacks: Lacks::Waits }
}

/// What the tracer's programs count, numbered by their `enum kind`.
pub const OF_PROGRAMS: [LossKind; 19] = [
    details("slow system calls (the kernel's ring was full)"),
    waits("off-CPU intervals (the kernel's ring was full)"),
    waits("spans (the kernel's ring was full)"),
    details("slow requests (the kernel's ring was full)"),
    waits("sums of short sleeps (the kernel's ring was full)"),
    waits("sums of short run-queue waits (the kernel's ring was full)"),
    waits("sums of short request waits (the kernel's ring was full)"),
    waits("sums of short spans (the kernel's ring was full)"),
    details("requests (the kernel's ring was full)"),
    waits("tasks (no memory for their state)"),
    details("requests (too many in flight at once)"),
    details("requests in sums (too many devices)"),
    waits("unfinished waits (the kernel's ring was full)"),
    details("asynchronous operations (the kernel's ring was full)"),
    details("asynchronous operations (too many in flight at once)"),
    details("sums of usage (too many processes and devices)"),
    details("user stacks (the kernel's ring was full)"),
    details("files of page faults (the kernel's ring was full)"),
    waits("moments at which tasks ran (the kernel's ring was full)"),
];

/// Events that the kernel skips, because a program of the tracer interrupts itself: a few of many thousands on a busy
/// machine. A run that lacks nothing else is whole.
pub const SKIPPED_EVENTS: LossKind = waits("events (the kernel skips a program that interrupts itself)");
/// Stacks of programs that were wanted at once.
pub const USER_STACKS: LossKind = details("user stacks (too many at once)");
/// Rows of the tracer that its queue had no room for.
pub const UNWRITTEN_STALLS: LossKind = waits("stalls (the archive's disk was too slow)");
/// The same of requests.
pub const UNWRITTEN_REQUESTS: LossKind = details("requests (the archive's disk was too slow)");
/// The same of samples, whose values the next one has.
pub const UNWRITTEN_SAMPLES: LossKind = figures("samples (the archive's disk was too slow)");
/// Rows of a flight recorder.
pub const UNWRITTEN_ROWS: LossKind = waits("rows, while no slice of the ring could be written");
/// Individual operations of the load.
pub const OPERATIONS: LossKind = details("slow or failed operations (individual records; histograms include them)");
/// Values of metrics that no descriptor describes.
pub const UNDESCRIBED_METRICS: LossKind = figures("rows of metrics without a description");
/// Events of the journal.
pub const EVENTS: LossKind = waits("events");

const OTHERS: [LossKind; 9] = [
    SKIPPED_EVENTS,
    USER_STACKS,
    UNWRITTEN_STALLS,
    UNWRITTEN_REQUESTS,
    UNWRITTEN_SAMPLES,
    UNWRITTEN_ROWS,
    OPERATIONS,
    UNDESCRIBED_METRICS,
    EVENTS,
];

/// Names in archives of older versions.
const OLDER: [LossKind; 7] = [
    details("slow operations"),
    details("failed operations"),
    details("slow system calls"),
    details("slow requests"),
    details("requests"),
    details("requests (too many at once)"),
    details("requests of devices beyond the first 256"),
];

/// Begins the name of what is lost of a table.
const ROWS: &str = "rows of ";

/// The name of rows that a table of the archive lost.
pub fn rows_of(table: &str) -> String {
    format!("{ROWS}{table}")
}

/// What a recording lacks that lost the rows of a table.
fn without_rows_of(table: &str) -> Lacks {
    match table {
        "metrics" | "samples" | "descriptors" | "intervals" | "request_intervals" => Lacks::Figures,
        "operations" | "requests" | "usage" | "user_stacks" | "user_frames" => Lacks::Details,
        _ => Lacks::Waits,
    }
}

/// What a recording lacks after a loss of that name: waits, if the name is unknown.
pub fn lacks(name: &str) -> Lacks {
    let mut known = OF_PROGRAMS.iter().chain(&OTHERS).chain(&OLDER);
    match (known.find(|kind| kind.name == name), name.strip_prefix(ROWS)) {
        (Some(kind), _) => kind.lacks,
        (None, Some(table)) => without_rows_of(table),
        (None, None) => Lacks::Waits,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Lacks, OF_PROGRAMS, OLDER, OTHERS, lacks, rows_of};

    #[test]
    fn each_name_is_of_one_kind() {
        let all: Vec<&str> = OF_PROGRAMS.iter().chain(&OTHERS).chain(&OLDER).map(|kind| kind.name).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn waits_may_be_missing_where_nothing_else_is_known() {
        for (name, expected) in [
            ("slow system calls (the kernel's ring was full)", Lacks::Details),
            ("requests (too many at once)", Lacks::Details),
            ("off-CPU intervals (the kernel's ring was full)", Lacks::Waits),
            ("rows of metrics without a description", Lacks::Figures),
            ("what another version lost", Lacks::Waits),
        ] {
            assert_eq!(lacks(name), expected, "{name}");
        }
        let of_tables = ["stalls", "stacks", "tasks", "requests", "samples"].map(|table| lacks(&rows_of(table)));
        assert_eq!(of_tables, [Lacks::Waits, Lacks::Waits, Lacks::Waits, Lacks::Details, Lacks::Figures]);
    }
}

//! What a reader noticed beside the events: names, losses, damage.

use model::block::ProcessNames;

/// What is wrong at one position of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AnomalyKind {
    /// Bytes that are no record. Amount: how many.
    Garbage,
    /// The trace ends within a record or line. Amount: bytes of it that are there.
    Truncated,
    /// A record whose action no known kernel writes. Amount: the action.
    UnknownAction,
    /// The sequence number jumped ahead: events are missing before this position. Amount: how many.
    Gap,
    /// The sequence number went back: records were reordered or two traces were joined. Amount: by how much.
    OutOfOrder,
    /// The clock of one stream went back. Amount: ns.
    ClockBackward,
    /// A line of text that is no event. Amount: its length.
    UnreadableLine,
}

impl AnomalyKind {
    /// All kinds.
    pub const ALL: [AnomalyKind; 7] = [
        AnomalyKind::Garbage,
        AnomalyKind::Truncated,
        AnomalyKind::UnknownAction,
        AnomalyKind::Gap,
        AnomalyKind::OutOfOrder,
        AnomalyKind::ClockBackward,
        AnomalyKind::UnreadableLine,
    ];

    /// Name for reports and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            AnomalyKind::Garbage => "garbage",
            AnomalyKind::Truncated => "truncated",
            AnomalyKind::UnknownAction => "unknown_action",
            AnomalyKind::Gap => "gap",
            AnomalyKind::OutOfOrder => "out_of_order",
            AnomalyKind::ClockBackward => "clock_backward",
            AnomalyKind::UnreadableLine => "unreadable_line",
        }
    }
}

/// One anomaly and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anomaly {
    /// What.
    pub kind: AnomalyKind,
    /// Which input: index into [`crate::Trace::inputs`].
    pub input: u32,
    /// Byte offset in the (decompressed) input.
    pub offset: u64,
    /// How much; see the kind.
    pub amount: u64,
}

/// Everything noticed while reading. Bounded: anomalies beyond [`Notes::KEPT`] are only counted.
#[derive(Debug, Clone, Default)]
pub struct Notes {
    names: ProcessNames,
    counts: [u64; AnomalyKind::ALL.len()],
    amounts: [u64; AnomalyKind::ALL.len()],
    first: Vec<Anomaly>,
    /// Events read.
    pub events: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Events before the first one of a CPU, where sequence numbers do not begin at 1. The trace may have been cut
    /// there on purpose, so they are not counted as lost.
    pub missing_at_start: u64,
    /// Losses in a stream of several CPUs that showed only when events behind their beginning had been handed out; see
    /// [`crate::Trace`].
    pub noticed_late: u64,
    /// Messages of drivers and schedulers, which are skipped.
    pub messages: u64,
}

impl Notes {
    /// So many anomalies are kept one by one.
    pub const KEPT: usize = 1000;

    pub(crate) fn anomaly(&mut self, anomaly: Anomaly) {
        let slot = anomaly.kind as usize;
        self.counts[slot] += 1;
        self.amounts[slot] = self.amounts[slot].saturating_add(anomaly.amount);
        if self.first.len() < Notes::KEPT {
            self.first.push(anomaly);
        }
    }

    pub(crate) fn name(&mut self, pid: u32, name: &[u8]) {
        // A name that is not UTF-8 is shown as far as it can be.
        self.names.insert(pid, &String::from_utf8_lossy(name));
    }

    /// Names of threads.
    pub fn names(&self) -> &ProcessNames {
        &self.names
    }

    /// How often the anomaly occurred.
    pub fn count(&self, kind: AnomalyKind) -> u64 {
        self.counts[kind as usize]
    }

    /// Sum of the anomaly's amounts.
    pub fn amount(&self, kind: AnomalyKind) -> u64 {
        self.amounts[kind as usize]
    }

    /// Gaps in the sequence numbers.
    pub fn gaps(&self) -> u64 {
        self.count(AnomalyKind::Gap)
    }

    /// Events that the gaps swallowed.
    pub fn lost_events(&self) -> u64 {
        self.amount(AnomalyKind::Gap)
    }

    /// The first anomalies, in the order in which they were met.
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.first
    }
}

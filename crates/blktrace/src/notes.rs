//! What a reader found in addition to the events: names, losses, damage.

use model::block::ProcessNames;

/// Kinds of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AnomalyKind {
    /// Bytes that are not a record. Amount: how many.
    Garbage,
    /// The trace ends within a record or line. Amount: its bytes present.
    Truncated,
    /// A record whose action no known kernel writes. Amount: the action.
    UnknownAction,
    /// The sequence number jumped ahead: events are missing before this position. Amount: how many.
    Gap,
    /// The sequence number went back: records were reordered or two traces were joined. Amount: by how much.
    OutOfOrder,
    /// The clock of one stream went back. Amount: ns.
    ClockBackward,
    /// A line of text that is not an event. Amount: its length.
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

/// An anomaly and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anomaly {
    /// What.
    pub kind: AnomalyKind,
    /// The input, as an index into [`crate::Trace::inputs`].
    pub input: u32,
    /// Byte offset in the (decompressed) input.
    pub offset: u64,
    /// Amount; see the kind.
    pub amount: u64,
}

/// Everything found while reading. Bounded: anomalies beyond [`Notes::KEPT`] are only counted.
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
    /// Events before the first event of a CPU, if its sequence numbers do not begin at 1. The trace may have been cut
    /// there on purpose, so they do not count as lost.
    pub missing_at_start: u64,
    /// Losses in a stream of several CPUs that were found after events behind their start had been returned; see
    /// [`crate::Trace`].
    pub noticed_late: u64,
    /// Messages of drivers and schedulers, which are skipped.
    pub messages: u64,
}

impl Notes {
    /// Number of anomalies recorded individually.
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
        // A name that is not UTF-8 is converted lossily.
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

    /// Events lost in the gaps.
    pub fn lost_events(&self) -> u64 {
        self.amount(AnomalyKind::Gap)
    }

    /// The first anomalies, in the order in which they were found.
    pub fn anomalies(&self) -> &[Anomaly] {
        &self.first
    }
}

//! Signals: what the kernel reports of a wait while it happens, by a tracepoint.
//!
//! One table ([`SIGNALS`], [`SOURCES`]) holds all that is known of a signal: its name in archives, the BPF programs
//! that observe it, the cause it stands for and its wording. The tracer's C enumerations are generated from it, and
//! explain takes causes from it. A new traced cause is a BPF program and its entries in this table.

mod shape;
mod sources;
mod table;

pub use shape::{SignalDetail, SignalKind, TracepointProgram};
pub use sources::{SOURCES, SignalSource};
pub use table::{SIGNALS, Signal, SignalDefinition, SignalMeaning};

impl Signal {
    /// What the table says of it.
    pub const fn definition(self) -> &'static SignalDefinition {
        &SIGNALS[self as usize]
    }

    /// What it means; `None` for one that only adds to a timeline.
    pub fn meaning(self) -> Option<&'static SignalMeaning> {
        self.definition().meaning.as_ref()
    }

    /// The signal that an archive names; `None` for a name that this version does not know. The ends of a pair
    /// (`_begin`, `_start`, `_end`) name it, too.
    pub fn from_name(name: &str) -> Option<Signal> {
        // Nearly every row has the very name: one comparison a signal.
        let same = SIGNALS.iter().find(|definition| definition.name == name);
        let found = same.or_else(|| SIGNALS.iter().find(|definition| stem(definition.name) == stem(name)));
        found.map(|definition| definition.signal)
    }

    /// The number by which the programs name a span (from 0) or a mark (from 1: 0 is none).
    pub const fn code(self) -> u32 {
        let place = self as usize;
        (if place < SPANS { place } else { place - SPANS + 1 }) as u32
    }

    /// The span of that number.
    pub fn from_span(code: u32) -> Option<Signal> {
        SIGNALS[..SPANS].get(code as usize).map(|definition| definition.signal)
    }

    /// The mark of that number.
    pub fn from_mark(code: u32) -> Option<Signal> {
        SIGNALS[SPANS..].get((code as usize).checked_sub(1)?).map(|definition| definition.signal)
    }
}

/// Pairs and other spans.
const SPANS: usize = {
    let mut count = 0;
    while count < SIGNALS.len() && !matches!(SIGNALS[count].kind, SignalKind::Mark) {
        count += 1;
    }
    count
};

fn stem(name: &str) -> &str {
    ["_begin", "_start", "_end"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The table is in the order of [`Signal`]: pairs, other spans, marks.
const _: () = {
    let mut at = 0;
    while at < SIGNALS.len() {
        assert!(SIGNALS[at].signal as usize == at);
        assert!(at == 0 || SIGNALS[at - 1].kind as u8 <= SIGNALS[at].kind as u8);
        at += 1;
    }
};

#[cfg(test)]
mod tests;

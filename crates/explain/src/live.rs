//! A recording explained while it goes on: rows come in as they are recorded, of all tables, and of the last of them it
//! is said at any moment what happened in a window, and which stalls have ended or grown since the last look.
//!
//! The engine is that of [`crate::blame`] and sees what that sees, in as much memory as it is given: what is older than
//! [`Bounds::time_ns`], or has no room, is forgotten, the oldest first.

mod bounds;
mod emitted;
mod history;
mod look;
mod samples;
mod size;
mod table;

#[cfg(test)]
mod tests;

use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::operation::{IntervalRecord, OperationRecord};
use model::run::RunDescription;
use model::stall::{StallRecord, Traced};

pub use self::bounds::Bounds;
pub use self::emitted::Emission;
use self::emitted::Emitted;
use self::history::History;
pub use self::look::{Explained, Look, Seen};
use crate::blame::Scope;
use crate::snapshot::{SnapshotBuilder, Window};

/// Stalls that a look describes: the longest of its window.
const STALLS: usize = 1000;

/// The last of a recording's rows, and what was said of them.
#[derive(Debug)]
pub struct Live {
    history: History,
    emitted: Emitted,
    /// Waits and calls of this length are slow operations.
    slow_ns: u64,
}

impl Live {
    /// Of a recording of operations slower than this.
    pub fn new(slow_ns: u64, bounds: Bounds) -> Live {
        Live { history: History::new(bounds), emitted: Emitted::default(), slow_ns }
    }

    /// Start of what is kept.
    pub fn first_ns(&self) -> Option<u64> {
        self.history.first_ns()
    }

    /// Time of the last sample.
    pub fn last_ns(&self) -> Option<u64> {
        self.history.last_ns()
    }

    /// Memory of the rows that are kept.
    pub fn bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Adds a sample. Its ordinal does not matter: they restart with a rotation.
    pub fn sample(&mut self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]) {
        self.history.sample(header, descriptors, changes);
    }

    /// Adds rows of the tracer, each once.
    pub fn traced(&mut self, traced: &Traced) {
        self.history.traced(traced, self.slow_ns);
    }

    /// Adds operations of a load.
    pub fn operations(&mut self, records: &[OperationRecord]) {
        self.history.operations(records);
    }

    /// Adds intervals of a load.
    pub fn intervals(&mut self, records: &[IntervalRecord]) {
        self.history.intervals(records);
    }

    /// Adds events of the journal: phases, losses.
    pub fn events(&mut self, events: &[RunEvent]) {
        self.history.events(events);
    }

    /// What threads wait for that have not been woken, all of it: what was added before is over.
    pub fn lasting_waits(&mut self, rows: Vec<StallRecord>) {
        self.history.lasting_waits(rows);
    }

    /// The recorder names threads and stacks again from now on: those that no row refers to are forgotten in time.
    pub fn rotated(&mut self) {
        self.history.rotated();
    }

    /// Whether an operation was slow that ended after a moment. It costs next to nothing, which a look does not.
    pub fn has_slow_since(&self, at_ns: u64) -> bool {
        self.history.has_slow_since(at_ns, self.slow_ns)
    }

    /// What happened in a window, and what is new of it: each stall that has ended once, each that lasts again when it
    /// has grown. Of a stall that is longer than the window, the window's part is explained; look at least once in a
    /// window's length.
    pub fn look(&mut self, run: &RunDescription, scope: &Scope, window: Window) -> Look {
        let explained = self.see(run, scope, window).explain();
        let news = self.news(&explained);
        explained.look(news)
    }

    /// The first part of a look: reads the rows of a window. They are explained without what came later, and without
    /// what is kept, which may go on to grow.
    pub fn see(&self, run: &RunDescription, scope: &Scope, window: Window) -> Seen {
        let builder = SnapshotBuilder::new(run, window).listing(STALLS).scoped(scope.clone());
        self.history.see(builder, window)
    }

    /// The third part of a look: what is new of a window that was explained.
    pub fn news(&mut self, explained: &Explained) -> Vec<Emission> {
        self.emitted.news(&explained.snapshot)
    }
}

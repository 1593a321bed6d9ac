//! Which stalls were said already.

use crate::blame::{Culprit, Stall};
use crate::hashing::FastMap;
use crate::snapshot::Snapshot;

/// A stall that has ended is said so long after its end: rows of those that it waited for end later, and sums of use
/// come once a second, up to another second late.
const SETTLED_NS: u64 = 2_000_000_000;

/// A stall as it is said.
#[derive(Debug, Clone, PartialEq)]
pub struct Emission {
    /// The same for the same stall, from 1 on.
    pub id: u64,
    /// Whether it has ended: it is not said again.
    pub ended: bool,
    /// Start of the whole stall on the monotonic clock.
    pub start_ns: u64,
    /// Its duration so far.
    pub duration_ns: u64,
    /// The window's part of it, explained.
    pub stall: Stall,
    /// The root blocker that it lost most time to.
    pub culprit: Option<Culprit>,
}

/// What was said of a stall last.
#[derive(Debug, Clone, Copy)]
struct Said {
    id: u64,
    start_ns: u64,
    end_ns: u64,
    ended: bool,
}

/// Stalls that were said, by thread and operation.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    said: FastMap<(u32, String), Vec<Said>>,
    last_id: u64,
}

impl Emitted {
    /// What a snapshot shows that is new.
    pub(super) fn news(&mut self, snapshot: &Snapshot) -> Vec<Emission> {
        let explained = snapshot.explanation.stalls.iter().zip(&snapshot.whole);
        let mut news: Vec<Emission> = Vec::new();
        for (stall, &(start_ns, duration_ns)) in explained {
            let end_ns = start_ns.saturating_add(duration_ns);
            let ended = stall.finished && end_ns <= snapshot.window.to_ns;
            if ended && end_ns.saturating_add(SETTLED_NS) > snapshot.window.to_ns {
                continue;
            }
            if let Some(id) = self.id_of_news(stall, (start_ns, end_ns), ended) {
                news.push(Emission { id, ended, start_ns, duration_ns, stall: stall.clone(), culprit: None });
            }
        }
        self.forget(snapshot.window.from_ns);
        news.sort_by_key(|one| (one.start_ns, one.id));
        news
    }

    /// The number of a stall; `None` if it was said, and was as long then.
    fn id_of_news(&mut self, stall: &Stall, (start_ns, end_ns): (u64, u64), ended: bool) -> Option<u64> {
        let of_task = self.said.entry((stall.task.tid, stall.operation.clone())).or_default();
        // A poll finds a wait late: its row may say an earlier start. Asynchronous operations of a task overlap each
        // other.
        let is_it = |said: &&mut Said| {
            said.start_ns == start_ns || (!said.ended && said.start_ns < end_ns && start_ns < said.end_ns)
        };
        let Some(said) = of_task.iter_mut().find(is_it) else {
            self.last_id += 1;
            of_task.push(Said { id: self.last_id, start_ns, end_ns, ended });
            return Some(self.last_id);
        };
        if said.ended || (!ended && end_ns <= said.end_ns) {
            return None;
        }
        *said = Said { start_ns, end_ns, ended, ..*said };
        Some(said.id)
    }

    /// Forgets what no later window can show.
    fn forget(&mut self, from_ns: u64) {
        self.said.retain(|_, of_task| {
            of_task.retain(|said| said.end_ns >= from_ns);
            !of_task.is_empty()
        });
    }
}

//! What tasks wait for, by the events of a source in their order: spans that end, and what a sleep was announced for.

use std::collections::HashMap;

use model::detail::Detail;
use model::signal::Signal;

use crate::text_signals::SignalEvent;

/// Tasks, and locks, that are followed at once.
const MOST: usize = 1 << 16;
/// A sleep that begins later was not the one that was announced, as the tracer has it.
const WINDOW_NS: u64 = 1_000_000;

/// A task was between two events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) tid: u32,
    pub(crate) signal: Signal,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) detail: Option<Detail>,
}

/// What a sleep is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(crate) signal: Signal,
    pub(crate) detail: Option<Detail>,
    /// A number for each lock.
    pub(crate) lock: Option<u32>,
}

#[derive(Debug, Default)]
struct Task {
    spans: Vec<(Signal, u64)>,
    mark: Option<(u64, Announced)>,
    /// Until it has the lock, over any number of sleeps.
    lock: Option<Announced>,
}

/// The tasks so far.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    tasks: HashMap<u32, Task>,
    locks: HashMap<String, u32>,
}

impl Signals {
    /// Takes an event of a task. Returns the span that it ends.
    pub(crate) fn take(&mut self, tid: u32, at_ns: u64, event: SignalEvent<'_>) -> Option<Span> {
        let span = |signal, start_ns, detail| Span { tid, signal, start_ns, end_ns: at_ns, detail };
        let lock = match &event {
            SignalEvent::Locks { lock, .. } => self.number(lock),
            _ => None,
        };
        if !self.tasks.contains_key(&tid) && self.tasks.len() >= MOST {
            return None;
        }
        let task = self.tasks.entry(tid).or_default();
        match event {
            SignalEvent::Begins(signal) => {
                task.spans.retain(|(open, _)| *open != signal);
                task.spans.push((signal, at_ns));
            }
            SignalEvent::Ends(signal, detail) => {
                let open = task.spans.iter().position(|(open, _)| *open == signal)?;
                return Some(span(signal, task.spans.swap_remove(open).1, detail));
            }
            SignalEvent::Lasted(signal, ns, detail) => return Some(span(signal, at_ns.saturating_sub(ns), detail)),
            SignalEvent::Announces(signal, detail) => {
                task.mark = Some((at_ns, Announced { signal, detail, lock: None }))
            }
            SignalEvent::Locks { flags, .. } => {
                let detail = Some(Detail::LockFlags(flags));
                task.lock = Some(Announced { signal: Signal::Contention, detail, lock });
            }
            SignalEvent::Locked => task.lock = None,
            SignalEvent::Over(signal) => drop(task.mark.take_if(|(_, mark)| mark.signal == signal)),
        }
        None
    }

    /// A task goes to sleep. `is_blocked`: no signal ends it, as every announced sleep that is for no lock.
    pub(crate) fn sleeps(&mut self, tid: u32, at_ns: u64, is_blocked: bool) -> Option<Announced> {
        let task = self.tasks.get_mut(&tid)?;
        let mark = task.mark.take().filter(|(since_ns, _)| at_ns.saturating_sub(*since_ns) < WINDOW_NS);
        mark.filter(|_| is_blocked).map(|(_, mark)| mark).or_else(|| task.lock.clone())
    }

    /// A task that would run leaves the CPU: no sleep follows the announcement.
    pub(crate) fn is_preempted(&mut self, tid: u32) {
        if let Some(task) = self.tasks.get_mut(&tid) {
            task.mark = None;
        }
    }

    /// A task ends.
    pub(crate) fn ends(&mut self, tid: u32) {
        self.tasks.remove(&tid);
    }

    /// Events are lost: what was open may be over.
    pub(crate) fn forget(&mut self) {
        self.tasks.clear();
    }

    fn number(&mut self, lock: &str) -> Option<u32> {
        if let Some(known) = self.locks.get(lock) {
            return Some(*known);
        }
        let number = u32::try_from(self.locks.len()).ok().filter(|number| (*number as usize) < MOST)?;
        self.locks.insert(lock.to_owned(), number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use model::signal::Signal;

    use super::Signals;
    use crate::text_signals::SignalEvent;

    #[test]
    fn a_lock_is_waited_for_until_it_is_there() {
        let mut signals = Signals::default();
        let waits = |signals: &mut Signals, at_ns| signals.sleeps(7, at_ns, true).map(|of| (of.signal, of.lock));
        signals.take(7, 10, SignalEvent::Locks { lock: "a", flags: 32 });
        signals.take(8, 10, SignalEvent::Locks { lock: "b", flags: 32 });
        assert_eq!(waits(&mut signals, 11), Some((Signal::Contention, Some(0))));
        assert_eq!(waits(&mut signals, 9_000_000), Some((Signal::Contention, Some(0))));
        assert!(signals.sleeps(7, 9_000_001, false).is_some());
        signals.take(7, 9_000_002, SignalEvent::Locked);
        assert_eq!(waits(&mut signals, 9_000_003), None);
    }

    #[test]
    fn a_mark_is_of_the_next_sleep_alone() {
        let mut signals = Signals::default();
        let waits = |signals: &mut Signals, at_ns| signals.sleeps(7, at_ns, true).map(|of| of.signal);
        signals.take(7, 10, SignalEvent::Announces(Signal::XfsLogForce, None));
        assert_eq!(waits(&mut signals, 20), Some(Signal::XfsLogForce));
        assert_eq!(waits(&mut signals, 30), None);
        signals.take(7, 40, SignalEvent::Announces(Signal::XfsBufLock, None));
        signals.take(7, 41, SignalEvent::Over(Signal::XfsBufLock));
        assert_eq!(waits(&mut signals, 50), None);
        signals.take(7, 51, SignalEvent::Announces(Signal::XfsLogForce, None));
        signals.is_preempted(7);
        assert_eq!(waits(&mut signals, 52), None);
        signals.take(7, 60, SignalEvent::Announces(Signal::XfsLogForce, None));
        assert_eq!(waits(&mut signals, 2_000_000), None);
    }

    #[test]
    fn spans_of_a_task_are_its_own() {
        let mut signals = Signals::default();
        signals.take(7, 10, SignalEvent::Begins(Signal::DirectReclaim));
        signals.take(8, 11, SignalEvent::Begins(Signal::DirectReclaim));
        signals.take(7, 12, SignalEvent::Begins(Signal::ShrinkSlab));
        let ended = |span: Option<super::Span>| span.map(|span| (span.tid, span.start_ns, span.end_ns));
        assert_eq!(ended(signals.take(7, 20, SignalEvent::Ends(Signal::DirectReclaim, None))), Some((7, 10, 20)));
        assert_eq!(signals.take(7, 21, SignalEvent::Ends(Signal::DirectReclaim, None)), None);
        let lasted = SignalEvent::Lasted(Signal::VmscanThrottled, 5, None);
        assert_eq!(ended(signals.take(8, 30, lasted)), Some((8, 25, 30)));
    }
}

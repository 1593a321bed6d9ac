//! A bundle of one CPU's events, in the order of their times.

use std::ops::Range;

use crate::protobuf::{Fields, Value, packed};

/// The events of a bundle.
#[derive(Debug, Default)]
pub(super) struct Bundle {
    bytes: Vec<u8>,
    /// Of the scheduler's events in their compact form: where the names of tasks are.
    strings: Vec<Range<usize>>,
    events: std::vec::IntoIter<BundleEvent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BundleEvent {
    pub(super) at_ns: u64,
    pub(super) kind: EventKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventKind {
    /// The event in a field of an `FtraceEvent`.
    Message { tid: u32, field: u32, message: Range<usize> },
    /// The task that ran before is not stored.
    Switch { prev_state: i64, next_pid: i64, next_prio: i64, next_name: usize },
    /// Nor is the task that runs.
    Waking { pid: i64, prio: i64, target_cpu: i64, name: usize },
}

impl Bundle {
    pub(super) fn new(bytes: Vec<u8>) -> Bundle {
        let (mut events, mut strings) = (Vec::new(), Vec::new());
        let mut fields = Fields::new(&bytes);
        while let Some((field, value)) = fields.next() {
            let Some(message) = value.bytes() else { continue };
            let begin = bytes.len() - fields.rest().len() - message.len();
            match field {
                2 => events.extend(event(begin, message)),
                4 => compact(begin, message, &mut strings, &mut events),
                _ => {}
            }
        }
        // Compact events come apart from the others.
        events.sort_by_key(|event| event.at_ns);
        Bundle { bytes, strings, events: events.into_iter() }
    }

    pub(super) fn next(&mut self) -> Option<BundleEvent> {
        self.events.next()
    }

    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// A task's name by its number. `None`: the bundle has no such number.
    pub(super) fn name(&self, number: usize) -> Option<&[u8]> {
        self.strings.get(number).map(|range| &self.bytes[range.clone()])
    }
}

/// An `FtraceEvent`: its time, its task, and one message that is the event.
fn event(begin: usize, message: &[u8]) -> Option<BundleEvent> {
    let (mut at_ns, mut tid, mut found) = (None, 0, None);
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next() {
        match (field, value) {
            (1, Value::Number(number)) => at_ns = Some(number),
            (2, Value::Number(number)) => tid = number as u32,
            (field, Value::Bytes(bytes)) => {
                let end = begin + message.len() - fields.rest().len();
                found = Some((field, end - bytes.len()..end));
            }
            _ => {}
        }
    }
    let (field, message) = found?;
    Some(BundleEvent { at_ns: at_ns?, kind: EventKind::Message { tid, field, message } })
}

/// `CompactSched`: each field of all switches one after the other, and of all wakings; times from the one before.
fn compact(begin: usize, message: &[u8], strings: &mut Vec<Range<usize>>, events: &mut Vec<BundleEvent>) {
    let mut columns: [&[u8]; 13] = [&[]; 13];
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next() {
        let Some(bytes) = value.bytes() else { continue };
        let end = begin + message.len() - fields.rest().len();
        match field {
            5 => strings.push(end - bytes.len()..end),
            field => drop(columns.get_mut(field as usize).map(|column| *column = bytes)),
        }
    }
    let column = |field: usize| packed(columns[field]);
    let times = |field: usize| {
        column(field).scan(0_u64, |at_ns, step| {
            *at_ns = at_ns.wrapping_add(step);
            Some(*at_ns)
        })
    };
    let switches = times(1).zip(column(2)).zip(column(3)).zip(column(4)).zip(column(6));
    events.extend(switches.map(|((((at_ns, prev_state), next_pid), next_prio), next_name)| BundleEvent {
        at_ns,
        kind: EventKind::Switch {
            prev_state: prev_state as i64,
            next_pid: next_pid as i64,
            next_prio: next_prio as i64,
            next_name: next_name as usize,
        },
    }));
    let wakings = times(7).zip(column(8)).zip(column(9)).zip(column(10)).zip(column(11));
    events.extend(wakings.map(|((((at_ns, pid), target_cpu), prio), name)| BundleEvent {
        at_ns,
        kind: EventKind::Waking {
            pid: pid as i64,
            prio: prio as i64,
            target_cpu: target_cpu as i64,
            name: name as usize,
        },
    }));
}

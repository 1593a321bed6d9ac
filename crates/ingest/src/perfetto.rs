//! Perfetto's traces → the text that perf makes of such events, as far as importers need it: the kernel's tracepoints
//! (`FtraceEventBundle`) in the order of their times. Field numbers are those of protos/perfetto/trace.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::io::{self, Read, Seek};
use std::sync::Arc;

use crate::event_words::{EventFields, UnreadText, one_line, write_line};
use crate::perf_check::damaged;

mod bundle;
mod common_calls;
mod index;
mod known_events;
mod machine;
mod tracepoint;

use bundle::{Bundle, BundleEvent, EventKind};
use index::{Chunk, Index, Place};
use machine::Machine;
use tracepoint::{FieldValue, Tracepoint};

/// What all CPUs' bundles hold at once.
const MOST_HELD: usize = 256 << 20;
/// Parts of the file that are held: a compressed one has bundles of several CPUs.
const CHUNKS: usize = 8;
/// Events of a task that is unknown.
const NO_TASK: u32 = u32::MAX;

/// A trace as text, line by line.
pub struct PerfettoText<R> {
    source: R,
    index: Index,
    /// The latest first.
    chunks: Vec<(Chunk, Arc<[u8]>)>,
    cpus: Vec<CpuEvents>,
    /// CPUs with an event, by its time.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    held_bytes: usize,
    text: UnreadText,
}

/// The events of a CPU.
struct CpuEvents {
    cpu: u32,
    places: std::vec::IntoIter<Place>,
    bundle: Bundle,
    bundle_bytes: usize,
    event: Option<BundleEvent>,
    /// The event is the first after a loss.
    is_after_loss: bool,
    /// The task that runs, its name and its priority. `None`: it is unknown.
    running: Option<(u32, String, i64)>,
}

/// Whether a file that begins so, 4 KiB of it or all, is a trace of Perfetto.
pub fn is_perfetto(begin: &[u8]) -> bool {
    index::is_trace(begin)
}

impl<R: Read + Seek> PerfettoText<R> {
    /// Opens a trace.
    ///
    /// # Errors
    ///
    /// It cannot be read, it is damaged, or it has no events of the kernel.
    pub fn open(mut source: R) -> io::Result<PerfettoText<R>> {
        let mut index = Index::of(&mut source)?;
        if index.bundles.is_empty() {
            return Err(damaged(
                "it has no events of the kernel; record with the data source linux.ftrace and its events \
                 sched/sched_switch, sched/sched_waking and block/*",
            ));
        }
        let cpu = |(cpu, places): (u32, Vec<Place>)| CpuEvents {
            cpu,
            places: places.into_iter(),
            bundle: Bundle::default(),
            bundle_bytes: 0,
            event: None,
            is_after_loss: false,
            running: None,
        };
        let cpus = std::mem::take(&mut index.bundles).into_iter().map(cpu).collect();
        let (next, text) = (BinaryHeap::new(), UnreadText::default());
        let mut events = PerfettoText { source, index, chunks: Vec::new(), cpus, next, held_bytes: 0, text };
        for at in 0..events.cpus.len() {
            events.advance(at)?;
        }
        Ok(events)
    }

    /// Makes the lines of the next event. `false`: there is none.
    fn make(&mut self) -> io::Result<bool> {
        let Some(Reverse((_, at))) = self.next.pop() else {
            let is_cut = std::mem::take(&mut self.index.is_cut);
            if is_cut {
                let _ = writeln!(self.text.text, "LOST 1 events!");
            }
            return Ok(is_cut);
        };
        let cpu = &mut self.cpus[at];
        if let Some(event) = cpu.event.take() {
            if std::mem::take(&mut cpu.is_after_loss) {
                cpu.running = None;
                let _ = writeln!(self.text.text, "CPU:{} [EVENTS DROPPED]", cpu.cpu);
            }
            cpu.write(&event, &mut self.index, &mut self.text.text);
        }
        self.advance(at)?;
        Ok(true)
    }

    /// Reads the next event of a CPU.
    fn advance(&mut self, at: usize) -> io::Result<()> {
        loop {
            let cpu = &mut self.cpus[at];
            cpu.event = cpu.bundle.next();
            if let Some(event) = &cpu.event {
                self.next.push(Reverse((event.at_ns, at)));
                return Ok(());
            }
            let Some(place) = cpu.places.next() else { return Ok(()) };
            cpu.is_after_loss |= place.is_after_loss;
            self.held_bytes -= std::mem::replace(&mut cpu.bundle_bytes, place.bytes);
            self.held_bytes += place.bytes;
            if self.held_bytes > MOST_HELD {
                return Err(damaged("its bundles of events are too large"));
            }
            let chunk = self.chunk(place.chunk)?;
            let bytes = chunk.get(place.begin..place.begin + place.bytes);
            let bytes = bytes.ok_or_else(|| damaged("it changed while it was read"))?;
            self.cpus[at].bundle = Bundle::new(bytes.to_vec());
        }
    }

    fn chunk(&mut self, chunk: Chunk) -> io::Result<Arc<[u8]>> {
        if let Some(at) = self.chunks.iter().position(|(known, _)| *known == chunk) {
            let known = self.chunks.remove(at);
            self.chunks.insert(0, known);
        } else {
            let bytes = chunk.read(&mut self.source)?.into();
            self.chunks.truncate(CHUNKS - 1);
            self.chunks.insert(0, (chunk, bytes));
        }
        Ok(self.chunks[0].1.clone())
    }
}

impl CpuEvents {
    fn write(&mut self, event: &BundleEvent, index: &mut Index, text: &mut String) {
        match &event.kind {
            EventKind::Message { tid, field, message } => {
                let message = self.bundle.bytes(message.clone());
                let Some(tracepoint) = Tracepoint::new(*field, message, &index.described, &index.machine) else {
                    return;
                };
                let named = named(&tracepoint);
                // What only names a task is no event of its own.
                if tracepoint.system != "task" {
                    let name = index.machine.name(*tid);
                    let _ = write_line(text, name, *tid as i32, self.cpu, event.at_ns, &tracepoint);
                }
                named.into_iter().for_each(|(tid, name)| index.machine.rename(tid, &name));
            }
            EventKind::Switch { prev_state, next_pid, next_prio, next_name } => {
                let Some(name) = self.bundle.name(*next_name).map(one_line) else { return };
                let next = (*next_pid as u32, name, *next_prio);
                index.machine.rename(next.0, &next.1);
                if let Some(prev) = self.running.replace(next.clone()) {
                    let tracepoint = switch(&prev, *prev_state, &next, &index.machine);
                    let _ = write_line(text, &prev.1, prev.0 as i32, self.cpu, event.at_ns, &tracepoint);
                }
            }
            EventKind::Waking { pid, prio, target_cpu, name } => {
                let Some(name) = self.bundle.name(*name).map(one_line) else { return };
                index.machine.rename(*pid as u32, &name);
                let tracepoint = waking(*pid, name, *prio, *target_cpu, &index.machine);
                let (tid, by) = self.running.as_ref().map_or((NO_TASK, ":-1"), |(tid, name, _)| (*tid, name.as_str()));
                let _ = write_line(text, by, tid as i32, self.cpu, event.at_ns, &tracepoint);
            }
        }
    }
}

fn number(value: i64) -> FieldValue {
    FieldValue::Signed(value)
}

fn switch<'a>(
    prev: &(u32, String, i64),
    prev_state: i64,
    next: &(u32, String, i64),
    machine: &'a Machine,
) -> Tracepoint<'a> {
    let fields = vec![
        ("prev_comm".into(), FieldValue::Text(prev.1.clone())),
        ("prev_pid".into(), number(i64::from(prev.0))),
        ("prev_prio".into(), number(prev.2)),
        ("prev_state".into(), number(prev_state)),
        ("next_comm".into(), FieldValue::Text(next.1.clone())),
        ("next_pid".into(), number(i64::from(next.0))),
        ("next_prio".into(), number(next.2)),
    ];
    Tracepoint { system: "sched".into(), name: "sched_switch".into(), fields, machine }
}

fn waking(pid: i64, name: String, prio: i64, target_cpu: i64, machine: &Machine) -> Tracepoint<'_> {
    let fields = vec![
        ("comm".into(), FieldValue::Text(name)),
        ("pid".into(), number(pid)),
        ("prio".into(), number(prio)),
        ("target_cpu".into(), number(target_cpu)),
    ];
    Tracepoint { system: "sched".into(), name: "sched_waking".into(), fields, machine }
}

/// A task that an event names.
fn named(event: &Tracepoint<'_>) -> Option<(u32, String)> {
    let (tid, name) = match &*event.name {
        "sched_switch" => ("next_pid", "next_comm"),
        "sched_waking" | "sched_wakeup" | "task_newtask" => ("pid", "comm"),
        "task_rename" => ("pid", "newcomm"),
        _ => return None,
    };
    Some((event.unsigned(tid)? as u32, event.text(name)?))
}

impl<R: Read + Seek> Read for PerfettoText<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.text.is_read() {
            self.text.clear();
            if !self.make()? {
                return Ok(0);
            }
        }
        Ok(self.text.read(buffer))
    }
}

//! Builds rows from events: names of stacks, system calls, files and devices.

use std::path::{Path, PathBuf};

use model::detail::{Detail, Freezer};
use model::signal::{Signal, SignalDetail};
use model::stall::{RequestParts, RequestRecord, StackRecord, StallKind, StallRecord, Traced};
use model::system_call::{self, traits};

use super::background::Background;
use super::blocked::BlockedWait;
use super::bounded_cache::BoundedCache;
use super::cpu_quota::CpuQuotas;
use super::earlier_locks::EarlierLocks;
use super::event::{
    ASYNCHRONOUS, CUT, FAULT_FILE, HELD, OFF_CPU, ON_CPU, REQUEST, RequestNote, SHORT_SPANS, SPAN, STILL_OFF_CPU,
    SYSTEM_CALL, TraceEvent, WAKER_IS_NEWER, row_flags,
};
use super::freezers::Freezers;
use super::kinds::kind_of;
use super::lock_numbers::LockNumbers;
use super::open_file_locks::OpenFileLocks;
use super::paths::Paths;
use super::requests::{by_kind, failures_of, record};
use super::symbols::Symbols;
use super::task_rows::{Name, TaskRows};
use super::threads::process_of;
use super::{asynchronous, awaits, detail, system_calls};
use crate::bytes::shown_path;

/// The state of a task that is frozen with its cgroup.
const TASK_FROZEN: u32 = 0x8000;
/// Requests that several waits may refer to; older ones are forgotten.
const REQUESTS: usize = 4096;
const STACKS: usize = 16_384;

/// Builds rows from events, and numbers stacks, tasks and requests, which are emitted once.
pub(super) struct RowBuilder {
    proc: PathBuf,
    paths: Paths,
    quotas: CpuQuotas,
    freezers: Freezers,
    symbols: Symbols,
    all_requests: bool,
    /// Number, and whether it was emitted since the last [`RowBuilder::reset_emitted`].
    stacks: BoundedCache<Vec<u64>, (u32, bool)>,
    /// Stacks that came with names, not addresses.
    named_stacks: BoundedCache<Vec<String>, (u32, bool)>,
    next_stack: u32,
    pub(super) tasks: TaskRows,
    /// By address and completion time.
    requests: BoundedCache<(u64, u64), u32>,
    next_request: u32,
    locks: LockNumbers,
    open_file_locks: OpenFileLocks,
    earlier_locks: Background<EarlierLocks>,
    /// The file of the page fault whose wait comes next, by task.
    fault: Option<(u32, String)>,
    /// Submitter of the last request: most requests come from few.
    last_submitter: u32,
}

/// The init process takes up those whose parent is gone.
const INIT: u32 = 1;

impl RowBuilder {
    /// The functions of the kernel as it is now.
    pub(super) fn set_symbols(&mut self, symbols: Symbols) {
        self.symbols = symbols;
    }

    pub(super) fn new(proc: PathBuf, cgroup: &Path, symbols: Symbols, all_requests: bool) -> RowBuilder {
        RowBuilder {
            quotas: CpuQuotas::new(proc.clone(), cgroup),
            freezers: Freezers::new(proc.clone(), cgroup),
            tasks: TaskRows::new(proc.clone()),
            open_file_locks: OpenFileLocks::new(proc.clone()),
            paths: Paths::new(proc.clone()),
            proc,
            symbols,
            all_requests,
            stacks: BoundedCache::new(STACKS),
            named_stacks: BoundedCache::new(STACKS / 16),
            next_stack: 0,
            requests: BoundedCache::new(REQUESTS),
            next_request: 0,
            locks: LockNumbers::new(),
            earlier_locks: Background::default(),
            fault: None,
            last_submitter: 0,
        }
    }

    /// Emits stacks, tasks and requests again when they are next seen.
    pub(super) fn reset_emitted(&mut self) {
        self.stacks.values_mut().for_each(|known| known.1 = false);
        self.named_stacks.values_mut().for_each(|known| known.1 = false);
        self.tasks.reset();
        self.requests.clear();
        self.last_submitter = 0;
    }

    /// Adds an event's rows.
    pub(super) fn add_event(&mut self, event: &TraceEvent, traced: &mut Traced) {
        let request = (event.request.key != 0).then(|| self.request(event, traced)).flatten();
        if event.kind == FAULT_FILE {
            self.fault = self.path(event).map(|path| (event.tid, path));
        }
        let Some(kind) = kind_of(event) else { return };
        self.tasks.emit_of(event, traced);
        let mut row = StallRecord {
            busy_ns: event.busy_ns,
            count: u64::from(event.count),
            stack: self.stack(&event.stack, traced),
            request,
            call: system_call::numbered(event.call).map(|call| call.name.to_owned()),
            flags: Some(row_flags(event.flags)),
            ..StallRecord::new(kind, event.tid, event.start_ns, event.end_ns)
        };
        match event.kind {
            SYSTEM_CALL => self.ended_call(event, &mut row),
            ASYNCHRONOUS if kind == StallKind::ServerRequest => awaits::answered(event, &mut row),
            ASYNCHRONOUS => self.ended_operation(event, &mut row),
            OFF_CPU | ON_CPU => self.off_cpu(event, &mut row, traced),
            STILL_OFF_CPU => {
                self.off_cpu(event, &mut row, traced);
                row.path = self.path_of_descriptor(event);
            }
            SPAN | SHORT_SPANS => self.span(event, &mut row),
            _ => (),
        }
        traced.stalls.push(row);
    }

    fn ended_call(&mut self, event: &TraceEvent, row: &mut StallRecord) {
        let does = |what: u32| system_call::numbered(event.call).is_some_and(|call| call.traits.has(what));
        let [size, ..] = event.detail.words;
        row.path = self.path(event);
        row.bytes = u64::try_from(event.result).ok().filter(|_| does(traits::BYTES));
        row.detail = size.checked_sub(1).filter(|_| does(traits::SYNCS_FILE)).map(Detail::FileSize);
        row.errno = (event.result < 0).then(|| i32::try_from(-event.result).unwrap_or(i32::MAX));
    }

    fn ended_operation(&mut self, event: &TraceEvent, row: &mut StallRecord) {
        let operation = asynchronous::of(event.source);
        row.call = operation.as_ref().map(|operation| operation.name.to_owned());
        row.path = self.path(event);
        row.bytes = u64::try_from(event.result).ok().filter(|_| operation.is_some_and(|known| known.returns_bytes));
        row.errno = (event.result < 0).then(|| i32::try_from(-event.result).unwrap_or(i32::MAX));
        row.worker_tid = Some(event.waker_tid).filter(|worker| *worker != 0);
    }

    fn off_cpu(&mut self, event: &TraceEvent, row: &mut StallRecord, traced: &mut Traced) {
        row.state = Some(event.state);
        row.call_start_ns = Some(event.call_start_ns).filter(|&ns| ns > 0);
        row.cpu_ns = Some(event.cpu_ns).filter(|&ns| ns > 0);
        row.run_delay_ns = Some(event.run_delay_ns).filter(|&ns| ns > 0);
        row.cpu = Some(event.cpu);
        if event.woken_ns != 0 {
            row.woken_ns = Some(event.woken_ns);
            row.waker_tid = Some(event.waker_tid);
            row.waker_stack = self.stack(&event.waker_stack, traced);
            let starter = u32::try_from(event.result).ok().filter(|_| event.flags & WAKER_IS_NEWER != 0);
            row.worker_tid = starter.filter(|starter| *starter > INIT);
        }
        row.awaits = awaits::of(event.awaits);
        row.asked_ns = Some(event.asked_ns).filter(|asked_ns| *asked_ns != 0);
        if event.behind_tid != 0 {
            row.behind_tid = Some(event.behind_tid);
            let name = Name::Remembered(&event.behind);
            self.tasks.emit(event.behind_tid, event.behind_pid, name, event.end_ns, traced);
        }
        self.lock(event, row, traced);
        let announced = Signal::from_mark(event.source);
        row.tracepoint = announced.map(|mark| mark.definition().name.to_owned());
        row.detail = announced.and_then(|mark| detail::of_mark(mark, &event.detail));
        if event.flags & HELD != 0 && row.detail.is_none() {
            row.detail = self.quotas.of_task(event.tid).map(Detail::CpuQuota);
        } else if event.state & TASK_FROZEN != 0 {
            let through = if client_of_stopper(event).is_some() { event.holder_pid } else { 0 };
            let freezer = self.freezers.of_task(event.tid).map(|freezer| Freezer { through, ..freezer });
            row.detail = freezer.map(Detail::Freezer);
        }
        row.work = Some(event.work.clone()).filter(|work| !work.is_empty());
        row.path = self.fault.take_if(|(tid, _)| *tid == event.tid).map(|(_, path)| path);
    }

    /// Which lock the task waited for, and who held it then, or who had stopped the task.
    fn lock(&mut self, event: &TraceEvent, row: &mut StallRecord, traced: &mut Traced) {
        row.lock = (event.lock != 0).then(|| self.locks.number(event.lock));
        if let Some(pid) = self.other_holder(event) {
            row.holder_tid = Some(pid);
            return self.tasks.emit(pid, pid, Name::Unknown, event.start_ns, traced);
        }
        if let Some((client, name)) = client_of_stopper(event) {
            row.holder_tid = Some(client);
            self.tasks.emit(client, client, Name::Current(name), event.start_ns, traced);
            self.tasks.emit(event.holder_tid, event.holder_pid, Name::Current(&event.holder), event.start_ns, traced);
        } else if event.holder_tid != 0 {
            row.holder_tid = Some(event.holder_tid);
            let name = Name::Current(&event.holder);
            self.tasks.emit(event.holder_tid, event.holder_pid, name, event.start_ns, traced);
        } else if event.flags & CUT != 0 && event.lock == 0 {
            let Some(earlier) = self.earlier_locks.get().of(event.pid, row.call.as_deref()) else { return };
            (row.lock, row.holder_tid) = (Some(self.locks.number(earlier.inode)), Some(earlier.holder));
            self.tasks.emit(earlier.holder, earlier.holder, Name::Unknown, event.start_ns, traced);
        }
    }

    /// Who has the lock of a file, if the process that took it has it no more.
    fn other_holder(&mut self, event: &TraceEvent) -> Option<u32> {
        let is_of_file = matches!(
            Signal::from_mark(event.source),
            Some(Signal::FlockLockInode) | Some(Signal::PosixLockInode) if event.lock != 0
        );
        let call = system_call::numbered(event.call).filter(|call| is_of_file && call.is_on_descriptor());
        match (event.kind, call, u32::try_from(event.argument)) {
            (STILL_OFF_CPU, Some(_), Ok(fd)) => {
                self.open_file_locks.look(event.lock, event.holder_tid, (event.pid, fd))
            }
            _ if is_of_file => self.open_file_locks.seen(event.lock, event.holder_tid),
            _ => None,
        }
    }

    /// Call this when the recording begins: who holds the locks that tasks wait for already.
    pub(super) fn look_for_locks(&mut self) {
        let proc = self.proc.clone();
        // The kernel waits for all CPUs before it lists locks.
        self.earlier_locks = Background::start("earlier-locks", move || EarlierLocks::read(&proc));
    }

    fn span(&mut self, event: &TraceEvent, row: &mut StallRecord) {
        let Some(span) = Signal::from_span(event.source) else { return };
        row.tracepoint = Some(span.definition().name.to_owned());
        if event.kind == SHORT_SPANS {
            return;
        }
        if span.definition().detail == SignalDetail::JournalCommit {
            let (ns, commit) = detail::of_commit(&event.detail, event.state, event.argument, event.end_ns);
            row.start_ns = event.end_ns.saturating_sub(ns);
            (row.duration_ns, row.busy_ns) = (ns, ns);
            row.detail = Some(commit);
            return;
        }
        let name = |address| self.symbols.name(address);
        row.detail = detail::of_span(span, &event.detail, event.state, &event.texts, name);
    }

    fn stack(&mut self, addresses: &[u64], traced: &mut Traced) -> Option<u32> {
        if addresses.is_empty() {
            return None;
        }
        let (stack, emitted) = match self.stacks.get(addresses) {
            Some((stack, emitted)) => (*stack, std::mem::replace(emitted, true)),
            None => {
                let stack = self.next_stack;
                self.next_stack += 1;
                self.stacks.insert(addresses.to_vec(), (stack, true));
                (stack, false)
            }
        };
        if !emitted {
            let frames = addresses.iter().map(|address| self.symbols.name(*address)).collect();
            traced.stacks.push(StackRecord { stack, frames: without_tracing(frames) });
        }
        Some(stack)
    }

    /// Adds a wait that was seen in /proc.
    pub(super) fn add_blocked(&mut self, wait: BlockedWait, traced: &mut Traced) {
        self.tasks.emit(wait.row.tid, wait.pid, Name::Current(&wait.name), wait.row.end_ns(), traced);
        let stack = self.named_stack(wait.frames, traced);
        traced.stalls.push(StallRecord { stack, ..wait.row });
    }

    fn named_stack(&mut self, frames: Vec<String>, traced: &mut Traced) -> Option<u32> {
        if frames.is_empty() {
            return None;
        }
        let (stack, emitted) = match self.named_stacks.get(&frames) {
            Some((stack, emitted)) => (*stack, std::mem::replace(emitted, true)),
            None => {
                let stack = self.next_stack;
                self.next_stack += 1;
                self.named_stacks.insert(frames.clone(), (stack, true));
                (stack, false)
            }
        };
        if !emitted {
            traced.stacks.push(StackRecord { stack, frames });
        }
        Some(stack)
    }

    /// Adds a request, with all requests recorded.
    pub(super) fn add_each_request(&mut self, note: &RequestNote, traced: &mut Traced) {
        self.add_submitter(note, traced);
        traced.requests.push(record(note.number.saturating_sub(1), note));
    }

    fn add_submitter(&mut self, note: &RequestNote, traced: &mut Traced) {
        if std::mem::replace(&mut self.last_submitter, note.tid) == note.tid {
            return;
        }
        if note.tid != 0 && !self.tasks.is_emitted(note.tid) {
            // A request has its submitter's thread only.
            let pid = process_of(&self.proc, note.tid).unwrap_or(note.tid);
            self.tasks.emit(note.tid, pid, Name::Unknown, note.completed_ns, traced);
        }
    }

    /// The number of an event's request, which is emitted if it was not.
    fn request(&mut self, event: &TraceEvent, traced: &mut Traced) -> Option<u32> {
        let note = &event.request;
        if self.all_requests {
            // Its row is added separately.
            let number = note.number.checked_sub(1)?;
            if event.kind == REQUEST {
                self.emit_request(number, event, traced);
            }
            return Some(number);
        }
        let key = (note.key, note.completed_ns);
        if let Some(known) = self.requests.get(&key) {
            return Some(*known);
        }
        let number = self.next_request;
        self.next_request += 1;
        self.requests.insert(key, number);
        self.emit_request(number, event, traced);
        Some(number)
    }

    fn emit_request(&mut self, number: u32, event: &TraceEvent, traced: &mut Traced) {
        self.add_submitter(&event.request, traced);
        let mut row: RequestRecord = record(number, &event.request);
        row.parts = self.parts(&event.request);
        if let Some((in_flight, overtaken_by)) = &event.passed {
            (row.in_flight, row.overtaken_by) = (by_kind(in_flight), by_kind(overtaken_by));
        }
        traced.requests.push(row);
    }

    fn parts(&mut self, note: &RequestNote) -> Option<Box<RequestParts>> {
        let lower = match self.all_requests {
            true => note.lower_number.checked_sub(1),
            false => self.requests.get(&(note.lower_key, note.lower_completed_ns)).copied(),
        };
        let lower = lower.filter(|_| note.lower_key != 0);
        let seen = |ns: u64| (ns != 0 && ns <= note.completed_ns).then_some(ns);
        let (preflush_ns, data_ns, postflush_ns) =
            (seen(note.preflush_ns), seen(note.data_ns), seen(note.postflush_ns));
        let parts = RequestParts { preflush_ns, data_ns, postflush_ns, lower, failures: failures_of(note) };
        (parts != RequestParts::default()).then(|| Box::new(parts))
    }

    /// The whole path, if the descriptor still refers to that file; else from the file's names, or the call's argument.
    fn path(&mut self, event: &TraceEvent) -> Option<String> {
        let Some(file) = &event.file else {
            return Some(event.texts[0].clone()).filter(|path| !path.is_empty());
        };
        let whole = || {
            let name = file.names.first()?;
            system_call::numbered(event.call).filter(|call| system_calls::is_by_descriptor(call))?;
            let link = self.proc.join(format!("{}/fd/{}", event.pid, event.argument));
            let path = shown_path(std::fs::read_link(link).ok()?);
            path.ends_with(&format!("/{name}")).then_some(path)
        };
        whole().or_else(|| self.paths.of(file))
    }

    /// The file of a call that has not ended, if the call names it by a descriptor.
    fn path_of_descriptor(&self, event: &TraceEvent) -> Option<String> {
        system_call::numbered(event.call).filter(|call| call.is_on_descriptor() && event.call_start_ns > 0)?;
        let link = self.proc.join(format!("{}/fd/{}", event.tid, event.argument));
        Some(shown_path(std::fs::read_link(link).ok()?))
    }

    /// Call this every second or so.
    pub(super) fn age(&mut self) {
        self.paths.age();
        self.quotas.age();
    }
}

/// Who asked the task that stopped this one to do so, and its name.
fn client_of_stopper(event: &TraceEvent) -> Option<(u32, &str)> {
    let is_stopped = matches!(event.kind, OFF_CPU | STILL_OFF_CPU) && Signal::from_mark(event.source).is_none();
    let client = u32::try_from(event.detail.words[0]).ok().filter(|&client| is_stopped && client != 0)?;
    Some((client, &event.detail.name))
}

/// Removes the tracer's frames, with which a waker's stack begins.
fn without_tracing(mut frames: Vec<String>) -> Vec<String> {
    if let Some(at) = frames.iter().position(|frame| frame.starts_with("__traceiter_")) {
        frames.drain(..=at);
    }
    frames
}

//! Events → rows: names for stacks, system calls, files and devices.

use std::collections::HashMap;
use std::path::PathBuf;

use model::block::{DeviceNumber, Kind, Operation};
use model::stall::{RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord, Traced};

use super::calls;
use super::event::{Event, OFF_CPU, REQUEST, RequestNote, SYSTEM_CALL};
use super::symbols::Symbols;

/// Requests that several waits may name; older ones are forgotten.
const REMEMBERED: usize = 4096;

/// Kinds of rows by `enum kind`, and the tracepoint of spans; a request has a row of its own.
const KINDS: [Option<(StallKind, Option<&str>)>; 9] = [
    Some((StallKind::SystemCall, None)),
    Some((StallKind::OffCpu, None)),
    Some((StallKind::Span, Some("mm_vmscan_direct_reclaim"))),
    Some((StallKind::Span, Some("mm_vmscan_throttled"))),
    None,
    Some((StallKind::ShortSleeps, None)),
    Some((StallKind::ShortCpuWaits, None)),
    Some((StallKind::ShortSpans, Some("mm_vmscan_direct_reclaim"))),
    Some((StallKind::ShortRequestWaits, None)),
];

/// Puts events into words, and numbers what is told only once.
pub(super) struct Wording {
    proc: PathBuf,
    symbols: Symbols,
    /// Number, and whether it was told since the last [`Wording::retell`].
    stacks: HashMap<Vec<u64>, (u32, bool)>,
    tasks: HashMap<u32, (u32, String)>,
    requests: HashMap<(u64, u64), u32>,
    next_request: u32,
}

impl Wording {
    pub(super) fn new(proc: PathBuf, symbols: Symbols) -> Wording {
        let (stacks, tasks, requests) = (HashMap::new(), HashMap::new(), HashMap::new());
        Wording { proc, symbols, stacks, tasks, requests, next_request: 0 }
    }

    /// Stacks and tasks are told again when they are seen again.
    pub(super) fn retell(&mut self) {
        self.stacks.values_mut().for_each(|known| known.1 = false);
        self.tasks.clear();
    }

    /// Adds an event's rows.
    pub(super) fn tell(&mut self, event: &Event, traced: &mut Traced) {
        let request = (event.request.key != 0).then(|| self.request(&event.request, traced));
        if event.kind == REQUEST {
            return;
        }
        let Some((kind, tracepoint)) = KINDS.get(event.kind as usize).copied().flatten() else { return };
        self.task(event.tid, event.pid, &event.comm, event.end_ns, traced);
        if event.waker_tid != 0 {
            self.task(event.waker_tid, event.waker_tid, &event.waker, event.end_ns, traced);
        }
        let stack = (!event.stack.is_empty()).then(|| self.stack(&event.stack, traced));
        let call = calls::of(event.call);
        let ended = event.kind == SYSTEM_CALL;
        let moved = call.as_ref().is_some_and(|call| call.gives_bytes && ended);
        traced.stalls.push(StallRecord {
            busy_ns: event.busy_ns,
            count: u64::from(event.count),
            state: (event.kind == OFF_CPU).then_some(event.state),
            woken_ns: (event.woken_ns != 0).then_some(event.woken_ns),
            waker_tid: (event.woken_ns != 0).then_some(event.waker_tid),
            stack,
            request,
            tracepoint: tracepoint.map(str::to_owned),
            path: ended.then(|| self.path(event)).flatten(),
            bytes: u64::try_from(event.result).ok().filter(|_| moved),
            errno: (ended && event.result < 0).then(|| i32::try_from(-event.result).unwrap_or(i32::MAX)),
            call: call.map(|call| call.name.to_owned()),
            ..StallRecord::new(kind, event.tid, event.start_ns, event.end_ns)
        });
    }

    fn task(&mut self, tid: u32, pid: u32, name: &str, seen_ns: u64, traced: &mut Traced) {
        if self.tasks.get(&tid).is_some_and(|known| known.1 == name) {
            return;
        }
        self.tasks.insert(tid, (pid, name.to_owned()));
        traced.tasks.push(TaskRecord { tid, pid, name: name.to_owned(), cgroup: self.cgroup(tid), seen_ns });
    }

    fn cgroup(&self, tid: u32) -> Option<String> {
        let text = std::fs::read_to_string(self.proc.join(format!("{tid}/cgroup"))).ok()?;
        memory_cgroup(&text).map(str::to_owned)
    }

    fn stack(&mut self, addresses: &[u64], traced: &mut Traced) -> u32 {
        let next = self.stacks.len() as u32;
        let (stack, told) = self.stacks.entry(addresses.to_vec()).or_insert((next, false));
        if !std::mem::replace(told, true) {
            let frames = addresses.iter().map(|address| self.symbols.name(*address)).collect();
            traced.stacks.push(StackRecord { stack: *stack, frames });
        }
        *stack
    }

    fn request(&mut self, note: &RequestNote, traced: &mut Traced) -> u32 {
        let key = (note.key, note.completed_ns);
        if let Some(known) = self.requests.get(&key) {
            return *known;
        }
        if self.requests.len() >= REMEMBERED {
            self.requests.clear();
        }
        let request = self.next_request;
        self.next_request += 1;
        self.requests.insert(key, request);
        let seen = |ns: u64| (ns != 0).then_some(ns);
        traced.requests.push(RequestRecord {
            request,
            device: DeviceNumber(note.device),
            sector: note.sector,
            bytes: note.bytes,
            kind: kind_of(note.flags),
            tid: note.tid,
            merges: 0,
            queued_ns: None,
            got_ns: None,
            inserted_ns: seen(note.inserted_ns),
            issued_ns: seen(note.issued_ns),
            completed_ns: note.completed_ns,
            errno: None,
            throttled: note.throttled,
            in_flight: Vec::new(),
            overtaken_by: Vec::new(),
        });
        request
    }

    /// The whole path, where the descriptor still means that file; else what the call itself was given.
    fn path(&self, event: &Event) -> Option<String> {
        let given = Some(event.path.clone()).filter(|path| !path.is_empty());
        if !calls::of(event.call)?.by_descriptor {
            return given;
        }
        let link = self.proc.join(format!("{}/fd/{}", event.pid, event.argument));
        let whole = std::fs::read_link(link).ok().map(|path| path.to_string_lossy().into_owned());
        let is_same = |path: &String| given.as_ref().is_none_or(|name| path.ends_with(&format!("/{name}")));
        whole.filter(is_same).or(given)
    }
}

/// The memory cgroup (v1), or the cgroup (v2), in /proc/PID/cgroup.
pub(super) fn memory_cgroup(text: &str) -> Option<&str> {
    let path_of = |wanted: &dyn Fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            wanted(controllers).then_some(path)
        })
    };
    path_of(&|controllers| controllers.split(',').any(|name| name == "memory"))
        .or_else(|| path_of(&|controllers| controllers.is_empty()))
}

/// A request's operation and flags (`enum req_op` and `enum req_flag_bits`, Linux 4.10 to 6.18) as block traces have
/// them.
pub(super) fn kind_of(flags: u32) -> Kind {
    let operation = match flags & 0xff {
        0 => Operation::Read,
        1 => Operation::Write,
        3 | 5 => Operation::Discard,
        _ => Operation::None,
    };
    let named = [(11, Kind::SYNC), (12, Kind::META), (17, Kind::FUA), (18, Kind::PREFLUSH), (19, Kind::AHEAD)];
    let mut kind = Kind::of(operation);
    if flags & 0xff == 2 {
        kind = kind.with(Kind::PREFLUSH);
    }
    for (_, flag) in named.into_iter().filter(|(bit, _)| flags & 1 << bit != 0) {
        kind = kind.with(flag);
    }
    kind
}

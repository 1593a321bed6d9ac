//! Events as text → a run.
//!
//! What a wait was for comes from its stack and from the request whose completion woke the task; who ended it from the
//! waking. The request that woke a task is one that completed on the waker's CPU since that CPU last switched: the
//! completion and the waking are then of one interrupt or of one task.

use std::collections::HashMap;
use std::io::BufRead;

use model::block::DeviceNumber;
use model::stall::RequestRecord;
use model::system_call;

use crate::rows::{OffCpuState, Operation, Wait, WaitEnd};
use crate::run_writer::RunWriter;
use crate::scheduler::{Scheduler, Switch, Wakeup};
use crate::signals::{Announced, Signals};
use crate::text_contents::{TextContents, each_line, lost};
use crate::text_events::{Call, Meaning, meaning};
use crate::text_line::{NO_TASK, TextLine, event, frame};
use crate::text_signals::signal_event;
use crate::text_window::{Pending, TextWindow};

/// Tasks that are followed at once.
const TASKS: usize = 1 << 20;
/// Different stacks.
const STACKS: usize = 1 << 20;

/// A system call that has not ended.
struct OpenCall {
    name: &'static str,
    since_ns: u64,
}

/// The state of an import.
struct Import<'a, 'b> {
    run: &'a mut RunWriter<'b>,
    first_ns: u64,
    scheduler: Scheduler,
    ended: Vec<Wait>,
    names: HashMap<u32, String>,
    calls: HashMap<u32, OpenCall>,
    has_calls: bool,
    slow_ns: u64,
    stacks: HashMap<Vec<String>, u32>,
    /// Of each task that sleeps: its stack, and the request that woke it.
    asleep: HashMap<u32, (Option<u32>, Option<u32>)>,
    signals: Signals,
    /// Of each task that sleeps: what for, if an event has said that.
    announced: HashMap<u32, Announced>,
    /// Sleeps that a contradiction between other events ended: they go on until an event of the task says otherwise.
    held: HashMap<u32, Wait>,
    /// Completed since the CPU last switched.
    completed: HashMap<u32, Vec<usize>>,
    requests: &'a [RequestRecord],
    next_request: usize,
    now_ns: u64,
}

/// Writes the events of a source into a run. `requests`: by completion, on the source's clock.
///
/// # Errors
///
/// The source cannot be read.
pub fn import_text(
    source: impl BufRead,
    contents: &TextContents,
    requests: &[RequestRecord],
    run: &mut RunWriter<'_>,
) -> std::io::Result<u64> {
    let mut import = Import::new(contents, requests, run);
    let mut window = TextWindow::default();
    each_line(source, |line| {
        if let Some(event) = event(line) {
            if event.name.starts_with("<stack") || event.name == "kernel_stack" {
                window.stack(event.cpu, event.tid);
            } else if let Some(before) = window.push(import.pending(&event)) {
                import.take(&before);
            }
        } else if let Some(function) = frame(line) {
            window.frame(function);
        } else if lost(line).is_some() {
            std::iter::from_fn(|| window.pop()).for_each(|before| import.take(&before));
            import.gap();
        }
    })?;
    std::iter::from_fn(|| window.pop()).for_each(|last| import.take(&last));
    Ok(import.finish())
}

impl<'a, 'b> Import<'a, 'b> {
    fn new(contents: &TextContents, requests: &'a [RequestRecord], run: &'a mut RunWriter<'b>) -> Import<'a, 'b> {
        let slow_ns = run.description().slower_than_ns;
        run.phase("run", true, 0);
        Import {
            run,
            first_ns: contents.first_ns.unwrap_or(0),
            scheduler: Scheduler::new(TASKS),
            ended: Vec::new(),
            names: HashMap::new(),
            calls: HashMap::new(),
            has_calls: contents.has_system_calls(),
            slow_ns,
            stacks: HashMap::new(),
            asleep: HashMap::new(),
            signals: Signals::default(),
            announced: HashMap::new(),
            held: HashMap::new(),
            completed: HashMap::new(),
            requests,
            next_request: 0,
            now_ns: 0,
        }
    }

    fn pending(&self, event: &TextLine<'_>) -> Pending {
        Pending::new(event, event.at_ns.saturating_sub(self.first_ns))
    }

    fn take(&mut self, event: &Pending) {
        let line = event.line();
        self.now_ns = self.now_ns.max(event.at_ns);
        self.write_requests(event.at_ns);
        self.name(event.tid, &event.comm);
        match meaning(&line) {
            Meaning::Switch { prev_tid, prev_state, next } => {
                self.name(next.0, next.1);
                self.switch(event, prev_tid, prev_state, next.0);
            }
            Meaning::Wakeup { tid, is_waking } => self.wake(event, tid, is_waking),
            Meaning::Exit { tid } => self.scheduler.exit(event.at_ns, tid, &mut self.ended),
            Meaning::CallBegins { call } => self.begin_call(event, call),
            Meaning::CallEnds => self.end_call(event.tid, event.at_ns),
            Meaning::SleptIn { tid, function } => self.slept_in(tid, function),
            Meaning::Completion => self.complete(event),
            Meaning::Other => self.signal(&line),
        }
        self.write_waits();
    }

    fn name(&mut self, tid: u32, name: &str) {
        let is_known = |known: &String| known == name || name.is_empty() || name == "<...>" || name == ":-1";
        if tid == 0 || tid == NO_TASK || self.names.len() >= TASKS || self.names.get(&tid).is_some_and(is_known) {
            return;
        }
        self.names.insert(tid, name.to_owned());
        self.run.task(tid, name);
    }

    fn switch(&mut self, event: &Pending, prev_tid: u32, prev_state: Option<OffCpuState>, next_tid: u32) {
        self.completed.remove(&event.cpu);
        if prev_tid != 0 {
            let is_asleep = !matches!(prev_state, Some(OffCpuState::Preempted) | None);
            let stack = if is_asleep { self.stack(&event.frames) } else { None };
            // A task woken on its way to sleep keeps the request that did it.
            self.asleep.entry(prev_tid).or_default().0 = stack;
        }
        let switch = Switch { at_ns: event.at_ns, cpu: event.cpu, prev_tid, prev_state, next_tid };
        let first = self.ended.len();
        self.scheduler.switch(&switch, &mut self.ended);
        // What the scheduler knows of a wait that was held is its end alone.
        let is_held = |wait: &Wait| self.held.contains_key(&wait.tid) && wait.state == OffCpuState::Unknown;
        let known = self.ended.split_off(first);
        self.ended.extend(known.into_iter().filter(|wait| !is_held(wait)));
        self.resume(prev_tid, next_tid, event.at_ns);
        self.announce(prev_tid, prev_state, event.at_ns);
    }

    /// What the sleep of a task that leaves the CPU is for.
    fn announce(&mut self, tid: u32, state: Option<OffCpuState>, at_ns: u64) {
        self.announced.remove(&tid);
        match state {
            // Its last call, by which it ends, does not return.
            None => {
                self.end_call(tid, at_ns);
                self.signals.ends(tid);
            }
            Some(OffCpuState::Preempted) => self.signals.is_preempted(tid),
            Some(state) => {
                let announced = self.signals.sleeps(tid, at_ns, state == OffCpuState::Blocked);
                self.announced.extend(announced.map(|announced| (tid, announced)));
            }
        }
    }

    /// What a task waits for, or has waited for.
    fn signal(&mut self, line: &TextLine<'_>) {
        let Some(event) = signal_event(line).filter(|_| line.tid != 0 && line.tid != NO_TASK) else { return };
        if let Some(span) = self.signals.take(line.tid, line.at_ns, event) {
            self.run.span(span);
        }
    }

    /// The source says that it lost events: nothing that was open is known to go on.
    fn gap(&mut self) {
        let now_ns = self.now_ns;
        self.scheduler.gap(now_ns, &mut self.ended);
        self.write_waits();
        let mut held: Vec<Wait> = self.held.drain().map(|(_, wait)| wait).collect();
        held.sort_by_key(|wait| (wait.start_ns, wait.tid));
        held.iter().for_each(|wait| self.row(wait));
        self.signals.forget();
    }

    /// A task that was asleep at a contradiction leaves a CPU, or runs on one: only then its sleep has an end that is
    /// known.
    fn resume(&mut self, prev_tid: u32, next_tid: u32, at_ns: u64) {
        if let Some(wait) = self.held.remove(&prev_tid) {
            self.row(&wait);
        }
        // An event of before, which the source has out of order, ends nothing.
        if self.held.get(&next_tid).is_none_or(|wait| wait.start_ns > at_ns) {
            return;
        }
        let Some(wait) = self.held.remove(&next_tid) else { return };
        let request = self.asleep.get(&next_tid).and_then(|(_, request)| *request).or(wait.request);
        self.write_wait(Wait { end_ns: at_ns, end: WaitEnd::Ran, request, ..wait });
    }

    fn wake(&mut self, event: &Pending, tid: u32, is_waking: bool) {
        let wakeup = Wakeup { at_ns: event.at_ns, tid, waker_tid: Some(event.tid).filter(|tid| *tid != NO_TASK) };
        if is_waking {
            if let Some(request) = self.completed_for(event.cpu, tid) {
                self.asleep.entry(tid).or_default().1 = Some(request);
            }
            self.scheduler.waking(&wakeup, &mut self.ended);
        } else {
            self.scheduler.wakeup(&wakeup, &mut self.ended);
        }
    }

    /// All that is known of a stack, said when the task is woken.
    fn slept_in(&mut self, tid: u32, function: &str) {
        if self.asleep.get(&tid).is_none_or(|(stack, _)| stack.is_none()) {
            let stack = self.stack(&[function.to_owned()]);
            self.asleep.entry(tid).or_default().0 = stack;
        }
    }

    /// The task's own request, else the last one that completed there.
    fn completed_for(&self, cpu: u32, tid: u32) -> Option<u32> {
        let completed = self.completed.get(&cpu)?;
        let own = completed.iter().rev().find(|at| self.requests[**at].tid == tid);
        own.or(completed.last()).map(|at| self.requests[*at].request)
    }

    /// The request that an event completes is one of that moment.
    fn complete(&mut self, event: &Pending) {
        let at_ns = event.at_ns.saturating_add(self.first_ns);
        let begin = self.requests.partition_point(|request| request.completed_ns < at_ns);
        let device = event.fields.split_whitespace().next().and_then(device);
        let of = |request: &&RequestRecord| request.completed_ns == at_ns && Some(request.device) == device;
        let known = self.completed.entry(event.cpu).or_default();
        let found = self.requests[begin..]
            .iter()
            .take_while(|request| request.completed_ns == at_ns)
            .position(|request| of(&request));
        known.extend(found.map(|at| begin + at));
    }

    fn begin_call(&mut self, event: &Pending, call: Call<'_>) {
        let known = match call {
            Call::Number(number) => system_call::numbered(number),
            Call::Name(name) => system_call::named(name.trim_start_matches("new")),
        };
        if let Some(call) = known.filter(|call| call.is_operation()) {
            self.calls.insert(event.tid, OpenCall { name: call.name, since_ns: event.at_ns });
        }
    }

    fn end_call(&mut self, tid: u32, at_ns: u64) {
        let Some(call) = self.calls.remove(&tid) else { return };
        self.run.operation(&operation(&call, tid, at_ns));
    }

    fn stack(&mut self, frames: &[String]) -> Option<u32> {
        let begin = frames.iter().position(|frame| !model::kernel_function::sleeps(frame))?;
        let frames = &frames[begin..];
        if let Some(known) = self.stacks.get(frames) {
            return Some(*known);
        }
        if self.stacks.len() >= STACKS {
            return None;
        }
        let number = self.run.stack(frames.to_vec());
        self.stacks.insert(frames.to_vec(), number);
        Some(number)
    }

    fn write_requests(&mut self, now_ns: u64) {
        while let Some(request) = self.requests.get(self.next_request) {
            let completed_ns = request.completed_ns.saturating_sub(self.first_ns);
            if completed_ns > now_ns {
                break;
            }
            self.next_request += 1;
            let shifted = |at_ns: Option<u64>| at_ns.map(|at_ns| at_ns.saturating_sub(self.first_ns));
            self.run.request(&RequestRecord {
                completed_ns,
                queued_ns: shifted(request.queued_ns),
                got_ns: shifted(request.got_ns),
                inserted_ns: shifted(request.inserted_ns),
                issued_ns: shifted(request.issued_ns),
                ..request.clone()
            });
        }
    }

    fn write_waits(&mut self) {
        for wait in std::mem::take(&mut self.ended) {
            let (stack, request) = self.asleep.remove(&wait.tid).unwrap_or_default();
            let is_asleep = !matches!(wait.state, OffCpuState::Preempted);
            let wait = Wait { stack, request: request.filter(|_| is_asleep), ..wait };
            let is_sleep = matches!(wait.state, OffCpuState::Blocked | OffCpuState::Sleeping);
            match wait.end {
                WaitEnd::Lost if is_sleep && wait.woken_ns.is_none() => drop(self.held.insert(wait.tid, wait)),
                _ => self.write_wait(wait),
            }
        }
    }

    fn row(&mut self, wait: &Wait) {
        let is_sleep = !matches!(wait.state, OffCpuState::Preempted | OffCpuState::Unknown);
        let announced = self.announced.remove(&wait.tid).filter(|_| is_sleep);
        self.run.wait_for(wait, announced);
    }

    fn write_wait(&mut self, wait: Wait) {
        self.row(&wait);
        if !self.has_calls {
            self.operation_of(&wait);
        }
    }

    /// Without system calls what is known to be slow are sleeps that no signal ends, and waits for a CPU.
    fn operation_of(&mut self, wait: &Wait) {
        let slept = wait.state == OffCpuState::Blocked;
        let runnable_ns = wait.runnable_since_ns().map_or(0, |since_ns| wait.end_ns.saturating_sub(since_ns));
        let start_ns = if slept || runnable_ns < self.slow_ns { wait.start_ns } else { wait.end_ns - runnable_ns };
        let is_slow = wait.end_ns.saturating_sub(start_ns) >= self.slow_ns && (slept || runnable_ns >= self.slow_ns);
        if !is_slow || wait.end == WaitEnd::Lost {
            return;
        }
        let operation = Operation { class: "wait", tid: wait.tid, start_ns, end_ns: wait.end_ns, bytes: 0 };
        match wait.end {
            WaitEnd::Unfinished => self.run.unfinished(&operation),
            _ => self.run.operation(&operation),
        }
    }

    /// Ends what is open. Returns how often events were missing or contradicted each other.
    fn finish(mut self) -> u64 {
        let (end_ns, gaps) = (self.now_ns, self.scheduler.gaps());
        let scheduler = std::mem::replace(&mut self.scheduler, Scheduler::new(0));
        scheduler.finish(end_ns, &mut self.ended);
        self.write_waits();
        let mut held: Vec<Wait> = self.held.drain().map(|(_, wait)| wait).collect();
        held.sort_by_key(|wait| (wait.start_ns, wait.tid));
        held.into_iter().for_each(|wait| self.write_wait(Wait { end_ns, end: WaitEnd::Unfinished, ..wait }));
        self.write_requests(u64::MAX);
        let mut open: Vec<(u32, OpenCall)> = self.calls.drain().collect();
        open.sort_by_key(|(tid, _)| *tid);
        for (tid, call) in open {
            self.run.unfinished(&operation(&call, tid, end_ns));
        }
        gaps
    }
}

fn operation<'a>(call: &OpenCall, tid: u32, end_ns: u64) -> Operation<'a> {
    Operation { class: call.name, tid, start_ns: call.since_ns, end_ns, bytes: 0 }
}

fn device(word: &str) -> Option<DeviceNumber> {
    let (major, minor) = word.split_once(',')?;
    let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then(|| DeviceNumber::new(major, minor))
}

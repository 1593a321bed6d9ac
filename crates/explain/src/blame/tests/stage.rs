//! Draws rows. A column is a millisecond; a line is a task's row or rows:
//!
//!     op:read    7 |======================|                  an operation of the load
//!     call:fsync 7 | ==================== | path=/mnt/f      a system call
//!     async:read 7 |    ========          | worker=9             an asynchronous operation
//!     asked      7 |  =========           | waker=9            a request to a server, until the answer of its thread 9
//!     off        7 |  sssssww   ppp       | stack=a,b        asleep, then runnable; preempted
//!     span       7 |   =====              | tp=mm_shrink_slab
//!     blocked    7 |    ====              | stack=a
//!     freed      7 |    =                 | lock=1           it released a name, or began to listen, then
//!     sleeps     7 | =======              | busy=3           short ones; also cpu_waits, spans, request_waits
//!     request    3 |  Q I D   C           | tid=7            request number 3; its stages, as in `request.rs`
//!     task       7 |   n                  | name=fio pid=5 cgroup=/a started_by=sh/4; `n`: when seen
//!
//! More words: `waker=9`, `waker_stack=a`, `request=3`, `detail=inode;8,0;12` (type, device, numbers, names),
//! `call=read`, `awaits=answer`, `stuck`, `cpu=5` (CPU time until then), `since=2` (in its call since then), `state=1`
//! (asleep interruptibly), `watched` (of the recorded command), `held` (by a CPU quota), `lock=1`, `holder=9`, `hint`
//! (a lock, who held it when the wait began, one of its readers), `asked=1` (when its request was sent or received),
//! `work=loop1` (of a worker), and of a request `device=7,1`, `kind=WS`, `lower=2`, `retries=1`, `timeouts=1`,
//! `result=2` and `sense=0xb0000` (SCSI), `errno=5`.

use std::collections::HashMap;

use model::block::{DeviceNumber, Kind};
use model::detail::Detail;
use model::event::RunEvent;
use model::operation::{OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{
    Awaits, RequestFailures, RequestParts, RequestRecord, StackRecord, StallKind, StallRecord, TaskRecord,
    TraceSettings, stall_flags,
};
use model::time::Moment;
use model::usage::UsageRecord;

use crate::blame::{Accounting, Blame, Cause, CauseTime, Explanation, Scope, Stall};

pub(crate) const MS: u64 = 1_000_000;

/// A drawn run.
#[derive(Debug, Default, Clone)]
pub(crate) struct Stage {
    pub(crate) stalls: Vec<StallRecord>,
    pub(crate) operations: Vec<OperationRecord>,
    pub(crate) requests: Vec<RequestRecord>,
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) stacks: Vec<StackRecord>,
    pub(crate) events: Vec<RunEvent>,
    pub(crate) usage: Vec<UsageRecord>,
}

/// A run description with only the fields that blame reads.
pub(crate) fn description(traced: bool) -> RunDescription {
    RunDescription {
        sample_interval_ns: MS,
        slower_than_ns: 5 * MS,
        trace: traced.then_some(TraceSettings { slow_ns: 5 * MS, interval_ns: MS, all_requests: false }),
        ..RunDescription::new("test", Moment::default())
    }
}

impl Stage {
    pub(crate) fn explain(&self) -> Explanation {
        self.explain_run(&description(true), None)
    }

    pub(crate) fn explain_untraced(&self) -> Explanation {
        self.explain_run(&description(false), None)
    }

    pub(crate) fn explain_run(&self, run: &RunDescription, slower_than_ns: Option<u64>) -> Explanation {
        self.account_run(run, slower_than_ns).0
    }

    pub(crate) fn account_run(&self, run: &RunDescription, slower_than_ns: Option<u64>) -> (Explanation, Accounting) {
        self.account(Blame::new(slower_than_ns, run))
    }

    pub(crate) fn explain_scoped(&self, scope: Scope) -> Explanation {
        self.account(Blame::new(None, &description(true)).scoped(scope)).0
    }

    pub(crate) fn account(&self, mut blame: Blame) -> (Explanation, Accounting) {
        blame.events(&self.events);
        blame.stalls(&self.stalls);
        blame.operations(&self.operations);
        blame.tasks(&self.tasks);
        blame.stacks(&self.stacks);
        blame.usage(&self.usage);
        blame.requests(&self.requests);
        blame.finish_with_accounting()
    }
}

/// Reads a drawing.
pub(crate) fn stage(drawing: &str) -> Stage {
    let mut stage = Stage::default();
    let mut stacks: HashMap<String, u32> = HashMap::new();
    for line in drawing.lines().filter(|line| line.contains('|')) {
        stage.draw(line, &mut stacks);
    }
    stage
}

fn flags(words: &HashMap<&str, &str>) -> Option<u32> {
    let known = [
        ("watched", stall_flags::WATCHED),
        ("cut", stall_flags::CUT),
        ("held", stall_flags::CPU_QUOTA),
        ("hint", stall_flags::HOLDER_IS_HINT),
        ("newer", stall_flags::WAKER_IS_NEWER),
        ("any", stall_flags::ANY_THREAD),
    ];
    let flags = known.into_iter().filter(|(word, _)| words.contains_key(word)).map(|(_, flag)| flag).sum();
    Some(flags).filter(|&flags: &u32| flags > 0)
}

/// Runs of the same letter in a drawing: letter, begin, end.
fn bars(drawing: &str) -> Vec<(char, u64, u64)> {
    let mut bars: Vec<(char, u64, u64)> = Vec::new();
    for (letter, at) in drawing.chars().zip(0..) {
        match bars.last_mut() {
            Some(last) if last.0 == letter => last.2 = at + 1,
            _ => bars.push((letter, at, at + 1)),
        }
    }
    bars.into_iter().filter(|bar| bar.0 != ' ').map(|(letter, from, to)| (letter, from * MS, to * MS)).collect()
}

/// `TYPE;MAJ,MIN;NUMBER,...;NAME,...`, as much of it as there is.
fn detail(text: &str) -> Detail {
    let mut parts = text.split(';');
    let mut next = || parts.next().filter(|part| !part.is_empty());
    let (kind, device) = (next().expect("a type"), next());
    let device = device.and_then(|device| {
        let (major, minor) = device.split_once(',')?;
        Some(DeviceNumber::new(major.parse().ok()?, minor.parse().ok()?))
    });
    let numbers: Vec<u64> =
        next().iter().flat_map(|part| part.split(',')).map(|word| word.parse().expect("a number")).collect();
    let names: Vec<String> = next().iter().flat_map(|part| part.split(',')).map(str::to_owned).collect();
    Detail::of_stored(kind, device, &numbers, &names).unwrap_or_else(|| panic!("{text}"))
}

impl Stage {
    fn draw(&mut self, line: &str, stacks: &mut HashMap<String, u32>) {
        let [head, drawing, words] = line.splitn(3, '|').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let (kind, number) = head.trim().split_once(' ').expect("kind and number");
        let number: u32 = number.trim().parse().expect("a number");
        let words: HashMap<&str, &str> =
            words.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        let text = |key: &str| words.get(key).map(|word| word.replace('~', " "));
        let figure = |key: &str| words.get(key).map(|word| word.parse::<u32>().expect("a number"));
        let mut stack = |key: &str| {
            let frames = (*words.get(key)?).to_owned();
            let next = stacks.len() as u32;
            Some(*stacks.entry(frames.clone()).or_insert_with(|| {
                let frames = frames.split(',').map(str::to_owned).collect();
                self.stacks.push(StackRecord { stack: next, frames });
                next
            }))
        };
        let (own_stack, waker_stack) = (stack("stack"), stack("waker_stack"));
        let row = |kind: StallKind, start_ns: u64, end_ns: u64| StallRecord {
            stack: own_stack,
            waker_stack,
            waker_tid: figure("waker"),
            behind_tid: figure("behind"),
            worker_tid: figure("worker"),
            request: figure("request"),
            tracepoint: text("tp"),
            detail: text("detail").map(|text| detail(&text)),
            cpu_ns: figure("cpu").map(|ms| u64::from(ms) * MS),
            // From the moment 1 on: 0 is unknown.
            call_start_ns: figure("since").map(|ms| u64::from(ms) * MS + 1),
            call: text("call"),
            flags: flags(&words),
            work: text("work"),
            path: text("path"),
            lock: figure("lock"),
            holder_tid: figure("holder"),
            awaits: words.get("awaits").map(|name| Awaits::from_name(name).expect("a name")),
            asked_ns: figure("asked").map(|ms| u64::from(ms) * MS),
            ..StallRecord::new(kind, number, start_ns, end_ns)
        };
        let bars = bars(drawing);
        let sums = |kind: StallKind| {
            let busy_ns = u64::from(figure("busy").expect("busy=ms")) * MS;
            bars.iter().map(move |&(_, from, to)| StallRecord { busy_ns, count: 10, ..row(kind, from, to) })
        };
        match kind.split_once(':').unwrap_or((kind, "")) {
            ("op", class) => self.operations.extend(bars.iter().map(|&(_, from, to)| OperationRecord {
                kind: if words.contains_key("stuck") { OperationKind::Stuck } else { OperationKind::Slow },
                class: class.to_owned(),
                tid: number,
                start_ns: from,
                duration_ns: to - from,
                bytes: None,
                errno: None,
                path: text("path"),
                offset_bytes: None,
                fault: None,
            })),
            ("call", call) => self.stalls.extend(bars.iter().map(|&(_, from, to)| StallRecord {
                call: Some(call.to_owned()),
                ..row(StallKind::SystemCall, from, to)
            })),
            ("async", call) => self.stalls.extend(bars.iter().map(|&(_, from, to)| StallRecord {
                call: Some(call.to_owned()),
                ..row(StallKind::Asynchronous, from, to)
            })),
            ("asked", _) => self.stalls.extend(bars.iter().map(|&(_, from, to)| StallRecord {
                awaits: words.get("awaits").map_or(Some(Awaits::Answer), |name| Awaits::from_name(name)),
                woken_ns: Some(to),
                asked_ns: Some(from),
                ..row(StallKind::ServerRequest, from, to)
            })),
            ("off", _) => {
                self.stalls.extend(off_cpu(&bars).into_iter().map(|(from, woken, to, preempted)| StallRecord {
                    state: Some(if preempted { 0 } else { figure("state").unwrap_or(2) }),
                    woken_ns: woken,
                    ..row(StallKind::OffCpu, from, to)
                }))
            }
            ("span", _) => self.stalls.extend(bars.iter().map(|&(_, from, to)| row(StallKind::Span, from, to))),
            ("blocked" | "lasting", _) => self.stalls.extend(bars.iter().map(|&(_, from, to)| {
                let kind = if kind == "blocked" { StallKind::Blocked } else { StallKind::LastingWait };
                StallRecord { state: figure("state"), ..row(kind, from, to) }
            })),
            ("freed", _) => self.stalls.extend(bars.iter().map(|&(_, from, to)| row(StallKind::OnCpu, from, to))),
            ("sleeps", _) => self.stalls.extend(sums(StallKind::ShortSleeps)),
            ("cpu_waits", _) => self.stalls.extend(sums(StallKind::ShortCpuWaits)),
            ("spans", _) => self.stalls.extend(sums(StallKind::ShortSpans)),
            ("request_waits", _) => self.stalls.extend(sums(StallKind::ShortRequestWaits)),
            ("task", _) => self.tasks.push(TaskRecord {
                tid: number,
                pid: figure("pid").unwrap_or(number),
                name: text("name").unwrap_or_default(),
                cgroup: text("cgroup"),
                started_by: text("started_by"),
                role: None,
                container: text("container"),
                io_cgroup: text("io_cgroup"),
                seen_ns: drawing.find('n').map_or(0, |at| at as u64 * MS),
            }),
            ("request", _) => {
                let at = |letter: char| drawing.find(letter).map(|at| at as u64 * MS);
                let passed = text("overtaken").map(|count| vec![(Kind::default(), count.parse().expect("a number"))]);
                self.requests.push(RequestRecord {
                    request: number,
                    device: words.get("device").map_or(DeviceNumber::new(8, 0), |words| {
                        let (major, minor) = words.split_once(',').expect("major,minor");
                        DeviceNumber::new(major.parse().expect("a number"), minor.parse().expect("a number"))
                    }),
                    sector: 0,
                    bytes: 4096,
                    kind: Kind::from_rwbs(words.get("kind").unwrap_or(&"R").as_bytes()).expect("letters"),
                    tid: figure("tid").unwrap_or(0),
                    merges: 0,
                    queued_ns: at('Q'),
                    got_ns: at('G'),
                    inserted_ns: at('I'),
                    issued_ns: at('D'),
                    completed_ns: at('C').expect("a completion"),
                    errno: figure("errno").map(|errno| errno as i32),
                    throttled: words.contains_key("throttled"),
                    parts: Some(Box::new(RequestParts {
                        preflush_ns: at('P'),
                        data_ns: at('T'),
                        postflush_ns: at('F'),
                        lower: figure("lower"),
                        failures: RequestFailures {
                            first_issued_ns: at('E'),
                            retries: figure("retries"),
                            timeouts: figure("timeouts"),
                            scsi_result: figure("result"),
                            scsi_sense: figure("sense"),
                        },
                    })),
                    in_flight: Vec::new(),
                    overtaken_by: passed.unwrap_or_default(),
                });
            }
            _ => panic!("unknown kind {kind}"),
        }
    }
}

/// Sleeps (`s`) with the run-queue waits (`w`) after them, and preemptions (`p`): start, wakeup, end, preempted.
fn off_cpu(bars: &[(char, u64, u64)]) -> Vec<(u64, Option<u64>, u64, bool)> {
    let mut rows: Vec<(u64, Option<u64>, u64, bool)> = Vec::new();
    for &(letter, from, to) in bars {
        match (letter, rows.last_mut()) {
            ('w', Some(last)) if last.2 == from => (last.1, last.2) = (Some(from), to),
            ('p', _) => rows.push((from, None, to, true)),
            _ => rows.push((from, Some(to), to, false)),
        }
    }
    rows
}

fn words(cause: Cause, ns: u64) -> String {
    if ns.is_multiple_of(MS) { format!("{} {}", cause.name(), ns / MS) } else { format!("{} {}ns", cause.name(), ns) }
}

/// `device 5, running 3`: milliseconds, the most first.
pub(crate) fn shares(explanation: &Explanation) -> String {
    let of = |time: &CauseTime| words(time.cause, time.time_ns);
    explanation.causes.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// The chain of a stall: `fsync: fio 7: journal 5 < jbd2 9: device 4`.
pub(crate) fn chain(stall: &Stall) -> String {
    let of = |link: &crate::blame::Link| {
        let task = link.task.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{task}: {}", words(link.cause, link.time_ns))
    };
    stall.chain.iter().map(of).collect::<Vec<_>>().join(" < ")
}

/// Checks the shares of a drawing in a traced run.
pub(crate) fn check(drawing: &str, expected: &str) {
    assert_eq!(shares(&stage(drawing).explain()), expected, "of {drawing}");
}

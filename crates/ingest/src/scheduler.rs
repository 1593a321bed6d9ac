//! Events of the kernel's scheduler → waits of tasks, and who ended them.

use std::collections::{BTreeMap, HashMap};

use crate::rows::{OffCpuState, Wait, WaitEnd};

/// CPUs beyond this do not exist: the file is damaged.
const MOST_CPUS: u32 = 8192;
/// Part of the tasks that are forgotten when there are too many.
const FORGOTTEN: usize = 8;
/// The idle task of each CPU, and as a waker: an interrupt.
const NOBODY: u32 = 0;

/// A `sched_switch`: a CPU leaves one task for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switch {
    /// When.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// The task that leaves it; 0: the idle task.
    pub prev_tid: u32,
    /// How; `None`: it has ended (`X`, `Z`).
    pub prev_state: Option<OffCpuState>,
    /// The task that runs from then on; 0: the idle task.
    pub next_tid: u32,
}

/// A `sched_waking`, `sched_wakeup` or `sched_wakeup_new`: a task becomes runnable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wakeup {
    /// When.
    pub at_ns: u64,
    /// The task.
    pub tid: u32,
    /// The task in whose context that happened; 0: an interrupt's, whose CPU's task did nothing. `None`: unknown.
    pub waker_tid: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
enum Task {
    /// On a CPU. It may be about to sleep, and already be woken.
    Running { cpu: u32, waking: Option<Wakeup> },
    /// Off the CPU.
    Off { since_ns: u64, state: OffCpuState, waking: Option<Wakeup>, woken: Option<Wakeup> },
}

/// What tasks do, by the events of a trace in their order: an importer's state machine. Give it each switch and each
/// wakeup of all CPUs; what it adds to `ended` are whole waits. It assumes nothing: at a gap, everything that is open
/// ends as [`WaitEnd::Lost`], and so it does at each event that contradicts the earlier ones, or is older. Of the sleep
/// that a task was in when the trace began, only the time after its wakeup is known.
///
/// ```
/// use ingest::{OffCpuState, Scheduler, Switch, Wait, Wakeup};
///
/// // perf script:  dd 7 [001] sched_switch: dd:7 [120] D ==> swapper/1:0;  <idle> 0 [000] sched_waking: dd:7;  ...
/// let (mut scheduler, mut ended) = (Scheduler::new(1 << 16), Vec::new());
/// let leaves = Switch { at_ns: 1_000, cpu: 1, prev_tid: 7, prev_state: Some(OffCpuState::Blocked), next_tid: 0 };
/// scheduler.switch(&leaves, &mut ended);
/// scheduler.waking(&Wakeup { at_ns: 9_000, tid: 7, waker_tid: Some(0) }, &mut ended);
/// let back = Switch { at_ns: 9_500, cpu: 0, prev_tid: 0, prev_state: Some(OffCpuState::Preempted), next_tid: 7 };
/// scheduler.switch(&back, &mut ended);
/// let wait = Wait::new(7, OffCpuState::Blocked, 1_000, 9_500);
/// let expected = Wait { woken_ns: Some(9_000), waker_tid: Some(0), ..wait };
/// assert_eq!(ended, [expected]);
/// scheduler.finish(10_000, &mut ended);
/// assert_eq!(ended.len(), 1, "dd runs");
/// ```
#[derive(Debug)]
pub struct Scheduler {
    most_tasks: usize,
    tasks: HashMap<u32, Task>,
    /// What each CPU runs, where that is known.
    cpus: BTreeMap<u32, u32>,
    now_ns: u64,
    gaps: u64,
}

impl Scheduler {
    /// Remembers at most that many tasks: of more, those that have been off the CPU for longest end as
    /// [`WaitEnd::Lost`].
    pub fn new(most_tasks: usize) -> Scheduler {
        let most_tasks = most_tasks.max(FORGOTTEN);
        Scheduler { most_tasks, tasks: HashMap::new(), cpus: BTreeMap::new(), now_ns: 0, gaps: 0 }
    }

    /// How often events were missing, or contradicted each other.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// A CPU leaves one task for another.
    pub fn switch(&mut self, switch: &Switch, ended: &mut Vec<Wait>) {
        let Switch { at_ns, cpu, prev_tid, next_tid, .. } = *switch;
        if !self.is_next(at_ns, ended) {
            return;
        }
        if !self.fits(switch) {
            self.forget(ended);
        }
        self.now_ns = at_ns;
        if cpu >= MOST_CPUS {
            return;
        }
        if prev_tid != NOBODY {
            self.leave(switch, ended);
        }
        self.cpus.insert(cpu, next_tid);
        if next_tid != NOBODY {
            self.run(next_tid, cpu, ended);
        }
    }

    /// A task is about to be woken (`sched_waking`), in the context of its waker.
    pub fn waking(&mut self, wakeup: &Wakeup, ended: &mut Vec<Wait>) {
        self.wake(wakeup, true, ended);
    }

    /// A task is woken (`sched_wakeup`, `sched_wakeup_new`). After a [`Scheduler::waking`] it changes nothing, except
    /// of a task that was still on its CPU then. Its context may be an interrupt by which one CPU asks another: the
    /// waker of `waking` counts.
    pub fn wakeup(&mut self, wakeup: &Wakeup, ended: &mut Vec<Wait>) {
        self.wake(wakeup, false, ended);
    }

    /// A task ends (`sched_process_exit`), and switches only once more. One that is not on a CPU has been missed.
    pub fn exit(&mut self, at_ns: u64, tid: u32, ended: &mut Vec<Wait>) {
        if !self.is_next(at_ns, ended) {
            return;
        }
        if matches!(self.tasks.get(&tid), Some(Task::Off { .. })) {
            self.forget(ended);
        }
        self.now_ns = at_ns;
    }

    /// Events before that moment are lost.
    pub fn gap(&mut self, at_ns: u64, ended: &mut Vec<Wait>) {
        self.forget(ended);
        self.now_ns = self.now_ns.max(at_ns);
    }

    /// The trace ends: what is still open is unfinished.
    pub fn finish(mut self, at_ns: u64, ended: &mut Vec<Wait>) {
        self.now_ns = self.now_ns.max(at_ns);
        self.close_all(WaitEnd::Unfinished, ended);
    }

    fn wake(&mut self, wakeup: &Wakeup, is_waking: bool, ended: &mut Vec<Wait>) {
        if wakeup.tid == NOBODY || !self.is_next(wakeup.at_ns, ended) {
            return;
        }
        self.now_ns = wakeup.at_ns;
        match self.tasks.get_mut(&wakeup.tid) {
            // It has set its state and not left the CPU yet. Whether it sleeps at all, its wakeup shows.
            Some(Task::Running { waking, .. }) => *waking = is_waking.then_some(*wakeup),
            Some(Task::Off { state: OffCpuState::Preempted, .. } | Task::Off { woken: Some(_), .. }) => {}
            Some(Task::Off { waking, woken, .. }) => {
                let waker_tid = waking.map_or(wakeup.waker_tid, |waking| waking.waker_tid);
                *woken = Some(Wakeup { waker_tid, ..*wakeup });
            }
            None => {
                let (since_ns, woken) = (wakeup.at_ns, Some(*wakeup));
                self.insert(
                    wakeup.tid,
                    Task::Off { since_ns, state: OffCpuState::Unknown, waking: None, woken },
                    ended,
                );
            }
        }
    }

    /// The task that leaves a CPU, on which it ran.
    fn leave(&mut self, switch: &Switch, ended: &mut Vec<Wait>) {
        let waking = match self.tasks.remove(&switch.prev_tid) {
            Some(Task::Running { waking, .. }) => waking,
            // It ran when the trace began, and was woken on its way to sleep.
            Some(Task::Off { woken, .. }) => woken,
            None => None,
        };
        let Some(state) = switch.prev_state else { return };
        let waking = waking.filter(|_| state != OffCpuState::Preempted);
        let off = Task::Off { since_ns: switch.at_ns, state, waking, woken: None };
        self.insert(switch.prev_tid, off, ended);
    }

    /// The task that a CPU runs from now on.
    fn run(&mut self, tid: u32, cpu: u32, ended: &mut Vec<Wait>) {
        if let Some(off) = self.tasks.remove(&tid) {
            ended.extend(wait(tid, off, self.now_ns, WaitEnd::Ran));
        }
        self.insert(tid, Task::Running { cpu, waking: None }, ended);
    }

    /// Whether the task that leaves the CPU is the one that ran there, and the next one does not run elsewhere.
    fn fits(&self, switch: &Switch) -> bool {
        let ran = self.cpus.get(&switch.cpu).is_none_or(|tid| *tid == switch.prev_tid);
        let prev_fits = match self.tasks.get(&switch.prev_tid) {
            Some(Task::Running { cpu, .. }) => *cpu == switch.cpu,
            // Only its wakeup is known.
            Some(Task::Off { state, .. }) => *state == OffCpuState::Unknown,
            None => true,
        };
        let next_runs = matches!(self.tasks.get(&switch.next_tid), Some(Task::Running { .. }));
        switch.cpu < MOST_CPUS && ran && prev_fits && (!next_runs || switch.next_tid == switch.prev_tid)
    }

    /// Whether an event is no older than those before it. An older one shows that others are missing, too, and is
    /// ignored.
    fn is_next(&mut self, at_ns: u64, ended: &mut Vec<Wait>) -> bool {
        let is_next = at_ns >= self.now_ns;
        if !is_next {
            self.forget(ended);
        }
        is_next
    }

    fn forget(&mut self, ended: &mut Vec<Wait>) {
        self.gaps += 1;
        self.close_all(WaitEnd::Lost, ended);
        self.cpus.clear();
    }

    fn close_all(&mut self, end: WaitEnd, ended: &mut Vec<Wait>) {
        let first = ended.len();
        let now_ns = self.now_ns;
        ended.extend(self.tasks.drain().filter_map(|(tid, task)| wait(tid, task, now_ns, end)));
        ended[first..].sort_by_key(|wait| (wait.start_ns, wait.tid));
    }

    fn insert(&mut self, tid: u32, task: Task, ended: &mut Vec<Wait>) {
        if self.tasks.len() >= self.most_tasks {
            self.forget_some(ended);
        }
        self.tasks.insert(tid, task);
    }

    /// Tasks that run are as many as there are CPUs.
    fn forget_some(&mut self, ended: &mut Vec<Wait>) {
        let off = self.tasks.iter().filter_map(|(tid, task)| match task {
            Task::Off { since_ns, .. } => Some((*since_ns, *tid)),
            Task::Running { .. } => None,
        });
        let mut oldest: Vec<(u64, u32)> = off.collect();
        oldest.sort_unstable();
        oldest.truncate(self.most_tasks / FORGOTTEN);
        for (_, tid) in oldest {
            let forgotten = self.tasks.remove(&tid).and_then(|task| wait(tid, task, self.now_ns, WaitEnd::Lost));
            ended.extend(forgotten);
        }
    }
}

/// The wait that ends; none of a task that ran.
fn wait(tid: u32, task: Task, end_ns: u64, end: WaitEnd) -> Option<Wait> {
    let Task::Off { since_ns, state, woken, .. } = task else { return None };
    Some(Wait {
        woken_ns: woken.map(|woken| woken.at_ns),
        waker_tid: woken.and_then(|woken| woken.waker_tid),
        end,
        ..Wait::new(tid, state, since_ns, end_ns)
    })
}

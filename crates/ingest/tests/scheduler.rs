//! Waits of tasks from the scheduler's events, against what the events were made from.

use std::collections::BTreeMap;

use ingest::{OffCpuState, Scheduler, Switch, Wait, WaitEnd, Wakeup};
use proptest::prelude::*;

use OffCpuState::{Blocked, Preempted, Sleeping, Unknown};

/// An event of a trace.
#[derive(Debug, Clone, Copy)]
enum Event {
    Switch(Switch),
    Waking(Wakeup),
    Wakeup(Wakeup),
    Exit(u64, u32),
}

/// A CPU leaves a task, in that state, for another.
fn switch(at_ns: u64, cpu: u32, prev_tid: u32, prev_state: OffCpuState, next_tid: u32) -> Event {
    Event::Switch(Switch { at_ns, cpu, prev_tid, prev_state: Some(prev_state), next_tid })
}

fn ends(at_ns: u64, cpu: u32, prev_tid: u32) -> Event {
    Event::Switch(Switch { at_ns, cpu, prev_tid, prev_state: None, next_tid: 0 })
}

fn waking(at_ns: u64, tid: u32, waker: u32) -> Event {
    Event::Waking(Wakeup { at_ns, tid, waker_tid: Some(waker) })
}

fn wakeup(at_ns: u64, tid: u32) -> Event {
    Event::Wakeup(Wakeup { at_ns, tid, waker_tid: Some(0) })
}

fn feed(scheduler: &mut Scheduler, event: Event, ended: &mut Vec<Wait>) {
    match event {
        Event::Switch(switch) => scheduler.switch(&switch, ended),
        Event::Waking(wakeup) => scheduler.waking(&wakeup, ended),
        Event::Wakeup(wakeup) => scheduler.wakeup(&wakeup, ended),
        Event::Exit(at_ns, tid) => scheduler.exit(at_ns, tid, ended),
    }
}

/// All waits of a trace that ends then, and how many gaps it has.
fn waits(events: &[Event], end_ns: u64) -> (Vec<Wait>, u64) {
    let (mut scheduler, mut ended) = (Scheduler::new(1000), Vec::new());
    events.iter().for_each(|event| feed(&mut scheduler, *event, &mut ended));
    let gaps = scheduler.gaps();
    scheduler.finish(end_ns, &mut ended);
    (ended, gaps)
}

fn woken(wait: Wait, woken_ns: u64, waker: u32) -> Wait {
    Wait { woken_ns: Some(woken_ns), waker_tid: Some(waker), ..wait }
}

#[test]
fn a_sleep_is_split_from_the_run_queue_wait_after_it() {
    let events = [
        switch(10, 0, 7, Blocked, 8),
        switch(12, 1, 9, Sleeping, 0),
        waking(20, 7, 8),
        waking(21, 9, 0),
        switch(22, 1, 0, Preempted, 9),
        switch(25, 0, 8, Preempted, 7),
        switch(30, 0, 7, Blocked, 8),
    ];
    let (waits, gaps) = waits(&events, 40);
    let expected = [
        woken(Wait::new(9, Sleeping, 12, 22), 21, 0),
        woken(Wait::new(7, Blocked, 10, 25), 20, 8),
        Wait::new(8, Preempted, 25, 30),
        Wait { end: WaitEnd::Unfinished, ..Wait::new(7, Blocked, 30, 40) },
    ];
    assert_eq!((waits.as_slice(), gaps), (&expected[..], 0));
    assert_eq!(waits[2].runnable_since_ns(), Some(25));
}

#[test]
fn of_a_sleep_from_before_the_trace_the_time_after_its_wakeup_is_known() {
    let events = [waking(20, 7, 3), waking(21, 7, 4), switch(30, 0, 0, Preempted, 7), switch(31, 1, 0, Preempted, 8)];
    let expected = woken(Wait::new(7, Unknown, 20, 30), 20, 3);
    assert_eq!(waits(&events, 40), (vec![expected], 0));
}

#[test]
fn a_task_that_is_woken_on_its_way_to_sleep_has_the_waker_and_the_time_of_its_wakeup() {
    let slept = [waking(9, 7, 3), switch(10, 0, 7, Sleeping, 8), wakeup(11, 7), switch(12, 1, 0, Preempted, 7)];
    assert_eq!(waits(&slept, 12).0[0], woken(Wait::new(7, Sleeping, 10, 12), 11, 3));
    // The wakeup came before it left the CPU: it went on, and slept later for something else.
    let events = [switch(5, 0, 0, Preempted, 7), waking(9, 7, 3), wakeup(9, 7), switch(50, 0, 7, Sleeping, 8)];
    let later = [wakeup(60, 7), switch(61, 0, 8, Sleeping, 7)];
    let (waits, _) = waits(&[&events[..], &later].concat(), 61);
    assert_eq!(waits[0], woken(Wait::new(7, Sleeping, 50, 61), 60, 0));
}

#[test]
fn a_sleep_without_its_wakeup_has_no_waker() {
    let events = [switch(10, 0, 7, Sleeping, 0), switch(20, 0, 0, Preempted, 7)];
    assert_eq!(waits(&events, 20), (vec![Wait::new(7, Sleeping, 10, 20)], 0));
}

#[test]
fn a_task_that_ends_has_no_further_wait() {
    let events = [switch(5, 0, 0, Preempted, 7), Event::Exit(9, 7), ends(10, 0, 7)];
    assert_eq!(waits(&events, 40), (Vec::new(), 0));
    let reused = [wakeup(20, 7), switch(22, 1, 0, Preempted, 7)];
    assert_eq!(waits(&[&events[..], &reused].concat(), 40).0, [woken(Wait::new(7, Unknown, 20, 22), 20, 0)]);
}

#[test]
fn what_contradicts_earlier_events_ends_all_that_is_open() {
    let asleep = [switch(10, 0, 7, Blocked, 8), switch(15, 1, 9, Sleeping, 5)];
    let lost = |tid, state, start_ns| Wait { end: WaitEnd::Lost, ..Wait::new(tid, state, start_ns, 15) };
    let expected = [lost(7, Blocked, 10), lost(9, Sleeping, 15)];
    let contradictions = [
        // Another task leaves the CPU than the one that ran there; a sleeper leaves it, runs twice, or ends.
        switch(20, 0, 6, Blocked, 4),
        switch(20, 2, 7, Blocked, 4),
        switch(20, 2, 4, Blocked, 8),
        Event::Exit(20, 7),
        // An older event.
        waking(14, 7, 3),
    ];
    for contradiction in contradictions {
        let (mut scheduler, mut ended) = (Scheduler::new(1000), Vec::new());
        asleep.iter().chain([&contradiction]).for_each(|event| feed(&mut scheduler, *event, &mut ended));
        assert_eq!((ended.as_slice(), scheduler.gaps()), (&expected[..], 1), "{contradiction:?}");
    }
}

#[test]
fn a_gap_is_no_end_of_a_wait() {
    let (mut scheduler, mut ended) = (Scheduler::new(1000), Vec::new());
    feed(&mut scheduler, switch(10, 0, 7, Blocked, 8), &mut ended);
    scheduler.gap(90, &mut ended);
    assert_eq!(ended, [Wait { end: WaitEnd::Lost, ..Wait::new(7, Blocked, 10, 10) }]);
    feed(&mut scheduler, switch(95, 0, 9, Sleeping, 7), &mut ended);
    feed(&mut scheduler, switch(99, 0, 7, Sleeping, 9), &mut ended);
    assert_eq!(ended[1..], [Wait::new(9, Sleeping, 95, 99)], "nothing is known of 7 from 10 to 95");
}

#[test]
fn of_too_many_tasks_those_that_sleep_for_longest_are_forgotten() {
    let (mut scheduler, mut ended) = (Scheduler::new(100), Vec::new());
    for tid in 1..=1000 {
        feed(&mut scheduler, switch(u64::from(tid), 0, tid, Sleeping, tid + 1), &mut ended);
    }
    assert!(ended.iter().all(|wait| wait.end == WaitEnd::Lost));
    assert!((900..=1000).contains(&ended.len()), "{}", ended.len());
    assert!(ended.is_sorted_by_key(|wait| wait.tid), "the oldest first");
    assert_eq!(scheduler.gaps(), 0);
}

/// A machine that some tasks run on, all of which sleep at first.
struct Machine {
    now_ns: u64,
    running: [u32; 2],
    /// Since when a task is off its CPU, how, and by whom and when it was woken.
    off: BTreeMap<u32, Wait>,
    events: Vec<Event>,
    waits: Vec<Wait>,
    /// By task: time on a CPU, and when it came to its CPU.
    ran_ns: BTreeMap<u32, u64>,
    since_ns: BTreeMap<u32, u64>,
}

const TASKS: u32 = 5;

impl Machine {
    /// Each task leaves a CPU once, so that all is known of it.
    fn new() -> Machine {
        let asleep = |tid| (tid, Wait::new(tid, Sleeping, u64::from(tid), 0));
        let events = (1..=TASKS).map(|tid| {
            let next = if tid == TASKS { 0 } else { tid + 1 };
            switch(u64::from(tid), 0, tid, Sleeping, next)
        });
        Machine {
            now_ns: u64::from(TASKS),
            running: [0; 2],
            off: (1..=TASKS).map(asleep).collect(),
            events: events.collect(),
            waits: Vec::new(),
            ran_ns: BTreeMap::new(),
            since_ns: BTreeMap::new(),
        }
    }

    fn wake(&mut self, choice: u32) {
        let tid = choice % TASKS + 1;
        let waker = if choice & 8 == 0 { 0 } else { self.running[(choice & 1) as usize] };
        let Some(off) = self.off.get_mut(&tid).filter(|off| off.runnable_since_ns().is_none()) else { return };
        *off = woken(*off, self.now_ns, waker);
        self.events.push(waking(self.now_ns, tid, waker));
        self.events.push(wakeup(self.now_ns, tid));
    }

    fn switch(&mut self, choice: u32) {
        let cpu = choice & 1;
        let runnable: Vec<u32> =
            self.off.iter().filter(|(_, off)| off.runnable_since_ns().is_some()).map(|(tid, _)| *tid).collect();
        let next = runnable.get(choice as usize / 2 % (runnable.len() + 1)).copied().unwrap_or(0);
        let prev = std::mem::replace(&mut self.running[cpu as usize], next);
        if prev == next {
            return;
        }
        let state = [Blocked, Sleeping, Preempted][choice as usize / 32 % 3];
        self.events.push(switch(self.now_ns, cpu, prev, state, next));
        if prev != 0 {
            *self.ran_ns.entry(prev).or_default() += self.now_ns - self.since_ns[&prev];
            self.off.insert(prev, Wait::new(prev, state, self.now_ns, 0));
        }
        if let Some(off) = self.off.remove(&next) {
            self.waits.push(Wait { end_ns: self.now_ns, ..off });
            self.since_ns.insert(next, self.now_ns);
        }
    }

    /// The waits that are still open, as of the end.
    fn end(&mut self) {
        let open = self.off.values().map(|off| Wait { end_ns: self.now_ns, end: WaitEnd::Unfinished, ..*off });
        let first = self.waits.len();
        self.waits.extend(open);
        self.waits[first..].sort_by_key(|wait| (wait.start_ns, wait.tid));
        for tid in self.running.into_iter().filter(|tid| *tid != 0) {
            *self.ran_ns.entry(tid).or_default() += self.now_ns - self.since_ns[&tid];
        }
    }
}

fn simulated(steps: &[(u64, bool, u32)]) -> Machine {
    let mut machine = Machine::new();
    for &(later_ns, wakes, choice) in steps {
        machine.now_ns += later_ns;
        if wakes { machine.wake(choice) } else { machine.switch(choice) }
    }
    machine.end();
    machine
}

fn steps() -> impl Strategy<Value = Vec<(u64, bool, u32)>> {
    proptest::collection::vec((0..50u64, any::<bool>(), 0..1000u32), 0..300)
}

fn by_task(waits: &[Wait]) -> BTreeMap<u32, Vec<Wait>> {
    let mut tasks: BTreeMap<u32, Vec<Wait>> = BTreeMap::new();
    waits.iter().for_each(|wait| tasks.entry(wait.tid).or_default().push(*wait));
    tasks.values_mut().for_each(|waits| waits.sort_by_key(|wait| (wait.start_ns, wait.end_ns)));
    tasks
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_waits_are_found_and_fill_what_their_tasks_did_not_run(steps in steps()) {
        let machine = simulated(&steps);
        let (found, gaps) = waits(&machine.events, machine.now_ns);
        prop_assert_eq!(&found, &machine.waits);
        prop_assert_eq!(gaps, 0);
        for (tid, waits) in by_task(&found) {
            let off_ns: u64 = waits.iter().map(|wait| wait.end_ns - wait.start_ns).sum();
            let ran_ns = machine.ran_ns.get(&tid).copied().unwrap_or_default();
            prop_assert_eq!(off_ns + ran_ns, machine.now_ns - u64::from(tid), "the life of {}", tid);
        }
    }

    #[test]
    fn waits_of_a_task_never_overlap_whatever_is_lost_or_swapped(
        steps in steps(),
        lost in proptest::collection::vec(any::<proptest::sample::Index>(), 0..20),
        swapped in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4),
    ) {
        let machine = simulated(&steps);
        let mut events = machine.events;
        for index in &lost {
            if !events.is_empty() {
                events.remove(index.index(events.len()));
            }
        }
        for index in &swapped {
            if events.len() > 1 {
                let at = index.index(events.len() - 1);
                events.swap(at, at + 1);
            }
        }
        let (found, _) = waits(&events, machine.now_ns);
        for waits in by_task(&found).values() {
            prop_assert!(waits.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns), "{:?}", waits);
            let is_ordered = |wait: &Wait| wait.woken_ns.is_none_or(|woken| wait.start_ns <= woken
                && woken <= wait.end_ns);
            prop_assert!(waits.iter().all(|wait| wait.start_ns <= wait.end_ns && is_ordered(wait)), "{:?}", waits);
        }
    }
}

//! Simulates a plan, tick by tick: who waits for a lock waits until it is released, a client until its server answers,
//! a request until it completes. So it is known by construction who waited for whom at each moment.

use std::collections::VecDeque;

use crate::plan::{Act, Plan, Resource, Stages};
use crate::world::{Life, Served, Span, Wait, What, World};

#[derive(Debug, Clone)]
enum Step {
    Run(u64),
    Preempted(u64),
    Sleep {
        what: What,
        ticks: u64,
        late: u64,
    },
    Acquire {
        resource: usize,
        late: u64,
    },
    /// Takes a lock after a wait for it, or waits again.
    Retry {
        resource: usize,
        late: u64,
    },
    Release {
        resource: usize,
    },
    Ask {
        resource: usize,
        late: u64,
        inner: Vec<Step>,
    },
    Begin {
        is_call: bool,
    },
    End,
}

/// What a server is asked for.
#[derive(Debug)]
struct Request {
    client: usize,
    asked: u64,
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    /// For so many ticks.
    Runs(u64),
    Asleep(u64),
    Queued(u64),
    Gone,
}

#[derive(Debug)]
struct Task {
    state: State,
    todo: VecDeque<Step>,
    wait: Option<Wait>,
    late: u64,
    requests: VecDeque<Request>,
}

/// A wait that only another task ends.
const UNTIL_WOKEN: u64 = u64::MAX;

struct Simulation {
    now: u64,
    world: World,
    tasks: Vec<Task>,
    queues: Vec<VecDeque<usize>>,
    /// Of each lock, whether who comes next may take it.
    free: Vec<bool>,
}

/// What a task has: resources up to the given one. It only waits for later ones, so that none waits for itself. Threads
/// of the kernel wait for nothing in user space.
#[derive(Debug, Clone, Copy)]
struct Has {
    resources: usize,
    is_kernel: bool,
}

impl Has {
    /// The resource that is meant, of those that the task may wait for.
    fn next(self, number: usize, resources: &[Resource]) -> Option<usize> {
        let may_wait = |of: Resource| !self.is_kernel || of.is_kernel_lock() || of == Resource::Journal;
        let free: Vec<usize> = (self.resources..resources.len()).filter(|of| may_wait(resources[*of])).collect();
        free.get(number % free.len().max(1)).copied()
    }
}

fn steps(act: &Act, has: Has, resources: &[Resource], steps_of: &mut Vec<Step>) {
    let sleep = |what: What, ticks: u64, late: u64| [Step::Sleep { what, ticks, late }, Step::Run(1)];
    match act {
        Act::Run(ticks) => steps_of.push(Step::Run(*ticks)),
        Act::Preempted(ticks) => steps_of.extend([Step::Preempted(*ticks), Step::Run(1)]),
        Act::Disk { stages: Stages { before, queue, device, throttled }, late } => {
            let what = What::Disk { before: *before, queue: *queue, throttled: *throttled };
            steps_of.extend(sleep(what, before + queue + device, *late));
        }
        Act::Log { journal, ticks, late } => steps_of.extend(sleep(What::Log { journal: *journal }, *ticks, *late)),
        Act::With { resource, late, inner } => {
            let Some(resource) = has.next(*resource, resources) else {
                return inner.iter().for_each(|act| steps(act, has, resources, steps_of));
            };
            let is_kernel = has.is_kernel || resources[resource] == Resource::Journal;
            let mut within = vec![Step::Run(1)];
            let inner_has = Has { resources: resource + 1, is_kernel };
            inner.iter().for_each(|act| steps(act, inner_has, resources, &mut within));
            if matches!(resources[resource], Resource::Server | Resource::Journal) {
                steps_of.push(Step::Ask { resource, late: *late, inner: within });
            } else {
                steps_of.push(Step::Acquire { resource, late: *late });
                steps_of.extend(within);
                steps_of.push(Step::Release { resource });
            }
            steps_of.push(Step::Run(1));
        }
    }
}

fn is_call(act: &Act, resources: &[Resource]) -> bool {
    match act {
        Act::With { resource, .. } => {
            let of = resources[resource % resources.len()];
            of.is_kernel_lock() || of == Resource::Journal
        }
        _ => true,
    }
}

fn todo(acts: &[Act], resources: &[Resource]) -> VecDeque<Step> {
    let mut all = vec![Step::Preempted(1), Step::Run(1)];
    for act in acts {
        all.extend([Step::Begin { is_call: is_call(act, resources) }, Step::Run(1)]);
        steps(act, Has { resources: 0, is_kernel: false }, resources, &mut all);
        all.extend([Step::End, Step::Run(1)]);
    }
    all.push(Step::Preempted(1));
    all.into()
}

pub(crate) fn simulate(plan: &Plan) -> World {
    let task = |state, todo| Task { state, todo, wait: None, late: 0, requests: VecDeque::new() };
    let clients = plan.tasks.iter().map(|(begin, acts)| task(State::Runs(*begin), todo(acts, &plan.resources)));
    let servers = plan.resources.iter().map(|_| task(State::Runs(0), VecDeque::new()));
    let tasks: Vec<Task> = clients.chain(servers).collect();
    let world = World {
        clock: plan.clock,
        subject: plan.subject,
        resources: plan.resources.clone(),
        lives: vec![Life::default(); tasks.len()],
        clients: plan.tasks.len(),
        owners: vec![Vec::new(); plan.resources.len()],
        end: 0,
    };
    let queues = plan.resources.iter().map(|_| VecDeque::new()).collect();
    let free = vec![true; plan.resources.len()];
    let mut simulation = Simulation { now: 0, world, tasks, queues, free };
    while simulation.settle() {
        simulation.tick();
    }
    simulation.end()
}

impl Simulation {
    /// Does all that takes no time. Returns whether a task of the plan is still there.
    fn settle(&mut self) -> bool {
        while let Some(task) = self.next() {
            self.step(task);
        }
        self.tasks[..self.world.clients].iter().any(|task| task.state != State::Gone)
    }

    /// Who releases something comes before those that wait for something: no two events are really at the same time.
    fn next(&self) -> Option<usize> {
        let waits = |task: &Task| {
            matches!(task.todo.front(), Some(Step::Acquire { .. } | Step::Retry { .. } | Step::Ask { .. }))
        };
        let ready = |task: &&usize| self.tasks[**task].state == State::Runs(0);
        let all: Vec<usize> = (0..self.tasks.len()).collect();
        let ready: Vec<usize> = all.iter().filter(ready).copied().collect();
        ready.iter().find(|task| !waits(&self.tasks[**task])).or(ready.first()).copied()
    }

    fn tick(&mut self) {
        self.now += 1;
        for task in 0..self.tasks.len() {
            match &mut self.tasks[task].state {
                State::Runs(ticks) => *ticks -= 1,
                State::Asleep(ticks) if *ticks != UNTIL_WOKEN => {
                    *ticks -= 1;
                    if *ticks == 0 {
                        self.wake(task, None);
                    }
                }
                State::Queued(ticks) => {
                    *ticks -= 1;
                    if *ticks == 0 {
                        self.go_on(task);
                    }
                }
                State::Asleep(_) | State::Gone => {}
            }
        }
    }

    fn step(&mut self, task: usize) {
        let Some(step) = self.tasks[task].todo.pop_front() else { return self.next_request(task) };
        match step {
            Step::Run(ticks) => self.tasks[task].state = State::Runs(ticks),
            Step::Preempted(ticks) => {
                self.sleep(task, What::Cpu, 0, ticks);
                self.wake(task, None);
            }
            Step::Sleep { what, ticks, late } => self.sleep(task, what, ticks, late),
            Step::Acquire { resource, .. } if self.free[resource] => self.give(resource, task),
            Step::Acquire { resource, late } => {
                self.queues[resource].push_back(task);
                self.wait_for(task, resource, late);
            }
            Step::Retry { resource, .. } if self.free[resource] => {
                self.queues[resource].retain(|waiter| *waiter != task);
                self.give(resource, task);
            }
            Step::Retry { resource, late } => self.wait_for(task, resource, late),
            Step::Release { resource } => self.release(task, resource),
            Step::Ask { resource, late, inner } => self.ask(task, resource, late, inner),
            Step::Begin { is_call } => {
                self.world.lives[task].acts.push(Span { start: self.now, end: self.now, is_call });
            }
            Step::End => self.world.lives[task].acts.last_mut().expect("one began").end = self.now,
        }
    }

    fn give(&mut self, resource: usize, task: usize) {
        self.free[resource] = false;
        self.world.owners[resource].push((self.now, Some(task)));
    }

    fn wait_for(&mut self, task: usize, resource: usize, late: u64) {
        let found = self.world.owner(resource, self.now).expect("somebody has the lock");
        self.sleep(task, What::Lock { resource, found }, UNTIL_WOKEN, late);
        if self.world.resources[resource] == Resource::UnfairLock {
            self.tasks[task].todo.push_front(Step::Retry { resource, late });
        }
    }

    /// Whom a waiter waits for, until it runs that gets the lock, is this one, also while the lock is free.
    fn release(&mut self, task: usize, resource: usize) {
        let is_unfair = self.world.resources[resource] == Resource::UnfairLock;
        let next = if is_unfair { self.queues[resource].front().copied() } else { self.queues[resource].pop_front() };
        self.world.owners[resource].push((self.now, next));
        self.free[resource] = is_unfair || next.is_none();
        next.into_iter().for_each(|next| self.wake(next, Some(task)));
    }

    fn ask(&mut self, client: usize, resource: usize, late: u64, steps: Vec<Step>) {
        let server = self.world.clients + resource;
        self.tasks[server].requests.push_back(Request { client, asked: self.now, steps });
        let what = match self.world.resources[resource] {
            Resource::Journal => What::Commit { thread: server },
            _ => What::Answer { server },
        };
        self.sleep(client, what, UNTIL_WOKEN, late);
        if self.tasks[server].wait.is_some_and(|wait| wait.what == What::Message) {
            self.tasks[server].late = late;
            self.wake(server, Some(client));
        }
    }

    /// A server answers the last request, if there is one, and takes up the next one.
    fn next_request(&mut self, server: usize) {
        if server < self.world.clients {
            self.tasks[server].state = State::Gone;
            return;
        }
        if let Some(served) = self.world.lives[server].served.last_mut().filter(|served| served.sent == 0) {
            served.sent = self.now;
            let client = served.client;
            self.wake(client, Some(server));
        }
        match self.tasks[server].requests.pop_front() {
            Some(Request { client, asked, steps }) => {
                self.tasks[server].todo = steps.into();
                self.world.lives[server].served.push(Served { client, asked, taken: self.now, sent: 0 });
            }
            None => self.sleep(server, What::Message, UNTIL_WOKEN, 0),
        }
    }

    fn sleep(&mut self, task: usize, what: What, ticks: u64, late: u64) {
        let wait = Wait { what, start: self.now, woken: self.now, end: self.now, waker: None };
        let task = &mut self.tasks[task];
        (task.wait, task.late, task.state) = (Some(wait), late, State::Asleep(ticks));
    }

    fn wake(&mut self, task: usize, waker: Option<usize>) {
        let asleep = &mut self.tasks[task];
        if let (State::Asleep(_), Some(wait)) = (&asleep.state, &mut asleep.wait) {
            (wait.woken, wait.waker) = (self.now, waker);
            asleep.state = State::Queued(asleep.late);
            if asleep.late == 0 {
                self.go_on(task);
            }
        }
    }

    fn go_on(&mut self, task: usize) {
        self.tasks[task].state = State::Runs(0);
        let wait = self.tasks[task].wait.take().map(|wait| Wait { end: self.now, ..wait });
        self.world.lives[task].waits.extend(wait.filter(|wait| wait.start < wait.end));
    }

    /// Timers end what servers still wait for, so that their last row is recorded.
    fn end(mut self) -> World {
        self.now += 2;
        (0..self.tasks.len()).for_each(|task| self.wake(task, None));
        self.world.end = self.now + 1;
        self.world
    }
}

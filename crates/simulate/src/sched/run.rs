//! Runs the mix, and reports it to the observer.

use model::metric::{Semantics, Unit};

use super::layer::{Due, Layer};
use super::mix::{Ended, Mix, Role};
use super::settings;
use super::tally::Tally;
use crate::liveness::{Hang, Waiter};
use crate::observer::{Metric, Observer, Operation, Wait};
use crate::parameter::{SettingError, Settings};
use crate::policy::Outcome;
use crate::random::Random;

const fn gauge(name: &'static str) -> Metric {
    Metric { name, instance: "", unit: Unit::Count, semantics: Semantics::Gauge }
}

const METRICS: &[Metric] = &[
    gauge("sched.requests_sync"),
    gauge("sched.requests_async"),
    gauge("sched.waiting_for_request"),
    gauge("sched.in_scheduler"),
    gauge("sched.at_device"),
];

/// Runs a policy.
pub(super) fn run(
    policy: &str,
    settings: &Settings,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<Outcome, SettingError> {
    let scheduler = settings::Scheduler::of_policy(policy)?;
    let shape = settings::shape(settings)?;
    let numbers = settings::numbers(policy, settings)?;
    let service = settings::service(settings);
    let mut layer = Layer::new(shape, settings::elevator(scheduler, settings));
    let mut random = Random::new(seed);
    // A separate sequence: service times do not depend on what the tasks do.
    let mut device_random = Random::new(random.number());
    let mut mix = Mix::new(numbers, random, &mut layer);
    observer.metrics(METRICS);
    let mut counts = [0_u32; 4];
    for (number, role) in (0..).zip(mix.roles()) {
        let count = &mut counts[role as usize];
        *count += 1;
        let name = if role == Role::Journal { role.name().to_owned() } else { format!("{} {count}", role.name()) };
        observer.task(number + 1, &name);
    }
    observer.phase("run", true, 0);
    let mut run = Run { observer, tally: Tally::default(), next_sample_ns: 0, slow_ns: shape.slow_ns };
    let ends_ns = settings.whole("duration");
    let hang = run.run(&mut layer, &mut mix, ends_ns, &mut |_, _| service.draw_ns(&mut device_random));
    let ended_ns = if hang.is_some() { layer.now_ns() } else { ends_ns };
    for (task, _, frames, start_ns) in mix.waiting() {
        let (waker_tid, request) = (None, None);
        run.observer.wait(&Wait { tid: task + 1, start_ns, end_ns: ended_ns, frames, waker_tid, request });
    }
    let events = layer.agenda.events();
    Ok(Outcome { ended_ns, hang, events, figures: run.tally.figures(), histograms: Vec::new() })
}

struct Run<'a> {
    observer: &'a mut dyn Observer,
    tally: Tally,
    next_sample_ns: u64,
    slow_ns: u64,
}

impl Run<'_> {
    fn run(
        &mut self,
        layer: &mut Layer,
        mix: &mut Mix,
        ends_ns: u64,
        draw: &mut dyn FnMut(model::block::Kind, u32) -> u64,
    ) -> Option<Hang> {
        loop {
            let Some(due) = layer.agenda.next_due() else { return Some(hang(layer, mix)) };
            if layer.now_ns() > ends_ns {
                return None;
            }
            self.sample(layer);
            match due {
                Due::Task(task) => mix.due(task, layer),
                Due::Done(id) => {
                    let finished = layer.complete(id);
                    self.tally.request(&finished, self.slow_ns);
                    self.observer.request(&finished.record);
                    let queued_ns = finished.record.queued_ns.unwrap_or(0);
                    for bio in &finished.bios {
                        mix.done(bio, finished.record.request, queued_ns, layer);
                    }
                }
                Due::Look => layer.look(),
                Due::Kick => {}
            }
            while let Some((bio, since_ns)) = layer.next_granted() {
                mix.granted(&bio, since_ns, layer);
            }
            layer.dispatch(draw);
            self.report(mix, layer.now_ns());
        }
    }

    fn report(&mut self, mix: &mut Mix, now_ns: u64) {
        for ended in mix.ended.drain(..) {
            match ended {
                Ended::Operation { task, class, start_ns, bytes } => {
                    if class == "fsync" {
                        self.tally.fsync(now_ns - start_ns);
                    }
                    self.observer.operation(Operation { class, tid: task + 1, start_ns, end_ns: now_ns, bytes });
                }
                Ended::Wait { task, start_ns, frames, waker, request } => {
                    let waker_tid = waker.map(|waker| waker + 1);
                    let tid = task + 1;
                    self.observer.wait(&Wait { tid, start_ns, end_ns: now_ns, frames, waker_tid, request });
                }
            }
        }
    }

    fn sample(&mut self, layer: &Layer) {
        let now_ns = layer.now_ns();
        let every_ns = self.observer.sample_every_ns().max(1);
        while self.next_sample_ns <= now_ns {
            let [asynchronous, sync] = layer.pool.used();
            let waiting = layer.pool.waiters().count();
            let counts = [
                u64::from(sync),
                u64::from(asynchronous),
                waiting as u64,
                layer.in_scheduler() as u64,
                u64::from(layer.device.inside()),
            ];
            self.observer.sample(self.next_sample_ns, &counts.map(|count| Some(count as i64)));
            self.next_sample_ns += every_ns;
        }
    }
}

/// Nothing is due: which task waits for which.
fn hang(layer: &Layer, mix: &Mix) -> Hang {
    let mut counts = [0_u32; 4];
    let names: Vec<String> = mix
        .roles()
        .map(|role| {
            counts[role as usize] += 1;
            format!("{} {}", role.name(), counts[role as usize])
        })
        .collect();
    let journal = names.last().cloned();
    let waiters = mix.waiting().map(|(task, role, frames, since_ns)| Waiter {
        task: names[task as usize].clone(),
        awaits: frames[0].to_owned(),
        from: journal.iter().filter(|_| role == Role::Fsync).cloned().collect(),
        since_ns,
    });
    Hang { at_ns: layer.now_ns(), waiters: waiters.collect() }
}

/// Runs until nothing is due, without an observer.
#[cfg(test)]
pub(super) fn until_hang(layer: &mut Layer, mix: &mut Mix) -> Option<Hang> {
    let mut observer = crate::observer::Unobserved;
    let mut run = Run { observer: &mut observer, tally: Tally::default(), next_sample_ns: 0, slow_ns: u64::MAX };
    run.run(layer, mix, u64::MAX, &mut |_, _| 1)
}

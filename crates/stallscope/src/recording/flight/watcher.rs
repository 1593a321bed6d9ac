//! Watches samples and traced rows at their source: a trigger must not wait for the archive's disk.

use std::sync::{Mutex, MutexGuard, PoisonError};

use condition::{Condition, ConditionWatch, Met};
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::stall::{StallRecord, Traced};
use record::{Attention, BlockedNow};

use super::limiter::{Keeping, Limiter, Trigger, Verdict};
use crate::recording::tap::Tap;

/// Maximum verdicts that wait to be reported.
const VERDICTS: usize = 256;

/// The conditions, and what to keep for them.
pub struct Watcher(Mutex<Inner>);

struct Inner {
    watch: ConditionWatch,
    limiter: Limiter,
    verdicts: Vec<(Trigger, Verdict)>,
}

impl Watcher {
    /// Watches for `conditions`.
    pub fn new(conditions: Vec<Condition>, keep_after_ns: u64, keep_every_ns: u64) -> Watcher {
        let limiter = Limiter::new(keep_after_ns, keep_every_ns, conditions.len());
        Watcher(Mutex::new(Inner { watch: ConditionWatch::new(conditions), limiter, verdicts: Vec::new() }))
    }

    /// A user requested to keep the ring.
    pub fn save_requested(&self, at_ns: u64, reason: &str) {
        let trigger = Trigger { at_ns, word: "asked".to_owned(), reason: reason.to_owned(), by_hand: true };
        self.lock().trigger(trigger);
    }

    /// The shortest stall that meets a condition.
    pub fn shortest_stall_ns(&self) -> Option<u64> {
        self.lock().watch.shortest_stall_ns()
    }

    /// The triggers since the last call, with their verdicts.
    pub fn verdicts(&self) -> Vec<(Trigger, Verdict)> {
        std::mem::take(&mut self.lock().verdicts)
    }

    /// The keeping that is due.
    pub fn due(&self, now_ns: u64) -> Option<Keeping> {
        self.lock().limiter.due(now_ns)
    }

    /// The keeping that is pending.
    pub fn rest(&self) -> Option<Keeping> {
        self.lock().limiter.rest()
    }

    /// Triggers that came too soon after another.
    pub fn too_soon(&self) -> u64 {
        self.lock().limiter.too_soon()
    }

    /// Conditions that nothing sampled so far can meet.
    pub fn unmatched(&self) -> Vec<Condition> {
        self.lock().watch.unmatched().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn trigger(&mut self, trigger: Trigger) {
        let verdict = self.limiter.trigger(trigger.clone());
        // The first verdict of a storm matters; the rest may be dropped.
        if self.verdicts.len() < VERDICTS {
            self.verdicts.push((trigger, verdict));
        }
    }

    fn are_met(&mut self, all: Vec<Met>) {
        for Met { condition, at_ns, reason } in all {
            let word = self.word(condition);
            self.trigger(Trigger { at_ns, word, reason, by_hand: false });
        }
    }

    fn word(&self, condition: usize) -> String {
        self.watch.conditions()[condition].word()
    }
}

impl Tap for Watcher {
    fn sample(&self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]) {
        let mut inner = self.lock();
        inner.watch.describe(descriptors);
        for level in inner.watch.sample(header, changes) {
            let word = inner.word(level.condition);
            let verdict = inner.limiter.condition(&level, &word, header.at.monotonic_ns);
            inner.verdicts.extend(verdict);
        }
    }

    fn renumbered(&self) {
        self.lock().watch.forget_metrics();
    }

    fn traced(&self, traced: &Traced) {
        let mut inner = self.lock();
        let met = inner.watch.stalls(&traced.stalls, |tid| name_of(tid, traced));
        inner.are_met(met);
    }

    /// Of those that a condition is about.
    fn wants_lasting_waits(&self) -> Option<Attention> {
        self.shortest_stall_ns().map(|_| Attention::Unattended)
    }

    fn lasting_waits(&self, rows: Vec<StallRecord>) {
        let mut inner = self.lock();
        let now_ns = rows.iter().map(StallRecord::end_ns).max().unwrap_or(0);
        let met = inner.watch.lasting_waits(now_ns, &rows, |tid| name_of(tid, &Traced::default()));
        inner.are_met(met);
    }

    fn blocked(&self, now_ns: u64, tasks: &[BlockedNow]) {
        let mut inner = self.lock();
        let name_of = |tid| tasks.iter().find(|task| task.tid == tid).map(|task| task.name.clone());
        let blocked = tasks.iter().map(|task| (task.tid, task.since_ns));
        let met = inner.watch.blocked(now_ns, blocked, name_of);
        inner.are_met(met);
    }
}

/// A thread's name: from these rows, or from /proc if it was emitted earlier.
fn name_of(tid: u32, traced: &Traced) -> Option<String> {
    let traced = traced.tasks.iter().find(|task| task.tid == tid).map(|task| task.name.clone());
    let from_proc =
        || std::fs::read(format!("/proc/{tid}/comm")).ok().map(|name| model::name::text(name.trim_ascii_end()));
    traced.or_else(from_proc)
}

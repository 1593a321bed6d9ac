//! What a model reports → its run.

use std::collections::HashMap;

use archive::{ArchiveError, FlushState};
use ingest::{OffCpuState, RunWriter};
use model::event::RunEvent;
use model::metric::{MetricDescriptor, MetricId};
use model::simulation::{Course, Waiter};
use model::stall::RequestRecord;
use simulate::observer::{Metric, Observer, Operation, Wait};

/// The class of a hung task's operation if the model does not name it.
const HUNG: &str = "wait";

/// The run of a model. The first row creates its directory: contradictory settings leave none.
pub(super) struct ModelRun<'a> {
    writer: RunWriter<'a>,
    stacks: HashMap<&'static [&'static str], u32>,
    /// Thread ids by name, to find the waiters of a hang.
    tasks: Vec<(String, u32)>,
    /// Tasks whose unfinished operation was recorded.
    unfinished: Vec<u32>,
}

impl<'a> ModelRun<'a> {
    pub(super) fn new(writer: RunWriter<'a>) -> ModelRun<'a> {
        ModelRun { writer, stacks: HashMap::new(), tasks: Vec::new(), unfinished: Vec::new() }
    }

    /// Writes the course and closes the run. Returns whether everything is written.
    pub(super) fn close(mut self, course: Course) -> Result<FlushState, ArchiveError> {
        let ended_ns = course.ended_ns;
        for waiter in course.hang.iter().flat_map(|hang| &hang.waiters) {
            self.record_hung(waiter, ended_ns);
        }
        self.writer.close(ended_ns, vec![RunEvent::Simulated { at_ns: ended_ns, course }])
    }

    /// Records a hung task whose operation the model did not name: only the wait is known.
    fn record_hung(&mut self, waiter: &Waiter, ended_ns: u64) {
        let Some((_, tid)) = self.tasks.iter().find(|(name, _)| *name == waiter.task) else { return };
        if !self.unfinished.contains(tid) {
            let (tid, start_ns) = (*tid, waiter.since_ns);
            self.unfinished(Operation { class: HUNG, tid, start_ns, end_ns: ended_ns, bytes: 0 });
        }
    }

    fn stack(&mut self, frames: &'static [&'static str]) -> u32 {
        let new = || self.writer.stack(frames.iter().map(|&frame| frame.to_owned()).collect());
        *self.stacks.entry(frames).or_insert_with(new)
    }
}

fn row(operation: Operation) -> ingest::Operation<'static> {
    let Operation { class, tid, start_ns, end_ns, bytes } = operation;
    ingest::Operation { class, tid, start_ns, end_ns, bytes }
}

fn descriptor((id, metric): (u32, &Metric)) -> MetricDescriptor {
    MetricDescriptor {
        id: MetricId(id),
        name: metric.name.to_owned(),
        instance: metric.instance.to_owned(),
        unit: metric.unit,
        semantics: metric.semantics,
        device: None,
    }
}

impl Observer for ModelRun<'_> {
    fn task(&mut self, tid: u32, name: &str) {
        self.tasks.push((name.to_owned(), tid));
        self.writer.task(tid, name);
    }

    fn phase(&mut self, name: &str, measured: bool, at_ns: u64) {
        self.writer.phase(name, measured, at_ns);
    }

    fn operation(&mut self, operation: Operation) {
        self.writer.operation(&row(operation));
    }

    fn unfinished(&mut self, operation: Operation) {
        self.unfinished.push(operation.tid);
        self.writer.unfinished(&row(operation));
    }

    fn wait(&mut self, wait: &Wait) {
        let stack = Some(self.stack(wait.frames));
        let Wait { tid, start_ns, end_ns, waker_tid, request, .. } = *wait;
        let woken_ns = Some(end_ns);
        let asleep = ingest::Wait::new(tid, OffCpuState::Blocked, start_ns, end_ns);
        self.writer.wait(&ingest::Wait { woken_ns, stack, waker_tid, request, ..asleep });
    }

    fn request(&mut self, request: &RequestRecord) {
        self.writer.request(request);
    }

    fn metrics(&mut self, metrics: &'static [Metric]) {
        let descriptors: Vec<MetricDescriptor> = (0..).zip(metrics).map(descriptor).collect();
        self.writer.metrics(&descriptors);
    }

    fn sample(&mut self, at_ns: u64, values: &[Option<i64>]) {
        self.writer.sample(at_ns, values);
    }

    fn sample_every_ns(&self) -> u64 {
        self.writer.description().sample_interval_ns
    }

    fn slow_ns(&self) -> u64 {
        let description = self.writer.description();
        description.trace.as_ref().map_or(description.slower_than_ns, |trace| trace.interval_ns)
    }
}

//! Replays recorded arrivals under another scheduler.

use std::collections::VecDeque;

use super::arrivals::{Arrivals, Cause};
use super::bio::Bio;
use super::elevator::Elevator;
use super::fit::Fit;
use super::layer::{Due, Layer, Shape, Submitted};

/// The times of a replayed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) queued_ns: u64,
    pub(super) issued_ns: u64,
    pub(super) completed_ns: u64,
}

/// Replays all arrivals. Returns the times of each request, in the order of the requests. A task submits its requests
/// in their recorded order, one after another, and sleeps while no request is free.
pub(super) fn replay(arrivals: &Arrivals, fit: &Fit, shape: Shape, elevator: Box<dyn Elevator>) -> Vec<Option<Met>> {
    let mut replay = Replay::new(arrivals, fit, Layer::new(shape, elevator));
    replay.run();
    replay.met
}

#[derive(Debug, Default)]
struct Task {
    /// Its requests not yet submitted.
    next: VecDeque<usize>,
    /// Completion times of its requests.
    ends_ns: Vec<u64>,
    last_got_ns: u64,
    /// Its submission waits for a tag.
    asks: bool,
    /// It is already on the agenda.
    due: bool,
}

struct Replay<'a> {
    arrivals: &'a Arrivals,
    fit: &'a Fit,
    layer: Layer,
    tasks: Vec<Task>,
    met: Vec<Option<Met>>,
}

impl<'a> Replay<'a> {
    fn new(arrivals: &'a Arrivals, fit: &'a Fit, layer: Layer) -> Replay<'a> {
        let mut tasks: Vec<Task> = Vec::new();
        tasks.resize_with(arrivals.loops.len(), Task::default);
        for (index, request) in arrivals.requests.iter().enumerate() {
            tasks[request.task as usize].next.push_back(index);
        }
        let met = vec![None; arrivals.requests.len()];
        let mut replay = Replay { arrivals, fit, layer, tasks, met };
        (0..replay.tasks.len() as u32).for_each(|task| replay.arrange(task));
        replay
    }

    fn run(&mut self) {
        while let Some(due) = self.layer.agenda.next_due() {
            match due {
                Due::Task(task) => {
                    self.tasks[task as usize].due = false;
                    self.submit(task);
                }
                Due::Done(id) => self.done(id),
                Due::Look => self.layer.look(),
                Due::Kick => {}
            }
            while let Some((bio, _)) = self.layer.next_granted() {
                let task = &mut self.tasks[bio.task as usize];
                task.asks = false;
                task.last_got_ns = self.layer.now_ns();
                self.arrange(bio.task);
            }
            self.layer.dispatch(&mut |_, _| 0);
        }
    }

    fn done(&mut self, id: u32) {
        let finished = self.layer.complete(id);
        for bio in &finished.bios {
            let record = &finished.record;
            let queued_ns = record.queued_ns.unwrap_or(record.completed_ns);
            let issued_ns = record.issued_ns.unwrap_or(queued_ns);
            self.met[bio.tag as usize] = Some(Met { queued_ns, issued_ns, completed_ns: record.completed_ns });
            self.tasks[bio.task as usize].ends_ns.push(record.completed_ns);
            self.arrange(bio.task);
        }
    }

    /// Schedules the task's next request.
    fn arrange(&mut self, number: u32) {
        let task = &mut self.tasks[number as usize];
        let Some(&index) = task.next.front() else { return };
        if task.asks || task.due {
            return;
        }
        let at_ns = match self.arrivals.causes[index] {
            Cause::Time(at_ns) => at_ns,
            Cause::Got { gap_ns } => task.last_got_ns.saturating_add(gap_ns),
            Cause::Done { count, gap_ns } => match task.ends_ns.get(count as usize - 1) {
                Some(end_ns) => end_ns.saturating_add(gap_ns),
                None => return,
            },
        };
        task.due = true;
        self.layer.agenda.at(at_ns, Due::Task(number));
    }

    fn submit(&mut self, number: u32) {
        let task = &mut self.tasks[number as usize];
        let Some(index) = task.next.pop_front() else { return };
        let request = &self.arrivals.requests[index];
        let bio = Bio {
            task: number,
            tag: index as u64,
            kind: request.kind,
            sector: request.sector,
            sectors: request.sectors,
            service_ns: Some(self.fit.service_ns[index]),
        };
        match self.layer.submit(bio, false) {
            Submitted::Waits => self.tasks[number as usize].asks = true,
            Submitted::Accepted => {
                self.tasks[number as usize].last_got_ns = self.layer.now_ns();
                self.arrange(number);
            }
        }
    }
}

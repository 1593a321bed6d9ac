//! fio's JSON in the format `json+`, and the interval logs that fio writes beside it.
//!
//! A measured phase is a job. fio has reads, writes, trims and syncs; operations of other classes are left out. A run
//! has one latency for each operation, so completion latency (`clat_ns`) and total latency (`lat_ns`) are the same, and
//! submission latency (`slat_ns`) has no samples.

mod cpu;
mod direction;
mod logs;
mod options;

use std::collections::BTreeSet;
use std::io::{self, Write};

use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::operation::{Fault, IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use serde_json::{Value, json};

use self::cpu::CpuTimes;
use self::direction::{DIRECTIONS, Direction, rate_per_s, shares};
pub use self::logs::LogKind;
use self::options::FioOptions;

/// `EILSEQ`, with which fio reports a verification failure.
const WRONG_DATA: i32 = 84;

/// The jobs of a run, from its rows.
pub struct FioJobs {
    description: RunDescription,
    jobs: Vec<Job>,
    left_out: BTreeSet<String>,
    cpu: CpuTimes,
}

struct Job {
    phase: String,
    start_ns: u64,
    end_ns: Option<u64>,
    directions: [Direction; DIRECTIONS.len()],
    errno: Option<i32>,
}

impl FioJobs {
    /// The measured phases, with nothing in them yet.
    pub fn new(description: &RunDescription, events: &[RunEvent]) -> FioJobs {
        let mut jobs: Vec<Job> = Vec::new();
        for event in events {
            match event {
                RunEvent::PhaseStarted { phase, measured: true, at_ns } => jobs.push(Job::new(phase, *at_ns)),
                RunEvent::PhaseEnded { phase, at_ns, .. } => {
                    let open = jobs.iter_mut().rev().find(|job| job.phase == *phase && job.end_ns.is_none());
                    open.into_iter().for_each(|job| job.end_ns = Some(*at_ns));
                }
                _ => {}
            }
        }
        FioJobs { description: description.clone(), jobs, left_out: BTreeSet::new(), cpu: CpuTimes::default() }
    }

    /// Adds an interval's operations.
    pub fn interval(&mut self, record: &IntervalRecord) {
        // Of a repeated phase, the instance that contains the interval.
        let is_its = |job: &&mut Job| job.phase == record.phase && job.start_ns <= record.start_ns;
        let Some(job) = self.jobs.iter_mut().rev().find(is_its) else { return };
        match DIRECTIONS.iter().position(|(.., class)| *class == record.class) {
            Some(at) => job.directions[at].add(record),
            None if record.count > 0 => drop(self.left_out.insert(record.class.clone())),
            None => {}
        }
    }

    /// Adds an individually recorded operation; the first failed one sets the job's error.
    pub fn operation(&mut self, operation: &OperationRecord) {
        let end_ns = operation.start_ns.saturating_add(operation.duration_ns);
        let is_its = |job: &&mut Job| job.start_ns <= end_ns && job.end_ns.is_none_or(|end| end_ns <= end);
        let is_known = DIRECTIONS.iter().any(|(.., class)| *class == operation.class);
        let Some(job) = self.jobs.iter_mut().rev().find(is_its).filter(|_| is_known) else { return };
        if operation.kind == OperationKind::Failed {
            let wrong = operation.fault.filter(|fault| !matches!(fault, Fault::ShortRead | Fault::ShortWrite));
            let errno = operation.errno.or(wrong.map(|_| WRONG_DATA));
            job.errno = job.errno.or(errno);
        }
    }

    /// Adds the run's counters and the times of its samples.
    pub fn counters(&mut self, descriptors: &[MetricDescriptor], samples: &[SampleHeader]) {
        self.cpu.counters(descriptors, samples);
    }

    /// Adds new values of counters.
    pub fn changes(&mut self, changes: &[MetricChange]) {
        self.cpu.changes(changes);
    }

    /// Operations that fio's format can hold.
    pub fn operations(&self) -> u64 {
        self.jobs.iter().flat_map(|job| &job.directions).map(|direction| direction.count).sum()
    }

    /// Classes that it cannot hold.
    pub fn left_out(&self) -> impl Iterator<Item = &str> {
        self.left_out.iter().map(String::as_str)
    }

    /// The start of a file name as fio-plot expects it.
    pub fn file_stem(&self) -> String {
        FioOptions::of(&self.description, self.jobs.iter().flat_map(|job| &job.directions)).file_stem()
    }

    /// Writes the JSON.
    pub fn json(&self, mut sink: impl Write) -> io::Result<()> {
        let started = &self.description.started;
        let end_ns = self.jobs.iter().map(Job::seen_until_ns).max().unwrap_or(started.monotonic_ns);
        let ended_wall_ns = started.wall_ns.max(0) as u64 + end_ns.saturating_sub(started.monotonic_ns);
        let jobs: Vec<Value> = (0..).zip(&self.jobs).map(|(number, job)| self.job(number, job)).collect();
        let document = json!({
            "fio version": format!("stallscope-{}", self.description.version),
            "timestamp": ended_wall_ns / 1_000_000_000,
            "timestamp_ms": ended_wall_ns / 1_000_000,
            "jobs": jobs,
        });
        serde_json::to_writer_pretty(&mut sink, &document)?;
        sink.flush()
    }

    /// Writes one of the interval logs of all jobs, one after another.
    pub fn log(&self, kind: LogKind, mut sink: impl Write) -> io::Result<()> {
        let begin_ns = self.jobs.first().map_or(0, |job| job.start_ns);
        for job in &self.jobs {
            logs::write(&mut sink, kind, begin_ns, &job.directions)?;
        }
        sink.flush()
    }

    fn job(&self, number: u32, job: &Job) -> Value {
        let span_ns = job.seen_until_ns().saturating_sub(job.start_ns);
        let percent = |ns: Option<u64>| Some(100.0 * rate_per_s(ns?, span_ns) / 1e9);
        let cpu = self.cpu.between(job.start_ns, job.seen_until_ns(), self.description.host.clock_ticks_per_s);
        let [in_ns, in_us, in_ms] = shares(&job.directions[..3]);
        let mut value = json!({
            "jobname": if self.jobs.len() > 1 { &job.phase } else { &self.description.workload },
            "groupid": number,
            "error": job.errno.unwrap_or(0),
            "total_err": job.directions.iter().map(|direction| direction.errors).sum::<u64>(),
            "eta": 0,
            "elapsed": span_ns.div_ceil(1_000_000_000),
            "job options": FioOptions::of(&self.description, &job.directions).json(),
            "job_runtime": span_ns / 1_000_000,
            "usr_cpu": percent(cpu.user_ns),
            "sys_cpu": percent(cpu.system_ns),
            "latency_ns": in_ns,
            "latency_us": in_us,
            "latency_ms": in_ms,
        });
        for ((name, ..), direction) in DIRECTIONS.iter().zip(&job.directions) {
            value[*name] = if *name == "sync" { direction.sync() } else { direction.json(span_ns) };
        }
        value
    }
}

impl Job {
    fn new(phase: &str, start_ns: u64) -> Job {
        Job { phase: phase.to_owned(), start_ns, end_ns: None, directions: Default::default(), errno: None }
    }

    /// The phase's end, or the end of the last interval if it has not ended.
    fn seen_until_ns(&self) -> u64 {
        let last = self.directions.iter().filter_map(Direction::end_ns).max();
        self.end_ns.or(last).unwrap_or(self.start_ns)
    }
}

#[cfg(test)]
mod tests;

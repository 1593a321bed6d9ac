//! The tasks, and what is reported to the observer: tasks, requests, samples.

use model::block::{DeviceNumber, Kind, Operation};
use model::metric::{Semantics, Unit};
use model::stall::RequestRecord;

use super::disk::{Purpose, Request};
use super::du::Walker;
use super::inodes::FileSystem;
use super::memory::PAGE;
use super::pusher::{Daemon, Pusher};
use super::simoop::{IoThread, Round};
use super::task::{Body, Task};
use super::waits::Await;
use super::world::World;
use crate::observer::Metric;

const fn counter(name: &'static str) -> Metric {
    Metric { name, instance: "", unit: Unit::Count, semantics: Semantics::Counter }
}

const fn gauge(name: &'static str, unit: Unit) -> Metric {
    Metric { name, instance: "", unit, semantics: Semantics::Gauge }
}

/// The values of a sample, in this order.
pub(super) const METRICS: &[Metric] = &[
    gauge("vmstat.nr_free_pages", Unit::Pages),
    gauge("vmstat.nr_file_pages", Unit::Pages),
    gauge("vmstat.nr_dirty", Unit::Pages),
    gauge("vmstat.nr_writeback", Unit::Pages),
    gauge("vmstat.nr_slab_reclaimable", Unit::Pages),
    counter("vmstat.allocstall_normal"),
    counter("vmstat.pgscan_direct"),
    counter("vmstat.pgscan_kswapd"),
    counter("vmstat.pgsteal_direct"),
    counter("vmstat.pgsteal_kswapd"),
    counter("vmstat.slabs_scanned"),
    gauge("reclaim.inodes_cached", Unit::Count),
    gauge("reclaim.inodes_reclaimable", Unit::Count),
    gauge("reclaim.inodes_in_ail", Unit::Count),
    gauge("reclaim.inodes_pinned", Unit::Count),
    counter("reclaim.inodes_freed"),
    counter("reclaim.inodes_not_clean"),
    gauge("reclaim.requests_in_flight", Unit::Count),
];

const SECTORS_PER_PAGE: u64 = 8;

/// Daemons start within this time.
const SOON_NS: u64 = 1_000_000_000;

impl World<'_> {
    /// Creates the tasks, and reports them.
    pub(super) fn populate(&mut self) {
        self.observer.metrics(METRICS);
        let setup = self.setup.clone();
        for _ in 0..setup.workers {
            // As in steady state: workers start at different parts of their rounds.
            self.add(Body::Worker(Round::new()), (setup.warmup_ns / 2).max(1));
        }
        for worker in 1..=setup.workers {
            for _ in 0..setup.subthreads {
                self.add(Body::Io(IoThread::new(worker)), 0);
            }
        }
        for _ in 0..setup.nodes {
            let tid = self.add(Body::Kswapd, 0);
            self.idle_kswapds.push(tid);
        }
        for fs in 0..setup.du as u8 {
            self.add(Body::Du(Walker::new(fs)), SOON_NS);
        }
        for fs in 0..setup.file_systems as u8 {
            let pusher = self.add(Body::Pusher(Pusher::new(fs)), 0);
            self.add(Body::Background(fs, None), SOON_NS);
            let flusher = self.add(Body::Flusher, 0);
            self.daemons.push(Daemon { pusher, flusher });
        }
        for tid in 1..=self.tasks.len() as u32 {
            let name = self.name(tid);
            self.observer.task(tid, &name);
        }
    }

    /// Adds a task that starts within `within_ns`; 0: it waits to be woken.
    fn add(&mut self, body: Body, within_ns: u64) -> u32 {
        self.tasks.push(Task::new(body));
        let tid = self.tasks.len() as u32;
        if within_ns == 0 {
            self.wait(tid, Await::Work);
        } else {
            let first_ns = self.random.below(within_ns);
            self.wait_at_most(tid, Await::Work, first_ns);
        }
        tid
    }

    pub(super) fn name(&self, tid: u32) -> String {
        match &self.tasks[tid as usize - 1].body {
            Body::Worker(_) => format!("worker {tid}"),
            Body::Io(thread) => {
                let number = tid - self.setup.workers - (thread.parent - 1) * self.setup.subthreads;
                format!("worker {}/{number}", thread.parent)
            }
            Body::Du(walker) => format!("du {}", walker.fs),
            Body::Kswapd => format!("kswapd{}", tid - 1 - self.setup.workers * (1 + self.setup.subthreads)),
            Body::Pusher(pusher) => self.pusher_name(pusher.fs),
            Body::Background(fs, _) => format!("xfs-reclaim/{fs}"),
            Body::Flusher => {
                let fs = self.daemons.iter().position(|daemon| daemon.flusher == tid).unwrap_or(self.daemons.len());
                format!("flush/{fs}")
            }
        }
    }

    pub(super) fn pusher_name(&self, fs: u8) -> String {
        format!("xfsaild/{fs}")
    }

    /// The threads of a worker that are still running.
    pub(super) fn parts_of(&self, worker: u32) -> impl Iterator<Item = u32> {
        let first = self.setup.workers + (worker - 1) * self.setup.subthreads;
        let busy = |tid: &u32| !matches!(self.tasks[*tid as usize - 1].waits, Some((Await::Work, _)));
        (first + 1..=first + self.setup.subthreads).filter(busy)
    }

    pub(super) fn report_request(&mut self, fs: u8, request: &Request) {
        let sync = |kind: Kind| if request.sync { kind.with(Kind::SYNC) } else { kind };
        let (kind, place) = match request.what {
            Purpose::Read => (Kind::of(Operation::Read), request.number),
            Purpose::ClusterRead(cluster, _) => (Kind::of(Operation::Read).with(Kind::META), cluster),
            Purpose::ClusterWrite(cluster) => (sync(Kind::of(Operation::Write)).with(Kind::META), cluster),
            Purpose::Log => (sync(Kind::of(Operation::Write)).with(Kind::FUA).with(Kind::META), 0),
            Purpose::Writeback(chunk) => (Kind::of(Operation::Write), chunk),
        };
        self.observer.request(&RequestRecord {
            request: request.number,
            device: DeviceNumber::new(8, u32::from(fs) * 16),
            sector: u64::from(place) * u64::from(request.pages) * SECTORS_PER_PAGE,
            bytes: request.pages * PAGE as u32,
            kind,
            tid: request.tid,
            merges: 0,
            queued_ns: Some(request.queued_ns),
            got_ns: Some(request.queued_ns),
            inserted_ns: Some(request.queued_ns),
            issued_ns: Some(request.issued_ns),
            completed_ns: self.agenda.now_ns(),
            errno: None,
            throttled: false,
            parts: None,
            in_flight: Vec::new(),
            overtaken_by: Vec::new(),
        });
    }

    pub(super) fn sample(&mut self) {
        let systems = &self.systems;
        let sum = |of: fn(&FileSystem) -> u64| systems.iter().map(of).sum::<u64>();
        let (memory, tally) = (&self.memory, &self.tally);
        let values = [
            memory.free(),
            memory.cached(),
            memory.dirty(),
            memory.writeback(),
            memory.slab(),
            tally.allocation_stalls,
            tally.pages_scanned[0],
            tally.pages_scanned[1],
            tally.pages_reclaimed[0],
            tally.pages_reclaimed[1],
            tally.slabs_scanned,
            sum(|system| system.list.len() as u64),
            sum(|system| system.reclaimable),
            sum(|system| system.in_ail),
            sum(|system| (system.checkpoint.len() + system.log_write.len()) as u64),
            tally.inodes_freed,
            tally.unclean,
            sum(|system| system.disk.len() as u64),
        ];
        let values = values.map(|value| i64::try_from(value).ok());
        const { assert!(METRICS.len() == 18) };
        self.observer.sample(self.agenda.now_ns(), &values);
    }

    /// The warm-up has ended.
    pub(super) fn measure(&mut self) {
        self.tally.start_measuring();
        self.observer.phase("run", true, self.agenda.now_ns());
    }
}

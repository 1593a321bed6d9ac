//! The clients, their writers, the targets, and what is due.

use crate::agenda::Agenda;
use crate::observer::Observer;
use crate::policy::Outcome;
use crate::random::Random;

use super::account::Account;
use super::client::{Inode, Osc};
use super::extent::{Extents, Object};
use super::lock::Resource;
use super::plan::{Plan, Trigger};
use super::rpc::Rpc;
use super::writer::{Activity, Writer};

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// A writer begins.
    Start(usize),
    /// A writer has copied what it will hand to the OSC.
    Copied(usize),
    /// A writer hands over the next page.
    Page(usize),
    /// A task that waited in osc_enter_cache runs again.
    Woken(usize),
    /// A task that waited for extents runs again.
    Written(usize),
    /// A task has been in osc_enter_cache for too long, perhaps.
    Timeout(usize),
    /// ptlrpcd looks for RPCs to make.
    Work(usize),
    /// An RPC, with its data, is at the target.
    Arrived(usize),
    /// Its reply is back.
    Replied(usize),
    /// A client's flusher looks for old files.
    Flusher(usize),
    /// A writer's wish for a lock is at the target.
    Enqueued(usize),
    /// The writer has it.
    Granted(usize),
    /// The client is asked for a lock.
    Asked(usize, u64),
    /// The client has given it back.
    Cancelled(usize, u64),
}

pub(super) struct Simulation<'a> {
    pub(super) plan: Plan,
    pub(super) trigger: Trigger,
    pub(super) agenda: Agenda<Due>,
    pub(super) random: Random,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) account: Account,
    pub(super) oscs: Vec<Osc>,
    pub(super) objects: Vec<Object>,
    pub(super) extents: Extents,
    pub(super) writers: Vec<Writer>,
    pub(super) writers_left: usize,
    pub(super) rpcs: Vec<Rpc>,
    pub(super) unused_rpcs: Vec<usize>,
    /// When each client's link, and each target, is free again.
    pub(super) link_free_ns: Vec<u64>,
    pub(super) target_free_ns: Vec<u64>,
    pub(super) resources: Vec<Resource>,
    pub(super) inodes: Vec<Inode>,
    pub(super) flusher_due: Vec<bool>,
}

impl<'a> Simulation<'a> {
    pub(super) fn new(plan: Plan, trigger: Trigger, seed: u64, observer: &'a mut dyn Observer) -> Simulation<'a> {
        let (clients, stripes, files) = (plan.clients, plan.stripes, plan.files);
        let osc = |id: usize| Osc {
            client: id / stripes,
            target: id % stripes,
            grant_pages: plan.grant_pages,
            ..Osc::default()
        };
        let object = |id: usize| {
            let (client, file, stripe) = (id / stripes / files, id / stripes % files, id % stripes);
            Object {
                osc: client * stripes + (file + stripe) % stripes,
                resource: file * stripes + stripe,
                ..Object::default()
            }
        };
        Simulation {
            oscs: (0..clients * stripes).map(osc).collect(),
            objects: (0..clients * files * stripes).map(object).collect(),
            extents: Extents::default(),
            writers: (0..plan.writers).map(|rank| Writer::new(rank, &plan)).collect(),
            writers_left: plan.writers,
            rpcs: Vec::new(),
            unused_rpcs: Vec::new(),
            link_free_ns: vec![0; clients],
            target_free_ns: vec![0; stripes],
            resources: (0..files * stripes).map(|_| Resource::default()).collect(),
            inodes: vec![Inode::default(); clients * files],
            flusher_due: vec![false; clients],
            account: Account::new(observer.sample_every_ns(), observer.slow_ns()),
            agenda: Agenda::new(),
            random: Random::new(seed),
            plan,
            trigger,
            observer,
        }
    }

    pub(super) fn run(mut self) -> Outcome {
        self.begin();
        while let Some(due) = self.next_due() {
            self.happen(due);
        }
        self.conclude()
    }

    pub(super) fn begin(&mut self) {
        self.introduce();
        for writer in 0..self.writers.len() {
            // Processes of one program do not begin in the same instant.
            let skew_ns = self.random.below(1_000_000);
            self.agenda.at(skew_ns, Due::Start(writer));
        }
    }

    /// Moves the clock on. `None`: it is over.
    pub(super) fn next_due(&mut self) -> Option<Due> {
        if self.is_finished() {
            return None;
        }
        let before_ns = self.agenda.now_ns();
        let due = self.agenda.next_due()?;
        let now_ns = self.agenda.now_ns();
        self.sample_until(now_ns);
        if matches!(due, Due::Flusher(_) | Due::Timeout(_)) && self.nobody_moves() {
            self.account.stalled_ns += now_ns - before_ns;
        }
        Some(due)
    }

    pub(super) fn happen(&mut self, due: Due) {
        match due {
            Due::Start(writer) => self.start(writer),
            Due::Copied(writer) | Due::Page(writer) => self.page(writer),
            Due::Woken(writer) => self.woken(writer),
            Due::Written(writer) => self.written(writer),
            Due::Timeout(writer) => self.timeout(writer),
            Due::Work(osc) => {
                self.oscs[osc].work_queued = false;
                self.check_rpcs(osc);
            }
            Due::Arrived(rpc) => self.arrived(rpc),
            Due::Replied(rpc) => self.replied(rpc),
            Due::Flusher(client) => self.flusher(client),
            Due::Enqueued(writer) => self.enqueued(writer),
            Due::Granted(writer) => self.granted(writer),
            Due::Asked(resource, lock) => self.asked(resource, lock),
            Due::Cancelled(resource, lock) => self.cancelled(resource, lock),
        }
    }

    /// Everything is written; or nobody is left who will ever want it to be.
    fn is_finished(&self) -> bool {
        self.writers_left == 0 && self.oscs.iter().all(|osc| osc.dirty_pages == 0 && osc.in_flight == 0)
    }

    /// No RPC is on its way, and every writer that is left waits.
    fn nobody_moves(&self) -> bool {
        self.writers_left > 0
            && self.oscs.iter().all(|osc| osc.in_flight == 0 && !osc.work_queued)
            && self.writers.iter().all(|writer| match writer.activity {
                Activity::Busy | Activity::Lock => false,
                Activity::Cache { woken, .. } => !woken,
                Activity::Sync | Activity::Fsync | Activity::Done => true,
            })
    }

    /// The object of a file's stripe on a client.
    pub(super) fn object_of(&self, inode: usize, stripe: usize) -> usize {
        inode * self.plan.stripes + stripe
    }

    /// A time that varies a little, as work of CPUs and disks does.
    pub(super) fn about_ns(&mut self, ns: u64) -> u64 {
        ns - ns / 8 + self.random.below(ns / 4 + 1)
    }
}

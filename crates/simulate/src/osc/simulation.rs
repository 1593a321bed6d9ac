//! The clients, their writers, the targets, and the event loop.

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

/// A due event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// A writer starts.
    Start(usize),
    /// A writer has copied a batch for the OSC.
    Copied(usize),
    /// A writer queues the next page.
    Page(usize),
    /// A task that waited in osc_enter_cache runs again.
    Woken(usize),
    /// A task that waited for extents runs again.
    Written(usize),
    /// A task's wait in osc_enter_cache may have timed out.
    Timeout(usize),
    /// ptlrpcd looks for RPCs to send.
    Work(usize),
    /// An RPC, with its data, is at the target.
    Arrived(usize),
    /// The reply is back.
    Replied(usize),
    /// A client's flusher looks for expired files.
    Flusher(usize),
    /// A writer's lock request is at the target.
    Enqueued(usize),
    /// The writer gets the lock.
    Granted(usize),
    /// A blocking AST is at the client.
    BlockingAst(usize, u64),
    /// The client has cancelled the lock.
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
            // Processes of one program do not start at the same instant.
            let skew_ns = self.random.below(1_000_000);
            self.agenda.at(skew_ns, Due::Start(writer));
        }
    }

    /// Takes the next event. `None`: the run is over.
    pub(super) fn next_due(&mut self) -> Option<Due> {
        if self.is_finished() {
            return None;
        }
        let before_ns = self.agenda.now_ns();
        let due = self.agenda.next_due()?;
        let now_ns = self.agenda.now_ns();
        self.sample_until(now_ns);
        if matches!(due, Due::Flusher(_) | Due::Timeout(_)) && self.nothing_moves() {
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
            Due::BlockingAst(resource, lock) => self.blocking_ast(resource, lock),
            Due::Cancelled(resource, lock) => self.cancelled(resource, lock),
        }
    }

    /// Whether all writers are done and all pages are written.
    fn is_finished(&self) -> bool {
        self.writers_left == 0 && self.oscs.iter().all(|osc| osc.dirty_pages == 0 && osc.in_flight == 0)
    }

    /// Whether no RPC is in flight and every remaining writer waits.
    fn nothing_moves(&self) -> bool {
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

    /// A time that varies a little, as CPU and disk times do.
    pub(super) fn about_ns(&mut self, ns: u64) -> u64 {
        ns - ns / 8 + self.random.below(ns / 4 + 1)
    }
}

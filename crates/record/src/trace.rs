//! Trace what tasks wait for, with BPF programs in the kernel.
//!
//! Pairing and filtering happen in the kernel (`bpf/stall.bpf.c`): only long waits come through the ring, short ones
//! as sums. Each source is independent: a tracepoint that this kernel lacks costs that source alone, and where BPF is
//! not allowed, /proc still shows which tasks are blocked.

mod asynchronous;
mod attachment;
mod awaits;
mod background;
mod blocked;
mod bounded_cache;
mod cgroup_path;
mod containers;
mod cost;
mod cpu_quota;
mod detail;
mod drivers;
mod earlier_locks;
mod event;
mod follow;
mod freezers;
mod issues;
mod kernel_types;
mod kinds;
mod lasting_waits;
mod lock_numbers;
mod long_waits;
mod modules;
mod open_file_locks;
mod options;
mod paths;
mod programs;
mod relative;
mod requests;
mod roles;
mod row_builder;
mod running_kernel;
mod settings;
mod starters;
mod symbols;
mod system_calls;
mod task_rows;
mod threads;
mod time_namespace;
mod tracepoints;
mod usage;
mod user_stacks;

#[cfg(test)]
mod tests;

use std::path::Path;

use model::loss_kind::USER_STACKS;
use model::preflight::Finding;
use model::stall::{StallKind, StallRecord, Traced, stall_flags};

use crate::clock::{monotonic_ns, thread_cpu_ns};
use crate::roots::Roots;
pub use attachment::LostEvents;
use attachment::{Arrived, Attachment};
use background::Background;
pub use blocked::BlockedNow;
use blocked::{BlockedPoller, BlockedWait};
pub use cost::TraceCost;
use drivers::Drivers;
pub use follow::Followed;
use follow::Follower;
pub use lasting_waits::Attention;
use lasting_waits::LastingWaits;
use long_waits::LongWaits;
use modules::ModuleWatch;
pub use options::TraceOptions;
pub use programs::CAPABILITY as TRACE_CAPABILITY;
use programs::Kernel;
use row_builder::RowBuilder;
use settings::ProgramSettings;
use symbols::Symbols;
use threads::process_of;
use tracepoints::TraceSource;
use user_stacks::UserStacks;

/// The tracer. Dropping it detaches all programs.
pub struct Tracing {
    attachment: Option<Attachment>,
    rows: RowBuilder,
    blocked: BlockedPoller,
    follower: Follower,
    roots: Roots,
    modules: ModuleWatch,
    /// What modules that were loaded later brought, until it is taken.
    found: Vec<Finding>,
    lasting_waits: LastingWaits,
    user_stacks: UserStacks,
    long_waits: LongWaits,
    events: u64,
    consumer_cpu_ns: u64,
}

impl Tracing {
    /// Loads and attaches what this kernel has and allows. What is missing becomes a finding; the rest works without
    /// it.
    pub fn open(roots: &Roots, options: &TraceOptions) -> (Tracing, Vec<Finding>) {
        Tracing::open_with(roots, options, &tracepoints::all())
    }

    fn open_with(roots: &Roots, options: &TraceOptions, sources: &[TraceSource]) -> (Tracing, Vec<Finding>) {
        let mut findings = Vec::new();
        let lasting_waits = LastingWaits::begin(roots.proc.clone(), std::process::id());
        let symbols = Background::start("kallsyms", {
            let path = roots.proc.join("kallsyms");
            move || Symbols::read(&path)
        });
        let modules = ModuleWatch::new(roots.proc.clone());
        let kernel = Kernel::read(roots, sources);
        let symbols = symbols.into_value();
        let settings = ProgramSettings::new(options, &symbols, possible_cpus());
        let attach = |kernel: Kernel| {
            let drivers = Drivers::find(kernel.drivers, &symbols, &roots.proc);
            Attachment::open(roots, &kernel, &drivers, &settings, sources, &mut findings)
        };
        let attachment = unless_hindered(&roots.proc, || kernel.and_then(attach));
        let attachment = attachment.map_err(|finding| findings.push(*finding)).ok();
        let mut rows = RowBuilder::new(roots.proc.clone(), &roots.cgroup, symbols, settings.all_requests);
        rows.look_for_locks();
        let blocked = BlockedPoller::new(roots.proc.clone(), std::process::id(), options.blocked_ns);
        let follower = Follower::new(roots.proc.clone(), options.follow.clone());
        let user_stacks = UserStacks::new(roots.proc.clone());
        let long_waits = LongWaits::new(options.blocked_ns);
        let mut tracing = Tracing {
            attachment,
            rows,
            blocked,
            follower,
            roots: roots.clone(),
            modules,
            found: Vec::new(),
            lasting_waits,
            user_stacks,
            long_waits,
            events: 0,
            consumer_cpu_ns: 0,
        };
        tracing.follow(monotonic_ns());
        (tracing, findings)
    }

    /// Whether programs are attached.
    pub fn is_tracing(&self) -> bool {
        self.attachment.is_some()
    }

    /// Detaches the programs for a while, or attaches them again; their state is kept. It takes a few ms, which allows
    /// measuring their cost against the same moment without them.
    pub fn set_attached(&mut self, attached: bool) {
        if let Some(attachment) = &mut self.attachment {
            attachment.set_attached(attached);
        }
    }

    /// Takes the events since the last poll. The kernel wakes no reader: call this every 20 ms or so.
    pub fn poll(&mut self, traced: &mut Traced) {
        let Tracing { attachment: Some(attachment), rows, user_stacks, long_waits, lasting_waits, events, .. } = self
        else {
            return;
        };
        let began_ns = thread_cpu_ns();
        let before = traced.stalls.len();
        long_waits.look(attachment);
        user_stacks.begin_poll();
        attachment.consume(|Arrived { events: arrived, requests, user_stacks: stacks }| {
            *events += (arrived.len() + requests.len() + stacks.len()) as u64;
            stacks.iter_mut().for_each(|stack| user_stacks.add(stack, traced));
            arrived.iter().for_each(|event| rows.add_event(event, traced));
            requests.iter().for_each(|request| rows.add_each_request(request, traced));
        });
        attachment.usage(false, rows, traced);
        lasting_waits.note_asking(&traced.stalls[before..]);
        self.consumer_cpu_ns += thread_cpu_ns() - began_ns;
    }

    /// Call this every second or so: adds sums of block requests, and waits of blocked tasks, also those that have
    /// ended. Returns the tasks that are blocked now.
    pub fn interval(&mut self, now_ns: u64, traced: &mut Traced) -> Vec<BlockedNow> {
        let began_ns = thread_cpu_ns();
        self.rows.age();
        self.look_for_modules();
        self.user_stacks.interval(traced);
        if let Some(attachment) = &mut self.attachment {
            attachment.interval(now_ns, &mut traced.request_intervals);
        }
        if self.blocked.is_due(now_ns) {
            let before_ns = thread_cpu_ns();
            for wait in self.blocked.poll(now_ns) {
                self.rows.add_blocked(wait, traced);
            }
            self.blocked.pace(now_ns, thread_cpu_ns() - before_ns, self.attachment.is_some());
        }
        self.follow(now_ns);
        self.consumer_cpu_ns += thread_cpu_ns() - began_ns;
        self.blocked.blocked()
    }

    /// Attaches to modules that were loaded since, and names their functions in stacks.
    fn look_for_modules(&mut self) {
        let Some(attachment) = self.attachment.as_mut().filter(|_| self.modules.changed()) else { return };
        let symbols = Symbols::read(&self.roots.proc.join("kallsyms"));
        if let Ok(kernel) = Kernel::read(&self.roots, &tracepoints::all()) {
            let drivers = Drivers::find(kernel.drivers, &symbols, &self.roots.proc);
            self.found.extend(attachment.modules_changed(&kernel, &drivers));
        }
        self.rows.set_symbols(symbols);
    }

    /// Sources of modules that were loaded since this was called last: attached, or why they could not be.
    pub fn take_found(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.found)
    }

    /// Watches the processes that are to be followed and were not there before.
    fn follow(&mut self, now_ns: u64) {
        let Some(attachment) = self.attachment.as_ref().filter(|_| self.follower.is_due(now_ns)) else { return };
        let before_ns = thread_cpu_ns();
        attachment.follow(&self.follower.look());
        self.follower.pace(now_ns, thread_cpu_ns() - before_ns);
    }

    /// What was to be followed and never found, and what was left out, in words; call this at the end.
    pub fn left_out(&self) -> Vec<String> {
        let not_followed = self.attachment.iter().flat_map(|_| self.follower.unmatched());
        not_followed.chain(self.lasting_waits.left_out()).collect()
    }

    /// Call this once, at the end: adds all that is pending, also waits that have not ended.
    pub fn finish(&mut self, now_ns: u64, traced: &mut Traced) {
        self.interval(now_ns, traced);
        if let Some(attachment) = &self.attachment {
            attachment.look_for_waits();
        }
        self.poll(traced);
        if let Some(attachment) = &mut self.attachment {
            attachment.usage(true, &mut self.rows, traced);
        }
        for wait in self.blocked.finish() {
            self.rows.add_blocked(wait, traced);
        }
        // Their waits are the last rows.
        let last = traced.stalls.iter().filter(|row| row.kind == StallKind::StillBlocked);
        let is_watched = |row: &StallRecord| row.flags.is_some_and(|flags| flags & stall_flags::WATCHED != 0);
        let (watched, others): (Vec<&StallRecord>, Vec<&StallRecord>) = last.partition(|row| is_watched(row));
        let first = [watched, others].concat().into_iter().map(|row| row.tid).collect::<Vec<u32>>();
        let waits = self.lasting_waits.finish(&first, monotonic_ns());
        self.add_lasting_waits(waits, traced);
        self.user_stacks.finish(traced);
    }

    /// What threads wait for that have not been woken for a second, for those who watch: not a part of the recording,
    /// whose end shows what lasts. The tasks and stacks that these rows name are. Costs nothing while a pause lasts;
    /// `None` then.
    pub fn look_at_lasting_waits(&mut self, attention: Attention, traced: &mut Traced) -> Option<Vec<StallRecord>> {
        let now_ns = monotonic_ns();
        if !self.lasting_waits.is_due(now_ns) {
            return None;
        }
        let began_ns = thread_cpu_ns();
        let waits = self.lasting_waits.look(now_ns);
        let before = traced.stalls.len();
        self.add_lasting_waits(waits, traced);
        let rows = traced.stalls.split_off(before);
        let cost_ns = thread_cpu_ns() - began_ns;
        self.lasting_waits.looked(now_ns, cost_ns, attention);
        self.consumer_cpu_ns += cost_ns;
        Some(rows)
    }

    /// Adds what threads wait for that have not been woken for a second. Call this when a part of the recording ends
    /// that is read alone.
    pub fn end_part(&mut self, traced: &mut Traced) {
        if let Some(attachment) = &self.attachment {
            attachment.look_for_waits();
        }
        self.poll(traced);
        let began_ns = thread_cpu_ns();
        let waits = self.lasting_waits.look(monotonic_ns());
        self.add_lasting_waits(waits, traced);
        self.consumer_cpu_ns += thread_cpu_ns() - began_ns;
    }

    /// Adds what threads wait for that have not been woken.
    fn add_lasting_waits(&mut self, waits: Vec<BlockedWait>, traced: &mut Traced) {
        for wait in waits {
            if let Some(peer) = wait.row.holder_tid {
                // The task at the other end may have no row of its own.
                let pid = process_of(&self.roots.proc, peer).unwrap_or(peer);
                self.rows.tasks.emit(peer, pid, task_rows::Name::Unknown, wait.row.end_ns(), traced);
            }
            self.rows.add_blocked(wait, traced);
        }
    }

    /// What was lost since this was called last.
    pub fn lost(&mut self) -> Vec<LostEvents> {
        let mut lost = self.attachment.as_mut().map(Attachment::lost).unwrap_or_default();
        let count = self.user_stacks.take_lost();
        lost.extend((count > 0).then_some(LostEvents { what: USER_STACKS.name, count }));
        lost
    }

    /// What tracing cost since this was called last; `None` where nothing is traced.
    pub fn cost(&mut self) -> Option<TraceCost> {
        let measured = self.attachment.as_mut()?.measured(monotonic_ns());
        Some(TraceCost {
            events: std::mem::take(&mut self.events),
            consumer_cpu_ns: std::mem::take(&mut self.consumer_cpu_ns),
            programs_cpu_ns: measured.programs_cpu_ns,
            measured_ns: measured.measured_ns,
        })
    }

    /// Emits stacks and tasks again, under the same numbers, when they are next seen: what follows is readable without
    /// what came before.
    pub fn reset_emitted(&mut self) {
        self.rows.reset_emitted();
        self.user_stacks.reset_emitted();
    }
}

/// The programs, attached; else the finding that says why not.
fn unless_hindered(
    proc: &Path,
    attach: impl FnOnce() -> Result<Attachment, libbpf_rs::Error>,
) -> Result<Attachment, Box<Finding>> {
    time_namespace::obstacle(proc).map_or(Ok(()), |obstacle| Err(Box::new(obstacle)))?;
    attach().map_err(|error| Box::new(programs::refused(&error)))
}

/// Possible CPUs; the programs number them from 0.
fn possible_cpus() -> u16 {
    libbpf_rs::num_possible_cpus().ok().and_then(|cpus| u16::try_from(cpus).ok()).unwrap_or(1)
}

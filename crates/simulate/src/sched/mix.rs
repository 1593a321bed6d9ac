//! The document's load: a mail reader with a cold cache, endless writeback, and programs that call fsync.

use model::block::{Kind, Operation};

use super::bio::Bio;
use super::layer::{Layer, Submitted};
use crate::random::Random;

/// Kinds of reads, per 1000: the document's 445 R, 22 RM and 31 RA.
const READ_KINDS: [(Kind, u64); 3] = [
    (Kind::of(Operation::Read), 894),
    (Kind::of(Operation::Read).with(Kind::META), 44),
    (Kind::of(Operation::Read).with(Kind::AHEAD), 62),
];
const WRITE: Kind = Kind::of(Operation::Write);
const BUFFER: Kind = WRITE.with(Kind::META);
const COMMIT: Kind = WRITE.with(Kind::FUA).with(Kind::SYNC).with(Kind::META);
/// Sectors of the disk: 256 GiB.
const DISK: u64 = 1 << 29;
/// One page.
const PAGE_SECTORS: u32 = 8;

/// A task's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Reader,
    Writer,
    Fsync,
    Journal,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "flusher",
            Role::Fsync => "program",
            Role::Journal => "jbd2",
        }
    }
}

/// What ended for a task, to be reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// An operation ended.
    Operation { task: u32, class: &'static str, start_ns: u64, bytes: u64 },
    /// A wait ended.
    Wait { task: u32, start_ns: u64, frames: &'static [&'static str], waker: Option<u32>, request: Option<u32> },
}

/// Parameters of the mix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numbers {
    pub(super) readers: u64,
    pub(super) writers: u64,
    pub(super) programs: u64,
    pub(super) reader_think_ns: u64,
    pub(super) program_think_ns: u64,
    pub(super) run_bios: u64,
    pub(super) journal_buffers: u64,
    pub(super) promote: bool,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    role: Role,
    /// Its next sector, and how many more in sequence.
    sector: u64,
    left: u64,
    /// Start of its wait. `None`: it does not wait.
    since_ns: Option<u64>,
    /// Its submission waits for a tag.
    asks: bool,
    /// Its bios in flight.
    in_flight: u64,
}

pub(super) const WAITS_FOR_REQUEST: &[&str] = &["blk_mq_get_tag", "__blk_mq_alloc_requests", "blk_mq_submit_bio"];
const READS: &[&str] = &["folio_wait_bit_common", "filemap_read", "ext4_file_read_iter", "vfs_read"];
const FSYNCS: &[&str] = &["jbd2_log_wait_commit", "jbd2_complete_transaction", "ext4_sync_file", "do_fsync"];
const COMMITS: &[&str] = &["__wait_on_buffer", "jbd2_journal_commit_transaction", "kjournald2"];

/// The tasks.
#[derive(Debug)]
pub(super) struct Mix {
    numbers: Numbers,
    tasks: Vec<Task>,
    random: Random,
    journal: u32,
    /// The journal's requests are promoted: a program waits for them.
    boosted: bool,
    /// Programs whose fsync waits for the commit under way, and for the one after it.
    committing: Vec<u32>,
    next: Vec<u32>,
    pub(super) ended: Vec<Ended>,
}

impl Mix {
    /// Starts the tasks: readers and programs after a think time, writers now.
    pub(super) fn new(numbers: Numbers, random: Random, layer: &mut Layer) -> Mix {
        let roles = [(Role::Reader, numbers.readers), (Role::Writer, numbers.writers), (Role::Fsync, numbers.programs)];
        let mut roles: Vec<Role> =
            roles.into_iter().flat_map(|(role, count)| std::iter::repeat_n(role, count as usize)).collect();
        let journal = roles.len() as u32;
        roles.push(Role::Journal);
        let task = |role| Task { role, sector: 0, left: 0, since_ns: None, asks: false, in_flight: 0 };
        let tasks = roles.into_iter().map(task).collect();
        let (committing, next, ended) = Default::default();
        let mut mix = Mix { numbers, tasks, random, journal, boosted: false, committing, next, ended };
        for number in 0..journal {
            mix.think(number, layer);
        }
        mix
    }

    pub(super) fn roles(&self) -> impl Iterator<Item = Role> {
        self.tasks.iter().map(|task| task.role)
    }

    fn think(&mut self, number: u32, layer: &mut Layer) {
        let mean_ns = match self.tasks[number as usize].role {
            Role::Reader => self.numbers.reader_think_ns,
            Role::Fsync => self.numbers.program_think_ns,
            Role::Writer | Role::Journal => return layer.agenda.after(0, super::layer::Due::Task(number)),
        };
        let delay_ns = self.random.time_ns(mean_ns);
        layer.agenda.after(delay_ns, super::layer::Due::Task(number));
    }

    /// A task continues.
    pub(super) fn due(&mut self, number: u32, layer: &mut Layer) {
        match self.tasks[number as usize].role {
            Role::Reader => self.read(number, layer),
            Role::Writer => self.write(number, layer),
            Role::Fsync => self.fsync(number, layer),
            Role::Journal => {}
        }
    }

    /// A task's next sector: runs of sequential bios at random places.
    fn place(&mut self, number: u32) -> u64 {
        let task = &mut self.tasks[number as usize];
        if task.left == 0 {
            task.left = 1 + self.random.below(2 * self.numbers.run_bios.max(1) - 1);
            task.sector = self.random.below(DISK / u64::from(PAGE_SECTORS)) * u64::from(PAGE_SECTORS);
        }
        task.left -= 1;
        let sector = task.sector;
        task.sector += u64::from(PAGE_SECTORS);
        sector
    }

    fn submit(&mut self, number: u32, kind: Kind, sector: u64, layer: &mut Layer) {
        let bio = Bio { task: number, tag: 0, kind, sector, sectors: PAGE_SECTORS, service_ns: None };
        let promoted = self.boosted && number == self.journal;
        let task = &mut self.tasks[number as usize];
        task.in_flight += 1;
        task.since_ns = Some(task.since_ns.unwrap_or(layer.now_ns()));
        task.asks = layer.submit(bio, promoted) == Submitted::Waits;
    }

    fn read(&mut self, number: u32, layer: &mut Layer) {
        let mut choice = self.random.below(1000);
        let kind = READ_KINDS.iter().find(|(_, share)| {
            let here = choice < *share;
            choice = choice.saturating_sub(*share);
            here
        });
        let sector = self.random.below(DISK / u64::from(PAGE_SECTORS)) * u64::from(PAGE_SECTORS);
        self.submit(number, kind.map_or(READ_KINDS[0].0, |(kind, _)| *kind), sector, layer);
    }

    /// Writeback submits as long as it gets tags.
    fn write(&mut self, number: u32, layer: &mut Layer) {
        while !self.tasks[number as usize].asks {
            let sector = self.place(number);
            self.submit(number, WRITE, sector, layer);
        }
    }

    fn fsync(&mut self, number: u32, layer: &mut Layer) {
        self.tasks[number as usize].since_ns = Some(layer.now_ns());
        if self.committing.is_empty() {
            self.committing.push(number);
            self.commit(layer);
        } else {
            self.next.push(number);
        }
    }

    /// jbd2 writes the buffers of a transaction as async writes, and then waits for them.
    fn commit(&mut self, layer: &mut Layer) {
        let journal = self.journal as usize;
        self.boosted = false;
        self.tasks[journal].left = self.numbers.journal_buffers;
        self.tasks[journal].sector = self.random.below(1 << 12) * 64;
        self.buffers(layer);
        if self.numbers.promote {
            self.boosted = true;
            layer.promote(self.journal, self.committing[0]);
        }
    }

    /// Every second block of the journal's range, so no two buffers merge.
    fn buffers(&mut self, layer: &mut Layer) {
        let journal = self.journal as usize;
        while !self.tasks[journal].asks && self.tasks[journal].left > 0 {
            self.tasks[journal].left -= 1;
            let sector = self.tasks[journal].sector;
            self.tasks[journal].sector += 2 * u64::from(PAGE_SECTORS);
            self.submit(self.journal, BUFFER, sector, layer);
        }
    }

    /// A waiting submission has got its tag.
    pub(super) fn granted(&mut self, bio: &Bio, since_ns: u64, layer: &mut Layer) {
        let task = &mut self.tasks[bio.task as usize];
        task.asks = false;
        let wait =
            Ended::Wait { task: bio.task, start_ns: since_ns, frames: WAITS_FOR_REQUEST, waker: None, request: None };
        self.ended.push(wait);
        match self.tasks[bio.task as usize].role {
            Role::Writer => self.write(bio.task, layer),
            Role::Journal => self.buffers(layer),
            Role::Reader | Role::Fsync => {}
        }
        let task = &mut self.tasks[bio.task as usize];
        // From now on it waits for the device.
        task.since_ns = Some(layer.now_ns());
    }

    /// A bio has completed. `queued_ns`: of its request.
    pub(super) fn done(&mut self, bio: &Bio, request: u32, queued_ns: u64, layer: &mut Layer) {
        let now_ns = layer.now_ns();
        let task = &mut self.tasks[bio.task as usize];
        task.in_flight -= 1;
        match task.role {
            Role::Writer => {}
            Role::Reader => {
                let start_ns = task.since_ns.take().unwrap_or(now_ns);
                self.ended.push(Ended::Wait {
                    task: bio.task,
                    start_ns,
                    frames: READS,
                    waker: None,
                    request: Some(request),
                });
                let bytes = u64::from(bio.sectors) * 512;
                self.ended.push(Ended::Operation { task: bio.task, class: "read", start_ns: queued_ns, bytes });
                self.think(bio.task, layer);
            }
            Role::Journal if task.in_flight > 0 || task.left > 0 || task.asks => {}
            Role::Journal => self.buffer_done(bio, request, layer),
            Role::Fsync => unreachable!("a program writes through the journal"),
        }
    }

    /// The journal's bios have completed: its commit record is next, or the transaction is committed.
    fn buffer_done(&mut self, bio: &Bio, request: u32, layer: &mut Layer) {
        let journal = self.journal;
        let start_ns = self.tasks[journal as usize].since_ns.take().unwrap_or(layer.now_ns());
        self.ended.push(Ended::Wait { task: journal, start_ns, frames: COMMITS, waker: None, request: Some(request) });
        if bio.kind != COMMIT {
            let sector = self.tasks[journal as usize].sector;
            return self.submit(journal, COMMIT, sector, layer);
        }
        for program in std::mem::take(&mut self.committing) {
            let start_ns = self.tasks[program as usize].since_ns.take().unwrap_or(layer.now_ns());
            let waker = Some(journal);
            self.ended.push(Ended::Wait { task: program, start_ns, frames: FSYNCS, waker, request: None });
            self.ended.push(Ended::Operation { task: program, class: "fsync", start_ns, bytes: 0 });
            self.think(program, layer);
        }
        self.committing = std::mem::take(&mut self.next);
        if !self.committing.is_empty() {
            self.commit(layer);
        }
    }

    /// The waiting tasks with stack and start: for the end of a run, and for hangs.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u32, Role, &'static [&'static str], u64)> {
        let indexed = self.tasks.iter().enumerate();
        indexed.filter_map(|(number, task)| {
            let frames = match task.role {
                _ if task.asks => WAITS_FOR_REQUEST,
                Role::Reader => READS,
                Role::Fsync => FSYNCS,
                Role::Journal => COMMITS,
                Role::Writer => return None,
            };
            Some((number as u32, task.role, frames, task.since_ns?))
        })
    }
}

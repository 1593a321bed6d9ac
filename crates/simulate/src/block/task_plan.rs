//! What a task queues next: a flush, a durable write, or a batch of bios.

use model::block::{BlockEvent, Kind, Operation};

use super::device::Piece;
use super::engine::Engine;
use super::task::Step;
use super::true_bio::TrueBio;

/// Sectors of a region.
pub(super) const REGION: u64 = 8192;
/// Regions that are reused often, like a journal's.
const HOT_REGIONS: u64 = 64;

impl<E: FnMut(&BlockEvent), B: FnMut(&TrueBio)> Engine<E, B> {
    pub(super) fn plan(&mut self, task: usize) {
        let disk = self.random.below(self.disks.len() as u64) as usize;
        if self.random.chance(self.workload.flush) {
            self.bios_left -= 1;
            let kind = Kind::of(Operation::Write).with(Kind::PREFLUSH).with(Kind::SYNC);
            let piece = self.new_piece(task, disk, kind, 0, 0);
            self.tasks[task].steps.push_back(Step::Queue(piece));
        } else if self.random.chance(self.workload.durable) {
            self.bios_left -= 1;
            let kind = Kind::of(Operation::Write).with(Kind::FUA).with(Kind::SYNC).with(Kind::META);
            let kind = if self.random.chance(700) { kind.with(Kind::PREFLUSH) } else { kind };
            let sector = self.take_region(disk, 1) * REGION;
            let piece = self.new_piece(task, disk, kind, sector, 8);
            self.tasks[task].steps.push_back(Step::Queue(piece));
        } else {
            self.plan_batch(task, disk);
        }
    }

    fn plan_batch(&mut self, task: usize, disk: usize) {
        let stacked = self.random.chance(self.workload.stacked);
        let disk = if stacked { 0 } else { disk };
        let kind = self.random_kind();
        let bios = (1 + self.random.below(6)).min(self.bios_left);
        self.bios_left -= bios;
        let start = self.take_region(disk, bios as u32) * REGION;
        let contiguous = self.random.chance(self.workload.contiguous);
        let backwards = contiguous && self.random.chance(300);
        let mut pieces = Vec::new();
        let mut sector = start;
        for _ in 0..bios {
            let long = bios == 1 && self.random.chance(self.workload.split * 3);
            let most = if long { self.workload.max_sectors * 3 } else { 128 };
            let sectors = 8 * (1 + self.random.below(u64::from(most / 8))) as u32;
            pieces.push(self.new_piece(task, disk, kind, sector, sectors));
            sector += u64::from(sectors) + if contiguous { 0 } else { 512 };
        }
        if backwards {
            pieces.reverse();
        }
        let partition = !stacked && self.random.chance(self.workload.partition);
        let steps = &mut self.tasks[task].steps;
        steps.push_back(Step::Plug(disk));
        steps.extend(pieces.into_iter().map(|piece| {
            if stacked {
                Step::QueueStacked(piece)
            } else if partition {
                Step::ComeFromPartition(piece)
            } else {
                Step::Queue(piece)
            }
        }));
        steps.push_back(Step::Unplug(disk));
    }

    fn random_kind(&mut self) -> Kind {
        if self.random.chance(self.workload.reads) {
            let read = Kind::of(Operation::Read);
            match self.random.below(10) {
                0..4 => read.with(Kind::AHEAD),
                4 => read.with(Kind::META),
                _ => read,
            }
        } else {
            let write = Kind::of(Operation::Write);
            match self.random.below(20) {
                0 => Kind::of(Operation::Discard),
                1..12 => write.with(Kind::SYNC),
                _ => write,
            }
        }
    }

    fn new_piece(&mut self, task: usize, disk: usize, kind: Kind, sector: u64, sectors: u32) -> Piece {
        let cgroups = self.workload.cgroups;
        let pid = self.tasks[task].pid;
        let cgroup = if cgroups == 0 { 0 } else { 100 + u64::from(pid) % cgroups };
        Piece { disk, kind, sector, sectors, pid, cgroup, queued_ns: 0, entered_ns: 0, merged: false, above: None }
    }

    /// Takes a region in which nothing is in flight, for this many bios.
    fn take_region(&mut self, disk: usize, bios: u32) -> u64 {
        loop {
            let hot = self.random.chance(500);
            let region = 8 + self.random.below(if hot { HOT_REGIONS } else { 1 << 20 });
            let in_flight = self.regions.entry((disk, region)).or_insert(0);
            if *in_flight == 0 {
                *in_flight = bios;
                return region;
            }
        }
    }

    /// A bio or piece in the sector's region has completed.
    pub(super) fn leave_region(&mut self, disk: usize, sector: u64) {
        let key = (disk, sector / REGION);
        let in_flight = self.regions.get_mut(&key).expect("a region was taken for each bio");
        *in_flight -= 1;
        if *in_flight == 0 {
            self.regions.remove(&key);
        }
    }
}

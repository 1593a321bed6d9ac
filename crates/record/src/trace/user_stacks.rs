//! Where programs were in their own code: from registers and a part of the stack to places in files, and their names.

mod event;
mod memory_map;
mod modules;
mod naming;
mod walk;

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use model::stall::Traced;
use model::user_stack::{UserFrameRecord, UserStackRecord};

pub(super) use event::UserStackEvent;
use modules::{Modules, Spot};
use naming::Naming;
use walk::Walked;

use crate::bytes::read_text;

/// Stacks that are followed at most between two polls. Each takes some 50 us.
const MOST_AT_ONCE: usize = 200;
/// Places whose numbers are known at once.
const PLACES: usize = 65_536;
/// The part of a sleeping task's stack that is read.
const SLEEPING_BYTES: usize = 64 << 10;
/// How long the end of a recording waits for names. `explain` looks up what is missing.
const LAST_NAMES: Duration = Duration::from_millis(500);

/// A place as it was emitted.
#[derive(Debug)]
struct Known {
    record: UserFrameRecord,
    emitted: bool,
}

/// Turns events into rows.
pub(super) struct UserStacks {
    proc: PathBuf,
    modules: Modules,
    naming: Naming,
    places: HashMap<(Spot, bool), Known>,
    next_frame: u32,
    taken: usize,
    lost: u64,
}

impl UserStacks {
    pub(super) fn new(proc: PathBuf) -> UserStacks {
        UserStacks {
            modules: Modules::new(proc.clone()),
            proc,
            naming: Naming::new(),
            places: HashMap::new(),
            next_frame: 0,
            taken: 0,
            lost: 0,
        }
    }

    /// Emits places again when they are next seen.
    pub(super) fn reset_emitted(&mut self) {
        self.places.values_mut().for_each(|known| known.emitted = false);
    }

    /// Another poll begins.
    pub(super) fn begin_poll(&mut self) {
        self.taken = 0;
    }

    /// Stacks that were not followed since this was called last: too many came at once.
    pub(super) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Adds an event's rows.
    pub(super) fn add(&mut self, event: &mut UserStackEvent, traced: &mut Traced) {
        self.taken += 1;
        if self.taken > MOST_AT_ONCE {
            self.lost += 1;
            return;
        }
        if event.is_asleep && !self.read_sleeping(event) {
            return;
        }
        let Walked { spots, whole } = walk::walk(event, &mut self.modules);
        let frames: Vec<u32> =
            spots.into_iter().zip(0..).map(|(spot, depth)| self.frame(spot, depth == 0, traced)).collect();
        if !frames.is_empty() {
            let UserStackEvent { tid, start_ns, end_ns, .. } = *event;
            traced.user_stacks.push(UserStackRecord { tid, start_ns, end_ns, frames, whole });
        }
    }

    /// Reads the stack of a task that sleeps, if it has not moved since its registers were taken.
    fn read_sleeping(&self, event: &mut UserStackEvent) -> bool {
        let task = self.proc.join(format!("{}/task/{}", event.pid, event.tid));
        let Ok(memory) = File::open(task.join("mem")) else { return false };
        let mut bytes = vec![0; SLEEPING_BYTES];
        let Ok(read) = memory.read_at(&mut bytes, event.registers.stack) else { return false };
        event.words = bytes[..read].as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let Ok(now) = read_text(task.join("syscall")) else { return false };
        event::is_at(&now, event.registers)
    }

    fn frame(&mut self, spot: Spot, is_innermost: bool, traced: &mut Traced) -> u32 {
        if self.places.len() >= PLACES {
            self.places.clear();
        }
        let known = self.places.entry((spot.clone(), is_innermost)).or_insert_with(|| {
            let frame = self.next_frame;
            self.next_frame += 1;
            let record = self.modules.record(frame, &spot, is_innermost);
            if let Some(file) = self.modules.file(&spot) {
                self.naming.ask(file, &record);
            }
            Known { record, emitted: false }
        });
        if !std::mem::replace(&mut known.emitted, true) {
            traced.user_frames.push(known.record.clone());
        }
        known.record.frame
    }

    /// Call this every second or so: adds the names that were found, and has others looked up.
    pub(super) fn interval(&mut self, traced: &mut Traced) {
        self.naming.start();
        self.take_names(Duration::ZERO, traced);
    }

    /// Call this at the end.
    pub(super) fn finish(&mut self, traced: &mut Traced) {
        self.naming.start();
        self.take_names(LAST_NAMES, traced);
    }

    fn take_names(&mut self, wait: Duration, traced: &mut Traced) {
        let named = self.naming.take(wait);
        if named.is_empty() {
            return;
        }
        let mut by_frame: HashMap<u32, UserFrameRecord> =
            named.iter().map(|record| (record.frame, record.clone())).collect();
        for known in self.places.values_mut() {
            if let Some(record) = by_frame.remove(&known.record.frame) {
                known.record = record;
            }
        }
        traced.user_frames.extend(named);
    }
}

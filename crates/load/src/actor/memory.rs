//! Memory that a thread holds and touches, or allocates and frees.

use std::io;

use memmap2::{MmapMut, MmapOptions};

use super::outcome::StepOutcome;
use crate::board::Board;

/// Bytes touched between two polls of the board.
const STRIDE_BYTES: usize = 1 << 20;

/// Memory that a thread holds while it lives.
#[derive(Default)]
pub(super) struct HeldMemory {
    map: Option<MmapMut>,
}

impl HeldMemory {
    /// Maps the memory and touches it for the first time.
    pub(super) fn take(bytes: u64, board: &Board) -> io::Result<HeldMemory> {
        let mut held = HeldMemory { map: Some(map(bytes)?) };
        held.touch(board);
        Ok(held)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.map.is_none()
    }

    /// Writes to every page.
    pub(super) fn touch(&mut self, board: &Board) -> StepOutcome {
        match &mut self.map {
            Some(map) => touch(map, board),
            None => StepOutcome::NOTHING,
        }
    }
}

/// Maps memory, touches every page, unmaps it.
pub(super) fn allocate(bytes: u64, board: &Board) -> StepOutcome {
    match map(bytes) {
        Ok(mut map) => match touch(&mut map, board) {
            StepOutcome::Stopped => StepOutcome::Stopped,
            other => other,
        },
        Err(error) => StepOutcome::failed(&error, None),
    }
}

fn map(bytes: u64) -> io::Result<MmapMut> {
    let length = usize::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
    MmapOptions::new().len(length).map_anon()
}

fn touch(map: &mut MmapMut, board: &Board) -> StepOutcome {
    let page = rustix::param::page_size();
    for stride in map.chunks_mut(STRIDE_BYTES) {
        if board.is_stopping() {
            return StepOutcome::Stopped;
        }
        for page in stride.chunks_mut(page) {
            page[0] = std::hint::black_box(page[0]).wrapping_add(1);
        }
    }
    StepOutcome::NOTHING
}

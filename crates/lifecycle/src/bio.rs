//! Bios in flight, and the requests that carry them.
//!
//! A request is stored in the bio that it was allocated for, its **head**; merged bios are linked to it in a list. The
//! many requests that carry one bio need no second table and no second lookup.

use model::block::Kind;

use super::index::NIL;
use super::overtake_index::QueuePosition;
use super::phase::{Phase, PhaseTimes};

/// A time that has not come or was not recorded.
pub(super) const UNSEEN: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Queued; no request yet.
    Queued,
    /// Carried by another bio's request.
    Member,
    /// Heads a request that is not at the driver.
    Waiting,
    /// Heads a request at the driver.
    Issued,
    /// Heads a request that was requeued.
    Requeued,
    /// Heads a flush sequence whose data is written; the last flush is in progress.
    Flushing,
}

/// Flags of a bio.
pub(super) mod flag {
    /// A request without a bio: of the flush machinery, a passthrough command, or with an unrecorded queue event.
    pub(crate) const NO_BIO: u8 = 1;
    /// Split off another bio.
    pub(crate) const SPLIT_OFF: u8 = 2;
    /// Merged into an existing request.
    pub(crate) const MERGED: u8 = 4;
    /// Events are missing, and the matching of its events is uncertain.
    pub(crate) const DOUBTFUL: u8 = 8;
    /// The device's trace has no queue events: when it was queued is unknown. Its `queued_ns` is its first event.
    pub(crate) const UNQUEUED: u8 = 16;
}

pub(super) struct Bio {
    pub(super) sector: u64,
    pub(super) queued_ns: u64,
    /// Queue time by [`super::clock::Clock::lived_ns`].
    pub(super) born_ns: u64,
    /// When it got a request or was merged.
    pub(super) entered_ns: u64,
    /// Number of the event that allocated its request; for a driver's own request, of the issue.
    pub(super) entered_event: u64,
    pub(super) inserted_ns: u64,
    pub(super) issued_ns: u64,
    pub(super) remapped_ns: u64,
    pub(super) data_done_ns: u64,
    pub(super) sectors: u32,
    pub(super) bytes: u32,
    pub(super) position: Option<QueuePosition>,
    /// The device's losses before it.
    pub(super) losses_before: u32,
    pub(super) epoch: u32,
    pub(super) class: u16,
    pub(super) device: u16,
    pub(super) kind: Kind,
    pub(super) state: State,
    pub(super) flags: u8,
    /// Head only: the request's extent, without the completed part.
    pub(super) request_sector: u64,
    pub(super) request_sectors: u32,
    pub(super) issues: u16,
    pub(super) requeues: u16,
    /// The bio whose request carries this one, or carried it before being absorbed; otherwise its own number.
    pub(super) head: u32,
    /// Next bio of the same request; the list starts with the head.
    pub(super) next_member: u32,
    /// Head only.
    pub(super) last_member: u32,
    /// Its tags in the indices; 0 is none.
    pub(super) start_tag: u32,
    pub(super) end_tag: u32,
    /// Neighbours in queue order.
    pub(super) older: u32,
    pub(super) newer: u32,
}

impl Bio {
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(super) fn end(&self) -> u64 {
        self.sector.wrapping_add(u64::from(self.sectors))
    }

    pub(super) fn request_end(&self) -> u64 {
        self.request_sector.wrapping_add(u64::from(self.request_sectors))
    }

    /// Extent for lookups: that of the request, or of the bio before it has one.
    pub(super) fn extent(&self) -> (u64, u32) {
        match self.state {
            State::Queued | State::Member => (self.sector, self.sectors),
            _ => (self.request_sector, self.request_sectors),
        }
    }

    /// Phases of a bio carried by `head` (often itself) that completes now.
    pub(super) fn phases(&self, head: &Bio, now_ns: u64) -> PhaseTimes {
        let mut phases = PhaseTimes::default();
        let queued_ns = if self.has(flag::UNQUEUED) { UNSEEN } else { self.queued_ns };
        phases.span(Phase::Q2C, queued_ns, now_ns);
        if self.state == State::Queued {
            // A device without requests: it remaps bios, or completes them directly.
            phases.span(Phase::Q2A, self.queued_ns, self.remapped_ns);
            phases.span(Phase::A2C, self.remapped_ns, now_ns);
            return phases;
        }
        let issued_ns = head.issued_ns;
        if self.has(flag::MERGED) {
            phases.span(Phase::Q2M, queued_ns, self.entered_ns);
            phases.span(Phase::M2D, self.entered_ns, issued_ns);
        } else {
            phases.span(Phase::Q2G, queued_ns, self.entered_ns);
            if self.inserted_ns == UNSEEN {
                phases.span(Phase::G2D, self.entered_ns, issued_ns);
            } else {
                phases.span(Phase::G2I, self.entered_ns, self.inserted_ns);
                phases.span(Phase::I2D, self.inserted_ns, issued_ns);
            }
        }
        phases.span(Phase::D2C, issued_ns, now_ns);
        phases
    }
}

/// All bios in flight; numbers are reused. The owner bounds their number.
pub(super) struct Bios {
    bios: Vec<Bio>,
    unused: Vec<u32>,
    pub(super) oldest: u32,
    newest: u32,
}

impl Bios {
    pub(super) fn new() -> Bios {
        Bios { bios: Vec::new(), unused: Vec::new(), oldest: NIL, newest: NIL }
    }

    pub(super) fn len(&self) -> usize {
        self.bios.len() - self.unused.len()
    }

    /// Adds a bio as the newest in queue order.
    pub(super) fn add(&mut self, mut bio: Bio) -> u32 {
        bio.older = self.newest;
        bio.newer = NIL;
        let id = match self.unused.pop() {
            Some(id) => {
                self.bios[id as usize] = bio;
                id
            }
            None => {
                self.bios.push(bio);
                self.bios.len() as u32 - 1
            }
        };
        self.bios[id as usize].last_member = id;
        self.bios[id as usize].head = id;
        match self.newest {
            NIL => self.oldest = id,
            newest => self.bios[newest as usize].newer = id,
        }
        self.newest = id;
        id
    }

    /// The head of the request that carries `id`; `id` itself where no other does.
    pub(super) fn head_of(&mut self, id: u32) -> u32 {
        let mut head = id;
        while self[head].state == State::Member {
            // Path halving keeps later walks short.
            let above = self[head].head;
            self[head].head = self[above].head;
            head = above;
        }
        head
    }

    pub(super) fn remove(&mut self, id: u32) {
        let (older, newer) = (self[id].older, self[id].newer);
        match older {
            NIL => self.oldest = newer,
            _ => self[older].newer = newer,
        }
        match newer {
            NIL => self.newest = older,
            _ => self[newer].older = older,
        }
        // Lookups by its event number must no longer find it.
        self[id].entered_event = 0;
        self.unused.push(id);
    }
}

impl std::ops::Index<u32> for Bios {
    type Output = Bio;
    #[inline]
    fn index(&self, id: u32) -> &Bio {
        &self.bios[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Bios {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut Bio {
        &mut self.bios[id as usize]
    }
}

//! Bios in flight, and the requests that carry them.
//!
//! A request is kept in the bio that it was allocated for, its **head**; merged bios hang on it in a list. That saves a
//! second table and a second look-up for the many requests that carry one bio.

use model::block::Kind;

use super::index::NIL;
use super::phase::{Phase, PhaseTimes};
use super::watch::Place;

/// A moment that has not been, or that was not seen.
pub(super) const UNSEEN: u64 = u64::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Queued; no request yet.
    Queued,
    /// Carried by another bio's request.
    Member,
    /// Heads a request that the driver does not have.
    Waiting,
    /// Heads a request that the driver has.
    Issued,
    /// Heads a request that the driver gave back.
    Requeued,
    /// Heads a flush sequence whose data is written; the last flush is under way.
    Flushing,
}

/// What is peculiar about a bio.
pub(super) mod flag {
    /// There is a request but no bio: of the flush machinery, a passed-through command, or the queueing was not seen.
    pub(crate) const NO_BIO: u8 = 1;
    /// Cut off another bio.
    pub(crate) const SPLIT_OFF: u8 = 2;
    /// Merged into a request that was there.
    pub(crate) const MERGED: u8 = 4;
    /// Events are missing in a way that leaves open which event belongs to it.
    pub(crate) const DOUBTFUL: u8 = 8;
}

pub(super) struct Bio {
    pub(super) sector: u64,
    pub(super) queued_ns: u64,
    /// The same by [`super::clock::Clock::lived_ns`].
    pub(super) born_ns: u64,
    /// When it got a request of its own, or was merged.
    pub(super) entered_ns: u64,
    /// Number of the event by which it got its request; a driver's own request: by which it was issued.
    pub(super) entered_event: u64,
    pub(super) inserted_ns: u64,
    pub(super) issued_ns: u64,
    pub(super) remapped_ns: u64,
    pub(super) data_done_ns: u64,
    pub(super) sectors: u32,
    pub(super) bytes: u32,
    pub(super) place: Option<Place>,
    /// Number of the device's losses before it.
    pub(super) losses_before: u32,
    pub(super) epoch: u32,
    pub(super) class: u16,
    pub(super) device: u16,
    pub(super) kind: Kind,
    pub(super) state: State,
    pub(super) flags: u8,
    /// Head only: the request's extent, without what is completed already.
    pub(super) request_sector: u64,
    pub(super) request_sectors: u32,
    pub(super) issues: u16,
    pub(super) requeues: u16,
    /// The bio whose request carries this one, or carried it before it was absorbed itself; its own number otherwise.
    pub(super) head: u32,
    /// Next bio of the same request; the head's list begins with the head.
    pub(super) next_member: u32,
    /// Head only.
    pub(super) last_member: u32,
    /// Its place in the indices; 0 is none.
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

    /// Extent by which it is found: the request's, or the bio's own while there is none.
    pub(super) fn extent(&self) -> (u64, u32) {
        match self.state {
            State::Queued | State::Member => (self.sector, self.sectors),
            _ => (self.request_sector, self.request_sectors),
        }
    }

    /// Phases of a bio carried by `head` (itself, often) that completes now.
    pub(super) fn phases(&self, head: &Bio, now_ns: u64) -> PhaseTimes {
        let mut phases = PhaseTimes::default();
        phases.span(Phase::Q2C, self.queued_ns, now_ns);
        if self.state == State::Queued {
            // A device without requests: it hands bios on, or does their work at once.
            phases.span(Phase::Q2A, self.queued_ns, self.remapped_ns);
            phases.span(Phase::A2C, self.remapped_ns, now_ns);
            return phases;
        }
        let issued_ns = head.issued_ns;
        if self.has(flag::MERGED) {
            phases.span(Phase::Q2M, self.queued_ns, self.entered_ns);
            phases.span(Phase::M2D, self.entered_ns, issued_ns);
        } else {
            phases.span(Phase::Q2G, self.queued_ns, self.entered_ns);
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

/// All bios in flight; numbers are used again. Bounded by the owner.
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

    /// Adds a bio, as the newest in queue order.
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

    /// The bio that heads the request carrying `id`; itself where it is carried by no other.
    pub(super) fn head_of(&mut self, id: u32) -> u32 {
        let mut head = id;
        while self[head].state == State::Member {
            // Halving the path keeps later walks short.
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
        // Whoever remembers it by its event must not find it any more.
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

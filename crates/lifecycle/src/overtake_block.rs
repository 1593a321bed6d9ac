//! One block of queue positions; see [`super::overtake_index`].

/// No block.
pub(super) const NIL: u32 = u32::MAX;

/// Positions in a block.
pub(super) const BLOCK: usize = 1024;

/// Counts by class, ascending, none of them 0.
pub(super) type Tally = Vec<(u16, u32)>;

pub(super) struct Block {
    /// Number of earlier uses of the memory: distinguishes old positions from new ones.
    pub(super) generation: u32,
    /// Neighbours in queue order.
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) in_flight: u32,
    /// In flight when the block was opened.
    pub(super) at_start: Tally,
    /// Completed positions, as counted so far; [`Block::update_tally`] adds the rest.
    pub(super) tally: Tally,
    /// Completed positions of folded blocks between this one and the next.
    pub(super) folded: Tally,
    classes: Vec<u16>,
    done: [u64; BLOCK / 64],
    /// Classes of the positions completed since the last tally update.
    uncounted: Vec<u16>,
    /// Completions while this was the current block: positions used by then, and the class.
    completions: Vec<(u16, u16)>,
}

impl Default for Block {
    fn default() -> Self {
        Block {
            generation: 0,
            before: NIL,
            after: NIL,
            in_flight: 0,
            at_start: Tally::new(),
            tally: Tally::new(),
            folded: Tally::new(),
            classes: Vec::new(),
            done: [0; BLOCK / 64],
            uncounted: Vec::new(),
            completions: Vec::new(),
        }
    }
}

impl Block {
    pub(super) fn is_full(&self) -> bool {
        self.classes.len() == BLOCK
    }

    pub(super) fn queue(&mut self, class: u16) -> u16 {
        let within = self.classes.len() as u16;
        self.classes.push(class);
        self.in_flight += 1;
        within
    }

    pub(super) fn complete(&mut self, within: u16, class: u16) {
        self.done[usize::from(within) / 64] |= 1 << (within % 64);
        self.uncounted.push(class);
        self.in_flight -= 1;
    }

    /// A bio of this or an older block completed while this is the current block.
    pub(super) fn note_completion(&mut self, class: u16) {
        self.completions.push((self.classes.len() as u16, class));
    }

    /// Empties the block for its next use; allocations are kept.
    pub(super) fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        self.in_flight = 0;
        self.done = [0; BLOCK / 64];
        for tally in [&mut self.at_start, &mut self.tally, &mut self.folded] {
            tally.clear();
        }
        self.classes.clear();
        self.uncounted.clear();
        self.completions.clear();
    }

    /// Counts completions since the last update. `scratch` is all zero before and after.
    pub(super) fn update_tally(&mut self, scratch: &mut [i64]) {
        if self.uncounted.is_empty() {
            return;
        }
        let mut touched: Tally = Vec::new();
        for &class in &self.uncounted {
            let sum = &mut scratch[usize::from(class)];
            if *sum == 0 {
                touched.push((class, 0));
            }
            *sum += 1;
        }
        self.uncounted.clear();
        touched.sort_unstable();
        for (class, count) in &mut touched {
            *count = std::mem::take(&mut scratch[usize::from(*class)]) as u32;
        }
        add_counts(&mut self.tally, &touched);
    }

    fn is_done(&self, within: usize) -> bool {
        self.done[within / 64] >> (within % 64) & 1 == 1
    }

    /// Adds the bios in flight when the bio at `within` was queued.
    pub(super) fn in_flight_at(&self, within: u16, sums: &mut [i64]) {
        for &(class, count) in &self.at_start {
            sums[usize::from(class)] += i64::from(count);
        }
        for &class in &self.classes[..usize::from(within)] {
            sums[usize::from(class)] += 1;
        }
        for &(_, class) in self.completions.iter().take_while(|(taken, _)| *taken <= within) {
            sums[usize::from(class)] -= 1;
        }
    }

    /// Adds the completed positions after `within`.
    pub(super) fn completed_after(&self, within: u16, sums: &mut [i64]) {
        for position in usize::from(within) + 1..self.classes.len() {
            sums[usize::from(self.classes[position])] += i64::from(self.is_done(position));
        }
    }

    /// Adds the positions after `within` that are in flight.
    pub(super) fn in_flight_after(&self, within: u16, sums: &mut [i64]) {
        for position in usize::from(within) + 1..self.classes.len() {
            sums[usize::from(self.classes[position])] += i64::from(!self.is_done(position));
        }
    }

    /// Adds the positions in flight; few blocks have many.
    pub(super) fn in_flight_by_class(&self, sums: &mut [i64]) {
        let taken = self.classes.len();
        for (word, &done) in self.done.iter().enumerate() {
            let first = word * 64;
            if first >= taken {
                break;
            }
            let valid = if taken - first >= 64 { u64::MAX } else { (1 << (taken - first)) - 1 };
            let mut open = !done & valid;
            while open != 0 {
                sums[usize::from(self.classes[first + open.trailing_zeros() as usize])] += 1;
                open &= open - 1;
            }
        }
    }
}

/// Adds `more` to `tally`; both are ascending.
pub(super) fn add_counts(tally: &mut Tally, more: &[(u16, u32)]) {
    if more.is_empty() {
        return;
    }
    if tally.is_empty() {
        tally.extend_from_slice(more);
        return;
    }
    let mut at = 0;
    for &(class, count) in more {
        while at < tally.len() && tally[at].0 < class {
            at += 1;
        }
        match tally.get_mut(at) {
            Some((found, sum)) if *found == class => *sum += count,
            _ => tally.insert(at, (class, count)),
        }
    }
}

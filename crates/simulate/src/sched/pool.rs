//! Requests are few: who gets one, and who sleeps until one is free (`get_request_wait`, `blk_mq_get_tag`).

use std::collections::VecDeque;

use super::bio::Bio;
use super::traffic::Seen;

/// How many requests there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// So many for those that somebody waits for, and as many for the others: Linux before blk-mq.
    Separate(u32),
    /// So many for all, of which the others may have no more than the second number.
    Shared(u32, u32),
}

/// A submission that waits for a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) bio: Bio,
    /// In the order of coming.
    pub(super) number: u32,
    pub(super) seen: Seen,
    pub(super) queued_ns: u64,
    /// Somebody waits for it by now.
    pub(super) sync: bool,
    pub(super) promoted: bool,
}

/// Free requests and those who wait for one.
#[derive(Debug)]
pub(super) struct Pool {
    limit: Limit,
    /// Not waited for, waited for.
    used: [u32; 2],
    most_used: [u32; 2],
    waiting: VecDeque<Waiting>,
}

impl Pool {
    pub(super) fn new(limit: Limit) -> Pool {
        Pool { limit, used: [0; 2], most_used: [0; 2], waiting: VecDeque::new() }
    }

    fn has(&self, sync: bool) -> bool {
        let [not, waited_for] = self.used;
        match self.limit {
            Limit::Separate(each) => self.used[usize::from(sync)] < each,
            Limit::Shared(all, most) => not + waited_for < all && (sync || not < most),
        }
    }

    /// Takes a request, unless others came first. `barges`: they do not come first.
    pub(super) fn take(&mut self, sync: bool, barges: bool) -> bool {
        let others_first = !barges
            && self.waiting.iter().any(|other| match self.limit {
                Limit::Separate(_) => other.sync == sync,
                Limit::Shared(..) => self.has(other.sync),
            });
        let gets = !others_first && self.has(sync);
        if gets {
            self.note(sync);
        }
        gets
    }

    fn note(&mut self, sync: bool) {
        let used = &mut self.used[usize::from(sync)];
        *used += 1;
        let most_used = &mut self.most_used[usize::from(sync)];
        *most_used = (*most_used).max(*used);
    }

    pub(super) fn wait(&mut self, waiting: Waiting) {
        self.waiting.push_back(waiting);
    }

    pub(super) fn give_back(&mut self, sync: bool) {
        self.used[usize::from(sync)] -= 1;
    }

    /// The next who gets one now.
    pub(super) fn next(&mut self) -> Option<Waiting> {
        let place = self.waiting.iter().position(|waiting| self.has(waiting.sync))?;
        let waiting = self.waiting.remove(place)?;
        self.note(waiting.sync);
        Some(waiting)
    }

    /// The first who waits gets one, or goes to the end of the line.
    pub(super) fn look(&mut self) -> Option<Waiting> {
        let found = self.next();
        if found.is_none()
            && let Some(first) = self.waiting.pop_front()
        {
            self.waiting.push_back(first);
        }
        found
    }

    /// Somebody waits for what that task submits: it is first among those that are waited for.
    pub(super) fn promote(&mut self, task: u32) {
        let Some(place) = self.waiting.iter().position(|waiting| waiting.bio.task == task && !waiting.sync) else {
            return;
        };
        if let Some(waiting) = self.waiting.remove(place) {
            self.waiting.push_front(Waiting { sync: true, promoted: true, ..waiting });
        }
    }

    pub(super) fn waiters(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter()
    }

    /// In use: not waited for, waited for.
    pub(super) fn used(&self) -> [u32; 2] {
        self.used
    }

    /// Whether more were in use at any time than there are.
    #[cfg(test)]
    pub(super) fn overdrawn(&self) -> bool {
        let [not, waited_for] = self.most_used;
        match self.limit {
            Limit::Separate(each) => not > each || waited_for > each,
            Limit::Shared(all, most) => not > most || waited_for > all || self.used[0] + self.used[1] > all,
        }
    }
}

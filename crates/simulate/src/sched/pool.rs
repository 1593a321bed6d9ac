//! The pool of requests (tags), and the tasks that wait for one (`get_request_wait`, `blk_mq_get_tag`).

use std::collections::VecDeque;

use super::bio::Bio;
use super::traffic::Seen;

/// Size of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// This many for sync requests, and as many for async ones: Linux before blk-mq.
    Separate(u32),
    /// This many for all; async requests may have at most the second number.
    Shared(u32, u32),
}

/// A bio that waits for a tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) bio: Bio,
    /// In arrival order.
    pub(super) number: u32,
    pub(super) seen: Seen,
    pub(super) queued_ns: u64,
    /// Sync, by its kind or by promotion.
    pub(super) sync: bool,
    pub(super) promoted: bool,
}

/// Tags in use, and the bios that wait for one.
#[derive(Debug)]
pub(super) struct Pool {
    limit: Limit,
    /// Async, sync.
    used: [u32; 2],
    most_used: [u32; 2],
    waiting: VecDeque<Waiting>,
}

impl Pool {
    pub(super) fn new(limit: Limit) -> Pool {
        Pool { limit, used: [0; 2], most_used: [0; 2], waiting: VecDeque::new() }
    }

    fn has(&self, sync: bool) -> bool {
        let [asynchronous, sync_used] = self.used;
        match self.limit {
            Limit::Separate(each) => self.used[usize::from(sync)] < each,
            Limit::Shared(all, most) => asynchronous + sync_used < all && (sync || asynchronous < most),
        }
    }

    /// Takes a tag, unless others wait. `barges`: even if others wait.
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

    /// The next waiter that gets a tag now.
    pub(super) fn next(&mut self) -> Option<Waiting> {
        let place = self.waiting.iter().position(|waiting| self.has(waiting.sync))?;
        let waiting = self.waiting.remove(place)?;
        self.note(waiting.sync);
        Some(waiting)
    }

    /// The first waiter gets a tag, or goes to the end of the queue.
    pub(super) fn look(&mut self) -> Option<Waiting> {
        let found = self.next();
        if found.is_none()
            && let Some(first) = self.waiting.pop_front()
        {
            self.waiting.push_back(first);
        }
        found
    }

    /// Promotes the task's waiting bio: it becomes the first of the sync ones.
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

    /// Tags in use: async, sync.
    pub(super) fn used(&self) -> [u32; 2] {
        self.used
    }

    /// Whether more tags were ever in use than exist.
    #[cfg(test)]
    pub(super) fn overdrawn(&self) -> bool {
        let [asynchronous, sync_used] = self.most_used;
        match self.limit {
            Limit::Separate(each) => asynchronous > each || sync_used > each,
            Limit::Shared(all, most) => asynchronous > most || sync_used > all || self.used[0] + self.used[1] > all,
        }
    }
}

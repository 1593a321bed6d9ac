//! Times between bios, over all devices.

use super::histogram::Histogram;

#[derive(Default)]
pub(super) struct Arrivals {
    pub(super) q2q: Histogram,
    /// Queue time and clock epoch of the last bio; `None` after lost events.
    last: Option<(u64, u32)>,
}

impl Arrivals {
    #[inline]
    pub(super) fn count(&mut self, now_ns: u64, epoch: u32) {
        if let Some((last_ns, last_epoch)) = self.last
            && last_epoch == epoch
            && last_ns <= now_ns
        {
            self.q2q.record(now_ns - last_ns);
        }
        self.last = Some((now_ns, epoch));
    }

    /// Events are missing, possibly queue events.
    pub(super) fn interrupt(&mut self) {
        self.last = None;
    }
}

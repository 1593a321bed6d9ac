//! How closely bios follow one another, whatever their device.

use super::histogram::Histogram;

#[derive(Default)]
pub(super) struct Arrivals {
    pub(super) q2q: Histogram,
    /// When the last bio was queued, and in which epoch of the clock. `None` where events are missing behind it.
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

    /// Events are missing: whether a bio was among them is not known.
    pub(super) fn interrupt(&mut self) {
        self.last = None;
    }
}

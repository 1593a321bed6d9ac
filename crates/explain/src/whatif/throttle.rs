//! blk-throttle's rule: when a request passes a limit.

use std::cmp::Ordering;

/// Slice of blk-throttle (DFL_THROTL_SLICE), ns.
pub(super) const SLICE_NS: f64 = 100e6;
/// *Assumed* timer tick of the kernel, ns: HZ is not recorded, and 250 is most common.
const TICK_NS: f64 = 4e6;

/// What a limit allows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rate {
    pub(super) bytes_per_s: Option<f64>,
    pub(super) per_s: Option<f64>,
}

/// The state of a limit. Times are ns since any moment.
///
/// A slice has budget for as many whole slices as have begun in it. What is over budget waits for the next one, and
/// what is larger than one for as long as its size takes. Budget of earlier slices is kept for one slice, and lost when
/// nobody used the limit for one.
#[derive(Debug)]
pub(super) struct Throttle {
    rate: Rate,
    start_ns: f64,
    end_ns: f64,
    bytes: f64,
    requests: f64,
    /// The last request passed: others queue behind it.
    passed_ns: f64,
}

impl Throttle {
    pub(super) fn new(rate: Rate) -> Throttle {
        Throttle { rate, start_ns: 0.0, end_ns: -1.0, bytes: 0.0, requests: 0.0, passed_ns: 0.0 }
    }

    /// When a request of this size that comes now passes. Requests come in order.
    pub(super) fn pass(&mut self, now_ns: f64, bytes: f64) -> f64 {
        let mut at_ns = now_ns.max(self.passed_ns);
        let mut is_queued = at_ns > now_ns;
        loop {
            let wait_ns = self.wait_ns(at_ns, bytes, is_queued);
            // Nor where it is no number: a limit that lets nothing pass.
            if wait_ns.partial_cmp(&0.0) != Some(Ordering::Greater) || !wait_ns.is_finite() {
                break;
            }
            (at_ns, is_queued) = (ticks(at_ns) + wait_ns, true);
        }
        self.bytes += bytes;
        self.requests += 1.0;
        self.trim(ticks(at_ns));
        self.passed_ns = at_ns;
        at_ns
    }

    fn wait_ns(&mut self, at_ns: f64, bytes: f64, is_queued: bool) -> f64 {
        let now_ns = ticks(at_ns);
        let is_over = now_ns < self.start_ns || now_ns > self.end_ns;
        if is_over && !is_queued {
            (self.start_ns, self.bytes, self.requests) = (now_ns, 0.0, 0.0);
        }
        self.end_ns = self.end_ns.max(slices_up(now_ns + SLICE_NS));
        let elapsed_ns = now_ns - self.start_ns;
        let begun_ns = slices_up(elapsed_ns).max(SLICE_NS);
        let over_bytes = |per_s: f64| (self.bytes + bytes - per_s * begun_ns / 1e9) / per_s * 1e9;
        let of_bytes = self.rate.bytes_per_s.map_or(0.0, over_bytes);
        // Less than a byte is an error of rounding.
        let by_bytes = if of_bytes > 1e-3 { ticks(of_bytes).max(TICK_NS) + begun_ns - elapsed_ns } else { 0.0 };
        let begun_by_count_ns = slices_up(elapsed_ns + TICK_NS);
        let is_over_count = |per_s: f64| self.requests + 1.0 > (per_s * begun_by_count_ns / 1e9).floor();
        let by_count = if self.rate.per_s.is_some_and(is_over_count) { begun_by_count_ns - elapsed_ns } else { 0.0 };
        let wait_ns = by_bytes.max(by_count);
        self.end_ns = self.end_ns.max(slices_up(now_ns + wait_ns));
        wait_ns
    }

    /// Forgets all whole slices but the last, with what they allowed.
    fn trim(&mut self, now_ns: f64) {
        self.end_ns = slices_up(now_ns + SLICE_NS);
        let whole_ns = ((now_ns - self.start_ns) / SLICE_NS).floor() * SLICE_NS - SLICE_NS;
        if whole_ns >= SLICE_NS {
            self.bytes = (self.bytes - self.rate.bytes_per_s.unwrap_or(0.0) * whole_ns / 1e9).max(0.0);
            self.requests = (self.requests - self.rate.per_s.unwrap_or(0.0) * whole_ns / 1e9).max(0.0);
            self.start_ns += whole_ns;
        }
    }
}

fn ticks(ns: f64) -> f64 {
    (ns / TICK_NS).floor() * TICK_NS
}

fn slices_up(ns: f64) -> f64 {
    (ns / SLICE_NS).ceil() * SLICE_NS
}

#[cfg(test)]
mod tests {
    use super::{Rate, Throttle};

    #[test]
    fn a_limit_that_lets_nothing_pass_ends() {
        for (bytes_per_s, per_s) in [(Some(0.0), None), (Some(0.0), Some(1.0)), (Some(f64::NAN), None)] {
            let mut throttle = Throttle::new(Rate { bytes_per_s, per_s });
            for turn in 0..3 {
                throttle.pass(f64::from(turn) * 1e6, 4096.0);
            }
        }
    }
}

//! Rates, depths and latencies over time, in bins of equal width.
//!
//! The length of a trace is unknown before its end. Bins start narrow. When the trace outgrows them, neighbours are
//! merged and the width doubles: memory is bounded and the width is a power of two.

use model::block::Operation;

/// Maximum number of bins.
pub const BINS: usize = 1024;
/// First width: about a millisecond.
const FIRST_WIDTH_BITS: u32 = 20;
/// Rows of the heat map.
pub const HEAT_ROWS: usize = 40;

/// One bin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bin {
    /// Bios queued.
    pub queued: u64,
    /// Requests issued.
    pub issued: u64,
    /// Bios completed: reads, writes, discards, others.
    pub completed: [u64; 4],
    /// Bytes of the completed bios, by the same columns.
    pub completed_bytes: [u64; 4],
    /// Bios in flight, integrated over the bin; divided by the width, the mean depth.
    pub depth_ns: u128,
    /// Maximum number of bios in flight.
    pub depth_max: u32,
    /// Requests at the device, integrated over the bin.
    pub issued_depth_ns: u128,
    /// Sum of the completed bios' latencies; [`Bin::latencies`] is their number.
    pub latency_sum_ns: u128,
    /// Longest latency.
    pub latency_max_ns: u64,
    /// Bios whose latency is known.
    pub latencies: u64,
    /// Heat map: number of bios by latency row; see [`heat_row_range_ns`].
    pub heat: [u32; HEAT_ROWS],
}

impl Default for Bin {
    fn default() -> Self {
        Bin {
            queued: 0,
            issued: 0,
            completed: [0; 4],
            completed_bytes: [0; 4],
            depth_ns: 0,
            depth_max: 0,
            issued_depth_ns: 0,
            latency_sum_ns: 0,
            latency_max_ns: 0,
            latencies: 0,
            heat: [0; HEAT_ROWS],
        }
    }
}

impl Bin {
    fn add(&mut self, other: &Bin) {
        self.queued += other.queued;
        self.issued += other.issued;
        for operation in 0..4 {
            self.completed[operation] += other.completed[operation];
            self.completed_bytes[operation] += other.completed_bytes[operation];
        }
        self.depth_ns += other.depth_ns;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.issued_depth_ns += other.issued_depth_ns;
        self.latency_sum_ns += other.latency_sum_ns;
        self.latency_max_ns = self.latency_max_ns.max(other.latency_max_ns);
        self.latencies += other.latencies;
        for (row, more) in self.heat.iter_mut().zip(&other.heat) {
            *row += more;
        }
    }
}

/// The range of latencies in a row of the heat map, inclusive: a row is half a doubling, the lowest starts at 0 and the
/// highest is open.
pub fn heat_row_range_ns(row: usize) -> (u64, u64) {
    let start = |row: usize| if row == 0 { 0 } else { (2 + row as u64 % 2) << (9 + row / 2) };
    (start(row), if row + 1 == HEAT_ROWS { u64::MAX } else { start(row + 1) - 1 })
}

#[inline]
fn heat_row(latency_ns: u64) -> usize {
    let bits = 63 - (latency_ns | 1).leading_zeros();
    let half = (latency_ns >> bits.saturating_sub(1) & 1) as u32;
    (((bits * 2 + half).saturating_sub(20)) as usize).min(HEAT_ROWS - 1)
}

/// Bins from the first event on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Start of the first bin, on the trace's clock.
    pub start_ns: u64,
    /// The bins.
    pub bins: Vec<Bin>,
    width_bits: u32,
    depth: u32,
    issued_depth: u32,
    depth_since_ns: u64,
}

impl Timeline {
    pub(super) fn new(start_ns: u64) -> Timeline {
        Timeline {
            start_ns,
            bins: Vec::new(),
            width_bits: FIRST_WIDTH_BITS,
            depth: 0,
            issued_depth: 0,
            depth_since_ns: start_ns,
        }
    }

    /// Width of a bin.
    pub fn width_ns(&self) -> u64 {
        1 << self.width_bits
    }

    #[inline]
    fn bin(&mut self, time_ns: u64) -> &mut Bin {
        let mut number = (time_ns.saturating_sub(self.start_ns) >> self.width_bits) as usize;
        if number >= self.bins.len() {
            number = self.extend(time_ns);
        }
        &mut self.bins[number]
    }

    #[cold]
    fn extend(&mut self, time_ns: u64) -> usize {
        let since_start_ns = time_ns.saturating_sub(self.start_ns);
        while since_start_ns >> self.width_bits >= BINS as u64 {
            self.width_bits += 1;
            let halved = self.bins.len().div_ceil(2);
            for number in 0..halved {
                let mut sum = std::mem::take(&mut self.bins[number * 2]);
                if let Some(second) = self.bins.get(number * 2 + 1) {
                    sum.add(second);
                }
                self.bins[number] = sum;
            }
            self.bins.truncate(halved);
        }
        let number = (since_start_ns >> self.width_bits) as usize;
        self.bins.resize(number + 1, Bin::default());
        number
    }

    /// A bio was queued, or split off.
    #[inline]
    pub(super) fn queue(&mut self, time_ns: u64, in_flight: u32) {
        self.change_depth(time_ns, in_flight, self.issued_depth);
        let bin = self.bin(time_ns);
        bin.queued += 1;
        bin.depth_max = bin.depth_max.max(in_flight);
    }

    /// A request was issued to the device, or left it.
    #[inline]
    pub(super) fn issue(&mut self, time_ns: u64, issued: u32, begins: bool) {
        self.change_depth(time_ns, self.depth, issued);
        if begins {
            self.bin(time_ns).issued += 1;
        }
    }

    /// A bio completed; `latency_ns` is `None` where it is uncertain.
    #[inline]
    pub(super) fn complete(
        &mut self,
        time_ns: u64,
        in_flight: u32,
        operation: Operation,
        bytes: u64,
        latency_ns: Option<u64>,
    ) {
        self.change_depth(time_ns, in_flight, self.issued_depth);
        let bin = self.bin(time_ns);
        // Operations count in the order: reads, writes, discards, others.
        let column = (operation as usize).wrapping_sub(1).min(3);
        bin.completed[column] += 1;
        bin.completed_bytes[column] += bytes;
        if let Some(latency_ns) = latency_ns {
            bin.latencies += 1;
            bin.latency_sum_ns += u128::from(latency_ns);
            bin.latency_max_ns = bin.latency_max_ns.max(latency_ns);
            bin.heat[heat_row(latency_ns)] += 1;
        }
    }

    fn change_depth(&mut self, time_ns: u64, depth: u32, issued_depth: u32) {
        if time_ns > self.depth_since_ns {
            if self.depth | self.issued_depth != 0 {
                self.integrate(time_ns);
            }
            self.depth_since_ns = time_ns;
        }
        self.depth = depth;
        self.issued_depth = issued_depth;
    }

    /// Adds the current depths to all bins up to `time_ns`.
    fn integrate(&mut self, time_ns: u64) {
        let (depth, issued_depth) = (u128::from(self.depth), u128::from(self.issued_depth));
        self.bin(time_ns);
        let mut from_ns = self.depth_since_ns.max(self.start_ns);
        while from_ns < time_ns {
            let bins = u128::from(((from_ns - self.start_ns) >> self.width_bits) + 1);
            let bin_end = u128::from(self.start_ns) + (bins << self.width_bits);
            let to_ns = bin_end.min(u128::from(time_ns)) as u64;
            let span = u128::from(to_ns - from_ns);
            let bin = self.bin(from_ns);
            bin.depth_ns += span * depth;
            bin.issued_depth_ns += span * issued_depth;
            from_ns = to_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use model::block::Operation;
    use proptest::prelude::*;

    use super::{BINS, HEAT_ROWS, Timeline, heat_row, heat_row_range_ns};

    #[test]
    fn heat_rows_follow_one_another() {
        for row in 0..HEAT_ROWS {
            let (low, high) = heat_row_range_ns(row);
            assert_eq!((heat_row(low), heat_row(high)), (row, row), "row {row}: {low}..={high}");
        }
    }

    #[test]
    fn depth_is_spread_over_the_bins_it_lasted() {
        let mut timeline = Timeline::new(0);
        timeline.queue(0, 1);
        timeline.complete(3 << 20, 0, Operation::Read, 4096, Some(3 << 20));
        assert_eq!(timeline.bins.len(), 4);
        for bin in &timeline.bins[..3] {
            assert_eq!(bin.depth_ns, 1 << 20);
        }
        assert_eq!((timeline.bins[3].depth_ns, timeline.bins[3].completed[0]), (0, 1));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_when_bins_widen(steps in proptest::collection::vec(1_u64..5_000_000_000, 1..300)) {
            let mut timeline = Timeline::new(1000);
            let mut now = 1000;
            for step in &steps {
                timeline.queue(now, 1);
                now += step;
                timeline.complete(now, 0, Operation::Write, 512, Some(*step));
            }
            prop_assert!(timeline.bins.len() <= BINS);
            prop_assert_eq!(timeline.bins.iter().map(|bin| bin.queued).sum::<u64>(), steps.len() as u64);
            prop_assert_eq!(timeline.bins.iter().map(|bin| bin.completed_bytes[1]).sum::<u64>(),
                512 * steps.len() as u64);
            let total: u64 = steps.iter().sum();
            prop_assert_eq!(timeline.bins.iter().map(|bin| bin.depth_ns).sum::<u128>(), u128::from(total));
        }
    }
}

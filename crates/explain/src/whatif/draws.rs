//! What the run might have recorded: blocks of its time, drawn with repetition. Stalls come in bursts, so operations
//! are not drawn individually.

use super::calls::Drawn;
use statistics::SplitMix64;

/// Blocks of time that are drawn with repetition.
const BLOCKS: usize = 20;
/// Draws.
const DRAWS: usize = 200;
/// An interval leaves out this share at each side.
const OUTSIDE: f64 = 0.05;

/// A predicted figure with a 90 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate {
    /// The prediction.
    pub value: u64,
    /// Lower end.
    pub low: u64,
    /// Upper end.
    pub high: u64,
}

impl Estimate {
    pub(super) fn widened(self, factor: f64) -> Estimate {
        let (low, high) = (self.low as f64 / factor, self.high as f64 * factor);
        Estimate { low: low.round() as u64, high: high.round() as u64, ..self }
    }
}

/// Operations by duration, each with the block that it is drawn with: they are sorted once for all draws.
pub(super) struct Sorted {
    pub(super) operations: Vec<Ranked>,
    /// Operations of each block.
    lengths: Vec<u64>,
}

/// How often each draw takes each block.
pub(super) type Drawings = [Vec<u64>];

/// An operation in that order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ranked {
    pub(super) ns: u64,
    /// How often it is done.
    pub(super) times: f64,
    /// The part of it that no other one has.
    pub(super) once: f64,
    pub(super) block: u32,
}

impl Sorted {
    /// Blocks of so many operations.
    fn of<Of: Drawn>(all: &[Of], length: usize, ns: fn(&Of) -> u64) -> Sorted {
        let ranked = |(at, one): (usize, &Of)| {
            let (ns, times, once) = (ns(one), one.times(), one.once());
            Ranked { ns, times, once, block: (at / length) as u32 }
        };
        let mut operations: Vec<Ranked> = all.iter().enumerate().map(ranked).collect();
        operations.sort_by_key(|operation| operation.ns);
        Sorted { operations, lengths: all.chunks(length).map(|block| block.len() as u64).collect() }
    }

    /// All of them, as one block, of which a draw takes one.
    pub(super) fn whole<Of: Drawn>(all: &[Of], ns: fn(&Of) -> u64) -> Sorted {
        Sorted::of(all, all.len().max(1), ns)
    }

    /// How many operations a draw has that takes each block so often.
    pub(super) fn count(&self, drawn: &[u64]) -> u64 {
        self.lengths.iter().zip(drawn).map(|(length, times)| length * times).sum()
    }

    /// For each block the draws that take it, each as often as it does. A walk over operations that adds each to these
    /// has no branch that depends on chance, unlike one over all operations for each draw.
    pub(super) fn takers(&self, drawings: &Drawings) -> Vec<Vec<u32>> {
        let most = drawings.iter().flatten().copied().max().unwrap_or(0);
        let of_block = |block: usize| {
            // Once for all, then again: one draw does not have to wait for its own last sum.
            let takes = |nth: u64| drawings.iter().zip(0..).filter(move |(drawn, _)| drawn[block] > nth);
            (0..most).flat_map(|nth| takes(nth).map(|(_, draw)| draw)).collect()
        };
        (0..self.lengths.len()).map(of_block).collect()
    }
}

/// The figures of all draws.
pub(super) struct Draws<Figures> {
    /// As predicted.
    figures: Vec<Figures>,
    /// If unexplained time were of the changed kind.
    least: Vec<Figures>,
}

impl<Figures> Draws<Figures> {
    /// `copies`: of so many, one is drawn. `figures_of`: those of each draw.
    pub(super) fn of<Of: Drawn>(
        all: &[Of],
        copies: usize,
        figures_of: impl Fn(&Sorted, &Drawings) -> Vec<Figures>,
    ) -> Draws<Figures> {
        let length = all.len().div_ceil(BLOCKS * copies).max(1);
        let blocks = all.len().div_ceil(length);
        if blocks == 0 {
            return Draws { figures: Vec::new(), least: Vec::new() };
        }
        let mut random = SplitMix64::of(blocks as u64);
        let mut drawings = vec![vec![0; blocks]; DRAWS];
        for drawn in &mut drawings {
            (0..blocks.div_ceil(copies)).for_each(|_| drawn[random.below(blocks)] += 1);
        }
        let [figures, least] =
            [Of::duration_ns, Of::at_least_ns].map(|ns| figures_of(&Sorted::of(all, length, ns), &drawings));
        Draws { figures, least }
    }

    pub(super) fn estimate(&self, value: u64, figure: impl Fn(&Figures) -> u64) -> Estimate {
        self.between(value, &figure, &figure)
    }

    /// `low`, `high`: the figure at its least and at its most.
    pub(super) fn between(
        &self,
        value: u64,
        low: impl Fn(&Figures) -> u64,
        high: impl Fn(&Figures) -> u64,
    ) -> Estimate {
        let mut lows: Vec<u64> = self.least.iter().map(low).collect();
        let mut highs: Vec<u64> = self.figures.iter().map(high).collect();
        lows.sort_unstable();
        highs.sort_unstable();
        let outside = (DRAWS as f64 * OUTSIDE) as usize;
        let at = |figures: &[u64], at: usize| figures.get(at).copied().unwrap_or(value);
        Estimate { value, low: at(&lows, outside).min(value), high: at(&highs, DRAWS - 1 - outside).max(value) }
    }
}

#[cfg(test)]
mod tests {
    use statistics::SplitMix64;

    use super::{BLOCKS, DRAWS, Drawn, Draws};

    struct One(u64);

    impl Drawn for One {
        fn duration_ns(&self) -> u64 {
            self.0
        }

        fn at_least_ns(&self) -> u64 {
            self.0 / 2
        }
    }

    #[test]
    fn a_draw_has_the_operations_of_its_blocks_in_order_of_duration() {
        let all: Vec<One> = (0..95).map(|number| One(number * 7919 % 31)).collect();
        let drawn = Draws::of(&all, 1, |sorted, drawings| {
            let takers = sorted.takers(drawings);
            let mut taken = vec![Vec::new(); drawings.len()];
            for of in &sorted.operations {
                takers[of.block as usize].iter().for_each(|draw| taken[*draw as usize].push(of.ns));
            }
            let counts = taken.iter().map(|taken| taken.len() as u64);
            assert!(counts.eq(drawings.iter().map(|drawn| sorted.count(drawn))));
            taken
        });
        let blocks: Vec<&[One]> = all.chunks(all.len().div_ceil(BLOCKS)).collect();
        let mut random = SplitMix64::of(blocks.len() as u64);
        for nth in 0..DRAWS {
            let taken: Vec<&One> = (0..blocks.len()).flat_map(|_| blocks[random.below(blocks.len())]).collect();
            for (sorted, ns) in
                [(&drawn.figures, One::duration_ns as fn(&One) -> u64), (&drawn.least, One::at_least_ns)]
            {
                let mut expected: Vec<u64> = taken.iter().map(|one| ns(one)).collect();
                expected.sort_unstable();
                assert_eq!(sorted[nth], expected);
            }
        }
    }
}

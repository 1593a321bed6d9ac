//! One figure of four periods → one difference of a block.

use crate::figures::{FigureTable, PeriodFigures};
use crate::schedule::PERIODS_OF_BLOCK;

/// The blocks of which every period ran to its end. An unfinished block favours a side.
pub(crate) fn complete(table: &FigureTable) -> impl Iterator<Item = &[PeriodFigures]> {
    let blocks = table.periods.chunk_by(|one, next| one.period.block == next.period.block);
    blocks.filter(|block| block.len() == PERIODS_OF_BLOCK as usize)
}

/// The periods of one side.
pub(crate) fn side(block: &[PeriodFigures], changed: bool) -> impl Iterator<Item = &PeriodFigures> {
    block.iter().filter(move |row| row.period.changed == changed)
}

/// The logarithm of the ratio of two sides' values: of their geometric means, or of the arithmetic ones where a value
/// is 0. Exchanging the sides changes only its sign. `None` where a side has no value.
pub(crate) fn log_ratio(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    if a.is_empty() || b.is_empty() || a.iter().chain(b).any(|value| !value.is_finite() || *value < 0.0) {
        return None;
    }
    if a.iter().chain(b).all(|value| *value > 0.0) {
        let logs = |values: &[f64]| mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>());
        return Some(logs(b) - logs(a));
    }
    let (a, b) = (mean(a), mean(b));
    Some(if a == b { 0.0 } else { b.ln() - a.ln() })
}

#[cfg(test)]
mod tests {
    use super::log_ratio;

    #[test]
    fn ratios_of_sides() {
        let of = |a: &[f64], b: &[f64]| log_ratio(a, b).map(f64::exp);
        assert!((of(&[1.0, 4.0], &[2.0, 8.0]).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(of(&[0.0, 4.0], &[1.0, 1.0]), Some(0.5));
        assert_eq!(of(&[0.0, 0.0], &[0.0, 0.0]), Some(1.0));
        assert_eq!(of(&[0.0], &[1.0]), Some(f64::INFINITY));
        assert_eq!(of(&[1.0], &[0.0]), Some(0.0));
        assert_eq!((of(&[], &[1.0]), of(&[-1.0], &[1.0])), (None, None));
    }

    proptest::proptest! {
        #[test]
        fn exchanged_sides_change_the_sign(
            a in proptest::collection::vec(0_u32..5, 1..3),
            b in proptest::collection::vec(0_u32..5, 1..3),
        ) {
            let [a, b] = [a, b].map(|side| side.into_iter().map(f64::from).collect::<Vec<_>>());
            let (there, back) = (log_ratio(&a, &b).unwrap(), log_ratio(&b, &a).unwrap());
            proptest::prop_assert!(there == -back, "{there} {back}");
        }
    }
}

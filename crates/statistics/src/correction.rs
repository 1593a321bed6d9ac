//! Correction for multiple tests: Benjamini and Hochberg (1995).
//!
//! On average, at most the given share of the metrics reported as different is different by chance. This holds for
//! independent and for positively dependent metrics (Benjamini, Yekutieli 2001), such as latencies and rates.

/// For each p, the smallest false discovery rate at which it counts as different.
pub fn q_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&x, &y| p_values[y].total_cmp(&p_values[x]));
    let mut q_values = vec![1.0; p_values.len()];
    let mut smallest: f64 = 1.0;
    for (from_largest, &at) in order.iter().enumerate() {
        let rank = p_values.len() - from_largest;
        smallest = smallest.min(p_values[at] * p_values.len() as f64 / rank as f64);
        q_values[at] = smallest;
    }
    q_values
}

#[cfg(test)]
mod tests {
    use super::q_values;

    /// `scipy.stats.false_discovery_control` of SciPy 1.17.1.
    #[test]
    fn q_values_are_those_of_scipy() {
        let p = [0.01, 0.04, 0.03, 0.005, 0.8, 0.03];
        let expected = [0.03, 0.048, 0.045, 0.03, 0.8, 0.045];
        for (found, expected) in q_values(&p).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
        assert_eq!(q_values(&[]), [0.0; 0]);
        assert_eq!(q_values(&[0.05]), [0.05]);
    }
}

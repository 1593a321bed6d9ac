//! A value over time in one line of text.

use crate::style::Style;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['.', '.', ':', ':', '-', '=', '*', '#'];

/// One character per value, scaled from zero to the largest; a blank for a missing value.
pub fn sparkline(values: &[Option<f64>], style: Style) -> String {
    let bars = if style.unicode { BARS } else { ASCII };
    let largest = values.iter().flatten().copied().fold(0.0, f64::max);
    let bar = |value: f64| {
        let scaled = if largest > 0.0 { (value / largest * 7.0).round() } else { 0.0 };
        bars[(scaled.max(0.0) as usize).min(7)]
    };
    values.iter().map(|value| value.map_or(' ', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;
    use crate::style::Style;

    #[test]
    fn a_missing_value_is_a_blank_not_a_zero() {
        let style = Style { unicode: true, ..Style::PLAIN };
        assert_eq!(sparkline(&[Some(0.0), None, Some(7.0), Some(14.0)], style), "▁ ▅█");
        assert_eq!(sparkline(&[Some(0.0), Some(0.0)], style), "▁▁");
        assert_eq!(sparkline(&[Some(1.0), None], Style::PLAIN), "# ");
    }
}

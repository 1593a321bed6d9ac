//! A chart with a point for each run of each metric: it shows the distribution, outliers and the number of runs, which
//! bars hide.

use std::fmt::Write as _;

use compare::{Compared, Comparison, Verdict};

use super::names::headings;
use super::value::{change, interval, value, verdict};

const WIDTH: f64 = 1060.0;
const LEFT: f64 = 170.0;
const RIGHT: f64 = 430.0;
const PLOT: f64 = WIDTH - LEFT - RIGHT;
const TOP: f64 = 56.0;
/// From one line of the legend to the next.
const LINE: f64 = 18.0;
const LANE: f64 = 15.0;
const GAP: f64 = 14.0;
const COLOURS: [&str; 6] = ["#56697d", "#c2571a", "#2a78b8", "#3c8f4e", "#8a5aa8", "#b23a5e"];

/// Metrics of all comparisons against one baseline, with the baseline on top.
pub fn svg(found: &[Comparison]) -> String {
    let Some(first) = found.first() else { return String::new() };
    let lanes = found.len() as f64 + 1.0;
    let each = lanes * LANE + GAP;
    let (legend, lines) = legend(first, found);
    let top = TOP + LINE * (lines - 1.0);
    let height = top + each * first.metrics.len() as f64 + 20.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\" role=\"img\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{legend}"
    );
    for (at, metric) in first.metrics.iter().enumerate() {
        let others: Vec<Option<&Compared>> =
            found.iter().map(|one| one.metrics.iter().find(|other| other.name == metric.name)).collect();
        panel(&mut text, top + each * at as f64, metric, &others);
    }
    text.push_str("</svg>\n");
    text
}

/// The legend, and its number of lines.
fn legend(first: &Comparison, found: &[Comparison]) -> (String, f64) {
    let names: Vec<&str> =
        std::iter::once(&first.a.0).chain(found.iter().map(|one| &one.b.0)).map(String::as_str).collect();
    let (mut text, mut x, mut lines) = (String::new(), LEFT, 1.0);
    for (at, name) in headings(&names).iter().enumerate() {
        let (colour, name) = (COLOURS[at % COLOURS.len()], escaped(name));
        let width = 30.0 + 7.0 * name.chars().count() as f64;
        if x > LEFT && x + width > WIDTH {
            (x, lines) = (LEFT, lines + 1.0);
        }
        let y = LINE * lines;
        let _ = writeln!(text, "<circle cx=\"{x}\" cy=\"{}\" r=\"4\" fill=\"{colour}\"/>", y - 2.0);
        let _ = writeln!(text, "<text x=\"{}\" y=\"{}\">{name}</text>", x + 8.0, y + 2.0);
        x += width;
    }
    let _ = writeln!(
        text,
        "<text x=\"{LEFT}\" y=\"{}\" fill=\"#777\">a point is a run; a bar is the median; each metric has its own \
         scale, \
         from zero if that is near; sides from top to bottom as above</text>",
        LINE * (lines + 1.0) + 2.0
    );
    (text, lines)
}

fn panel(text: &mut String, top: f64, metric: &Compared, others: &[Option<&Compared>]) {
    let sides: Vec<&[f64]> = std::iter::once(&metric.a[..])
        .chain(others.iter().map(|other| other.map_or(&[][..], |other| &other.b[..])))
        .collect();
    let axis = Axis::of(&sides);
    axis.draw(text, top, top + LANE * sides.len() as f64, metric);
    for (lane, values) in sides.iter().enumerate() {
        points(text, top + LANE * (lane as f64 + 0.5), COLOURS[lane % COLOURS.len()], values, &axis);
    }
    for (at, other) in others.iter().enumerate() {
        if let Some(other) = other {
            result(text, top + LANE * (at as f64 + 1.75), other);
        }
    }
}

/// The scale of one metric, from zero if that is near.
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    fn of(sides: &[&[f64]]) -> Axis {
        let all = sides.iter().copied().flatten().copied();
        let largest = all.clone().fold(0.0, f64::max);
        let smallest = all.fold(f64::INFINITY, f64::min);
        let near = smallest - 0.2 * (largest - smallest).max(0.01 * largest);
        let from = if smallest < 0.5 * largest { 0.0 } else { near };
        Axis { from, to: largest + 0.05 * (largest - from).max(f64::MIN_POSITIVE) }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + PLOT * (value - self.from) / (self.to - self.from)
    }

    fn draw(&self, text: &mut String, top: f64, bottom: f64, metric: &Compared) {
        let _ = writeln!(text, "<text x=\"8\" y=\"{}\">{}</text>", top + LANE, escaped(&metric.name));
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{bottom}\" y2=\"{bottom}\" stroke=\"#ddd\"/>\
             <text x=\"{LEFT}\" y=\"{}\" fill=\"#999\" font-size=\"9\">{}</text>\
             <text x=\"{}\" y=\"{}\" fill=\"#999\" font-size=\"9\" text-anchor=\"end\">{}</text>",
            LEFT + PLOT,
            bottom + 9.0,
            escaped(&value(self.from, &metric.unit)),
            LEFT + PLOT,
            bottom + 9.0,
            escaped(&value(self.to, &metric.unit)),
        );
    }
}

/// A side's runs, and a bar at their median.
fn points(text: &mut String, y: f64, colour: &str, values: &[f64], axis: &Axis) {
    for (run, value) in values.iter().enumerate() {
        // Runs of equal value lie side by side rather than on top of each other.
        let aside = [0.0, -3.0, 3.0][run % 3];
        let _ = writeln!(
            text,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\" fill-opacity=\"0.6\"/>",
            axis.x(*value),
            y + aside
        );
    }
    if let Some(middle) = median(values) {
        let middle = axis.x(middle);
        let _ = writeln!(
            text,
            "<line x1=\"{middle:.1}\" x2=\"{middle:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\" \
             stroke-width=\"2\"/>",
            y - 6.0,
            y + 6.0
        );
    }
}

/// The change against the baseline, and the verdict.
fn result(text: &mut String, y: f64, metric: &Compared) {
    let colour = match metric.verdict {
        Verdict::Worse => "#b00020",
        Verdict::Better => "#1b7a34",
        _ => "#555",
    };
    let words = format!("{} ({}) {}", change(metric.ratio.ratio), interval(&metric.ratio), verdict(metric));
    let x = LEFT + PLOT + 10.0;
    let _ = writeln!(text, "<text x=\"{x}\" y=\"{y:.1}\" fill=\"{colour}\">{}</text>", escaped(&words));
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(0.5 * (sorted.get(sorted.len().checked_sub(1)? / 2)? + sorted.get(sorted.len() / 2)?))
}

pub(super) fn escaped(text: &str) -> String {
    crate::style::printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

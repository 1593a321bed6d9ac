//! A trial as text: at most five sentences, then the table.

mod json;
mod needed;
mod predicted;
mod sentences;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use comfy_table::CellAlignment;
use model::quantity::counted;
use model::trial::TrialPlan;
use trial::{Effect, Outcome};

use self::needed::needed;
use crate::compare::{change, interval, probability, push, value, words};
use crate::style::{Style, printable};
use crate::table::table;

pub use json::json;
pub use predicted::{Tried, predicted, predicted_json};
pub use sentences::sentences;

/// A trial that ended.
#[derive(Debug)]
pub struct Trial<'a> {
    /// Its run directory.
    pub run: &'a str,
    /// What was planned.
    pub plan: &'a TrialPlan,
    /// What it found.
    pub outcome: &'a Outcome,
    /// Why it ended early, in words.
    pub ended: Option<&'a str>,
    /// Settings that could not be restored, one sentence each.
    pub left: &'a [String],
}

/// A trial as text.
pub fn text(of: &Trial<'_>, style: Style) -> String {
    let mut text = String::new();
    for sentence in sentences(of) {
        let _ = writeln!(text, "{sentence}");
    }
    if of.outcome.effects.is_empty() {
        return text;
    }
    text.push('\n');
    let mut rows = table(&["", "A (as found)", "B (changed)", "change", "95 % interval", "q", ""], 1);
    if let Some(column) = rows.column_mut(6) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for effect in &of.outcome.effects {
        rows.add_row(row(effect));
    }
    let verdicts: Vec<_> = of.outcome.effects.iter().map(|effect| effect.verdict).collect();
    push(&mut text, &rows, style, &verdicts);
    let device = of.outcome.device.as_deref().map(|device| format!("; bytes of {}", printable(device)));
    let note = format!(
        " means of {} a side, and the median change of the blocks{}; percentiles are those of slow operations alone",
        counted(2 * of.outcome.blocks as u64, "period"),
        device.unwrap_or_default(),
    );
    let _ = writeln!(text, "{}", style.faint(&note));
    text
}

fn row(effect: &Effect) -> Vec<String> {
    vec![
        printable(&effect.kind.name()),
        value(effect.a, effect.kind.unit()),
        value(effect.b, effect.kind.unit()),
        change(effect.ratio.ratio),
        interval(&effect.ratio),
        probability(effect.q),
        verdict(effect),
    ]
}

fn verdict(effect: &Effect) -> String {
    match effect.need_periods {
        Some(periods) => format!("not enough data: {}", needed(periods)),
        None => words(effect.verdict).to_owned(),
    }
}

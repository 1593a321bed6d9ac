//! Remedies that were tried: what was predicted of each beside what was measured.

use comfy_table::CellAlignment;
use explain::whatif::{Choice, Estimate};
use remedy::Remedy;
use serde_json::{Value, json};
use statistics::Ratio;
use trial::{FigureKind, Outcome};

use super::json::{finite, interval as json_interval};
use crate::compare::{change, interval, words};
use crate::style::{Style, printable};
use crate::table::{push_section, table};

/// In place of a prediction.
const TOO_FEW: &str = "too few stay slow";
const PAUSES: &str = "set by the kernel";

/// A remedy that was tried.
#[derive(Debug)]
pub struct Tried<'a> {
    /// What was predicted.
    pub choice: &'a Choice,
    /// What was tried of it.
    pub remedy: &'a Remedy,
    /// What was found.
    pub outcome: &'a Outcome,
}

impl Tried<'_> {
    /// Each figure that is both predicted and measured, with the predicted ratio: of the operations that are slow, in
    /// the same time. `None`: too few of the recorded ones are still slow, or the kernel sets the length of pauses.
    fn figures(&self) -> [(FigureKind, Option<Ratio>); 3] {
        let recorded = &self.choice.prediction.recorded;
        let predicted = &self.choice.prediction.in_same_time;
        let ratio = |estimate: Estimate, of_ns: u64| {
            let share = |ns: u64| ns as f64 / of_ns.max(1) as f64;
            let interval = Some((share(estimate.low), share(estimate.high)));
            Ratio { ratio: share(estimate.value), interval, confidence: Some(0.9) }
        };
        [
            (FigureKind::StallTime, Some(ratio(predicted.total_ns, recorded.durations_ns()))),
            (FigureKind::Percentile(50), predicted.p50_ns.map(|p50_ns| ratio(p50_ns, recorded.p50_ns))),
            (FigureKind::Percentile(99), predicted.p99_ns.map(|p99_ns| ratio(p99_ns, recorded.p99_ns))),
        ]
    }

    fn measured(&self, kind: &FigureKind) -> Option<&trial::Effect> {
        self.outcome.effects.iter().find(|effect| effect.kind == *kind)
    }
}

/// The table.
pub fn predicted(tried: &[Tried<'_>], style: Style) -> String {
    let headings = ["", "", "predicted", "90 % interval", "measured", "95 % interval", ""];
    let mut rows = table(&headings, 2);
    if let Some(column) = rows.column_mut(6) {
        column.set_cell_alignment(CellAlignment::Left);
    }
    for one in tried {
        let unknown = if one.choice.prediction.in_same_time.sets_pauses { PAUSES } else { TOO_FEW };
        for (at, (kind, ratio)) in one.figures().into_iter().enumerate() {
            let name = if at == 0 { printable(&one.remedy.id) } else { String::new() };
            let bound = if one.remedy.effect.at_most { "at best " } else { "" };
            let effect = one.measured(&kind);
            let dash = || "-".to_owned();
            rows.add_row([
                name,
                kind.name(),
                ratio.as_ref().map_or_else(|| unknown.to_owned(), |ratio| format!("{bound}{}", change(ratio.ratio))),
                ratio.as_ref().map_or_else(dash, interval),
                effect.map_or_else(dash, |effect| change(effect.ratio.ratio)),
                effect.map_or_else(dash, |effect| interval(&effect.ratio)),
                effect.map_or_else(String::new, |effect| words(effect.verdict).to_owned()),
            ]);
        }
    }
    let mut text = String::new();
    push_section(&mut text, "Predicted beside measured", &rows, style);
    text
}

/// The same as JSON.
pub fn predicted_json(one: &Tried<'_>) -> Value {
    let figure = |(kind, ratio): (FigureKind, Option<Ratio>)| {
        let effect = one.measured(&kind);
        json!({
            "figure": kind.name(),
            "predicted": ratio.as_ref().and_then(|ratio| finite(ratio.ratio)),
            "predicted_interval": ratio.as_ref().map_or(Value::Null, json_interval),
            "measured": effect.and_then(|effect| finite(effect.ratio.ratio)),
            "measured_interval": effect.map_or(Value::Null, |effect| json_interval(&effect.ratio)),
            "verdict": effect.map(|effect| effect.verdict.name()),
        })
    };
    json!({
        "id": one.remedy.id,
        "title": one.remedy.title,
        "risk": one.remedy.risk,
        "at_most": one.remedy.effect.at_most,
        "figures": one.figures().map(figure),
    })
}

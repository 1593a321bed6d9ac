//! A trial as JSON.

use serde_json::{Value, json};
use statistics::Ratio;
use trial::{CarryOver, Effect, FigureTable, Hang, PeriodFigures};

use super::{Trial, sentences};

/// The document.
pub fn json(of: &Trial<'_>, table: &FigureTable) -> Value {
    json!({
        "run": of.run,
        "plan": of.plan,
        "sentences": sentences(of),
        "ended_early": of.ended,
        "restored": of.left.is_empty(),
        "left": of.left,
        "blocks": of.outcome.blocks,
        "periods_left_out": of.outcome.left_out,
        "device": of.outcome.device,
        "hang": of.outcome.hang.as_ref().map(hang),
        "effects": of.outcome.effects.iter().map(effect).collect::<Vec<_>>(),
        "carry_over": of.outcome.carry_over.iter().map(carry_over).collect::<Vec<_>>(),
        "carry_over_tests": of.outcome.carry_over_tests,
        "periods": table.periods.iter().map(|row| period(row, table)).collect::<Vec<_>>(),
    })
}

fn hang(hang: &Hang) -> Value {
    let side = hang.began_changed.map(|changed| if changed { "B" } else { "A" });
    json!({ "at_least_ns": hang.at_least_ns, "whole_periods": hang.periods, "began_on_side": side })
}

fn effect(effect: &Effect) -> Value {
    json!({
        "figure": effect.kind.name(),
        "unit": effect.kind.unit(),
        "a": effect.a,
        "b": effect.b,
        "ratio": finite(effect.ratio.ratio),
        "interval": interval(&effect.ratio),
        "confidence": effect.ratio.confidence,
        "p": effect.p,
        "q": effect.q,
        "verdict": effect.verdict.name(),
        "blocks": effect.blocks,
        "need_periods": effect.need_periods,
    })
}

fn carry_over(test: &CarryOver) -> Value {
    json!({
        "figure": test.kind.name(),
        "test": if test.within { "within_period" } else { "after_other_side" },
        "ratio": finite(test.ratio.ratio),
        "interval": interval(&test.ratio),
        "p": test.p,
        "q": test.q,
    })
}

fn period(row: &PeriodFigures, table: &FigureTable) -> Value {
    let names = table.kinds.iter().map(|kind| kind.name());
    let figures: serde_json::Map<String, Value> =
        names.zip(&row.whole).map(|(name, value)| (name, json!(value))).collect();
    json!({
        "ordinal": row.period.ordinal,
        "block": row.period.block,
        "side": row.period.side(),
        "began_ns": row.period.began_ns,
        "counted_from_ns": row.period.counted_from_ns,
        "ended_ns": row.period.ended_ns,
        "figures": figures,
    })
}

/// `[low, high]`; an infinite bound is null.
pub(super) fn interval(ratio: &Ratio) -> Value {
    ratio.interval.map_or(Value::Null, |(low, high)| json!([finite(low), finite(high)]))
}

pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

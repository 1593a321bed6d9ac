//! A trial in at most five sentences.

use compare::Verdict;
use model::quantity::counted;
use model::trial::TrialChange;
use trial::{CarryOver, Effect, FigureKind, Hang};

use super::Trial;
use super::needed::needed;
use crate::compare::{change, interval, probability};
use crate::number::latency;
use crate::style::printable;

/// The sentences: what changed, what else did, what did not, carry-over, and how it ended.
pub fn sentences(of: &Trial<'_>) -> Vec<String> {
    let mut sentences = vec![main(of)];
    sentences.extend(others(of));
    sentences.extend(open(of));
    sentences.extend(carry_over(of));
    sentences.push(ending(of));
    sentences
}

fn decided<'a>(of: &'a Trial<'_>) -> impl Iterator<Item = &'a Effect> {
    of.outcome.effects.iter().filter(|effect| effect.verdict.is_decided())
}

fn main(of: &Trial<'_>) -> String {
    let changes: Vec<String> = of.plan.changes.iter().map(what).collect();
    let changes = changes.join(", ");
    let periods = counted(4 * of.outcome.blocks as u64, "period");
    if let Some(hang) = &of.outcome.hang {
        return hung(hang, &changes);
    }
    match decided(of).next() {
        Some(effect) => {
            let (by, within, q) = (change(effect.ratio.ratio), interval(&effect.ratio), probability(effect.q));
            let (figure, verdict) = (figure(effect), crate::compare::words(effect.verdict));
            format!("With {changes}, {figure} was {verdict}: {by} (95 % interval {within}; q {q}; {periods}).")
        }
        None => format!("With {changes}, no figure was found to differ in {periods}."),
    }
}

/// A trial that hung says nothing else first.
fn hung(hang: &Hang, changes: &str) -> String {
    let periods = counted(hang.periods as u64, "whole period");
    let began = match hang.began_changed {
        Some(true) => format!(", and began with {changes}"),
        Some(false) => ", and began with everything as it was found".to_owned(),
        None => ", and began before all of them".to_owned(),
    };
    let at_least = latency(Some(hang.at_least_ns));
    format!(
        "No verdict: a wait of the command had not ended after {at_least}; it lasts through {periods}{began}. See \
         'stallscope explain'."
    )
}

/// A change in words: `/sys/block/sda/queue/scheduler bfq (was none)`.
fn what(change: &TrialChange) -> String {
    let (what, tried) = (printable(&change.what), printable(&change.tried));
    match change.found.as_deref() {
        Some("") => format!("{what} {tried} (was unset)"),
        Some(found) => format!("{what} {tried} (was {})", printable(found)),
        None => format!("`{what}`"),
    }
}

fn figure(effect: &Effect) -> String {
    match &effect.kind {
        FigureKind::StallTime => "the time in slow operations".into(),
        FigureKind::SlowOperations => "the number of slow operations".into(),
        FigureKind::Percentile(percent) => format!("p{percent} of the slow operations"),
        FigureKind::Longest => "the longest operation of a period".into(),
        FigureKind::DeviceBytes => "the device's throughput".into(),
        FigureKind::Pressure(name) => format!("pressure ({name})"),
        FigureKind::Printed(name) => printable(name),
    }
}

fn others(of: &Trial<'_>) -> Option<String> {
    let said = |effect: &Effect| {
        let verdict = crate::compare::words(effect.verdict);
        format!("{} {} ({verdict})", printable(&effect.kind.name()), change(effect.ratio.ratio))
    };
    let others: Vec<String> = decided(of).skip(1).map(said).collect();
    (!others.is_empty()).then(|| format!("Also: {}.", others.join(", ")))
}

fn open(of: &Trial<'_>) -> Option<String> {
    let of_verdict = |verdict: Verdict| of.outcome.effects.iter().filter(move |effect| effect.verdict == verdict);
    let name = |effect: &Effect| printable(&effect.kind.name());
    let needing = |effect: &Effect| match effect.need_periods {
        Some(periods) => format!("{} ({})", name(effect), needed(periods)),
        None => name(effect),
    };
    let same: Vec<String> = of_verdict(Verdict::Equivalent).map(name).collect();
    let open: Vec<String> = of_verdict(Verdict::NotEnoughData).map(needing).collect();
    let parts = [("unchanged within the margin", same), ("not enough data", open)];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", names.join(", ")))
        .collect();
    let sentence = format!("{}.", parts.join("; "));
    (!parts.is_empty()).then(|| sentence[..1].to_uppercase() + &sentence[1..])
}

fn carry_over(of: &Trial<'_>) -> Option<String> {
    let said = |test: &CarryOver| {
        let name = printable(&test.kind.name());
        let how = if test.within { "still moves within periods" } else { "depends on the period before" };
        format!("{name} {how} (q {})", probability(test.q))
    };
    let found: Vec<String> = of.outcome.carry_over.iter().map(said).collect();
    match (of.outcome.carry_over_tests, found.is_empty()) {
        (0, _) => None,
        (_, true) => Some("No carry-over between periods was found.".into()),
        (_, false) => Some(format!(
            "Carry-over: {}; use a longer --wash-out and --period before believing the effect.",
            found.join(", ")
        )),
    }
}

fn ending(of: &Trial<'_>) -> String {
    let left_out = match of.outcome.left_out {
        0 => String::new(),
        periods => format!("; {} of an unfinished block left out", counted(periods as u64, "period")),
    };
    let ended = match of.ended {
        Some(why) => format!("The trial ended early: {why}{left_out}"),
        None => format!("The trial ran as planned{left_out}"),
    };
    match of.left {
        [] => format!("{ended}; everything is as it was found."),
        left => format!("{ended}; NOT RESTORED: {}.", left.join("; ")),
    }
}

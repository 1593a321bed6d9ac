//! How well an answer is known.

use explain::blame::{Cause, CauseTime, Evidence, Explanation, Losses};
use serde_json::{Value, json};

use super::line::Line;
use super::part::Part;
use super::reason::LEAST;
use crate::damage::untraced_words;

/// Shares of a part's time by evidence, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EvidenceShares {
    /// Traced events.
    traced: f64,
    /// Kernel stacks.
    stack: f64,
    /// Sums of short waits.
    aggregated: f64,
    /// Nothing.
    unexplained: f64,
}

impl EvidenceShares {
    fn of(part: &Part<'_>) -> EvidenceShares {
        let once_of = |time: &CauseTime, evidence| time.evidence.of(evidence).saturating_sub(time.again.of(evidence));
        let of = |evidence: Evidence| {
            part.share_of_once(part.causes.iter().map(|time| once_of(time, evidence)).sum::<u64>())
        };
        EvidenceShares {
            traced: of(Evidence::Event),
            stack: of(Evidence::Stack),
            aggregated: of(Evidence::Correlation),
            unexplained: part.share_of_once(part.once_of(Cause::Unexplained)),
        }
    }

    fn json(self) -> Value {
        let EvidenceShares { traced, stack, aggregated, unexplained } = self;
        json!({"traced_share": traced, "stack_share": stack, "aggregated_share": aggregated,
            "unexplained_share": unexplained})
    }
}

/// The key `confidence` of the document.
pub(crate) fn confidence(explanation: &Explanation) -> Value {
    let all = EvidenceShares::of(&Part::all(explanation)).json();
    let mut confidence = json!({"incomplete": is_incomplete(&explanation.losses), "all": all});
    if let Some(command) = Part::of_command(explanation) {
        confidence["command"] = EvidenceShares::of(&command).json();
    }
    confidence
}

/// Part of the time that is unexplained.
pub(super) fn unexplained(part: &Part<'_>) -> f64 {
    EvidenceShares::of(part).unexplained
}

/// `99.6 % explained, 83 % traced; nothing was lost`
pub(super) fn sure(part: &Part<'_>) -> Vec<Line> {
    let EvidenceShares { traced, stack, aggregated, unexplained } = EvidenceShares::of(part);
    let line = Line::new().share(1.0 - unexplained).say(" explained: ").share(traced).say(" traced");
    let add = |line: Line, part: f64, words: &'static str| {
        if part >= LEAST { line.say(", ").share(part).say(words) } else { line }
    };
    let line = add(add(line, stack, " by stacks"), aggregated, " by sums of short waits");
    let mut lines = vec![line.and(Some(losses(part.explanation)))];
    lines.extend(untraced(part.explanation));
    lines
}

/// `; nothing was lost`
pub(super) fn losses(explanation: &Explanation) -> Line {
    match explanation.losses.damaged {
        _ if is_incomplete(&explanation.losses) => Line::of("; the recording is incomplete"),
        _ if !explanation.untraced.is_empty() => Line::of("; not all sources were traced"),
        0 => Line::of("; nothing was lost"),
        rows => Line::of("; ").counted(rows, "inconsistent row").say(" excluded"),
    }
}

/// What the answer would rest on, and what its absence costs.
pub(super) fn untraced(explanation: &Explanation) -> Option<Line> {
    let first = explanation.untraced.first()?;
    let line = Line::of(untraced_words(first.subject));
    Some(match first.time_ns {
        Some(ns) => line.say("; ").time(ns).say(" are unexplained because of it"),
        None => line,
    })
}

fn is_incomplete(losses: &Losses) -> bool {
    !losses.lost.is_empty() || !losses.tables.is_empty() || losses.parts > 0 || losses.unknown_requests > 0
}

//! Answers where nothing was slow, or where that is unknown.

use explain::blame::Explanation;
use model::preflight::Subject;

use super::line::Line;
use super::short;

/// What a recording of nobody in particular does not see: both sides of a server that hangs look idle.
const ASLEEP: &str = "a program that slept throughout is seen only if what it waits for is stopped or stuck";

/// `Nothing took longer than 100 ms; perl lost 11.2 s to shorter waits: 99 % swap-in`
pub(super) fn headline(explanation: &Explanation) -> Vec<Line> {
    let threshold = explanation.slower_than_ns;
    if explanation.untraced.iter().any(|untraced| untraced.subject == Subject::Operations) {
        return vec![Line::of("Which operations were slow is unknown: they were not traced")];
    }
    let line = match (explanation.losses.parts > 0, explanation.scoped.is_some()) {
        (true, _) => Line::of("Nothing that can still be read took longer than "),
        (false, true) => Line::of("Nothing in scope took longer than "),
        (false, false) => Line::of("Nothing took longer than "),
    };
    let line = line.time(threshold);
    let short = explanation.most_short_waits.as_ref().map(short::besides);
    vec![line.clone().and(short), line]
}

/// `12,345 operations; the slowest, a read, took 34.0 ms`, and what slept instead.
pub(super) fn who(explanation: &Explanation) -> Vec<Line> {
    let all = explanation.operations.map(|all| Line::new().counted(all, "operation").say(" of the load"));
    let slowest = explanation
        .slowest
        .as_ref()
        .map(|(class, ns)| Line::of("; the slowest, ").name(class).say(", took ").time(*ns));
    let nobody = explanation.command.is_none() && explanation.operations.is_none();
    let asleep = nobody.then(|| Line::of(ASLEEP));
    let short = explanation.most_short_waits.as_ref().map(short::of_process);
    [short, all.map(|all| all.and(slowest)), super::hang::idle(explanation), asleep, elsewhere(explanation)]
        .into_iter()
        .flatten()
        .collect()
}

/// What was slow outside of the scope.
fn elsewhere(explanation: &Explanation) -> Option<Line> {
    let outside = explanation.scoped.as_ref()?.outside;
    (outside > 0).then(|| Line::new().counted(outside, "slow operation").say(" outside of the scope"))
}

/// What limits the confidence that nothing was slow.
pub(super) fn sure(explanation: &Explanation) -> Vec<Line> {
    let traced = match &explanation.trace {
        Some(_) => Line::of("traced").and(Some(super::sure::losses(explanation))),
        None => Line::of("the kernel was not traced: only tasks that a poll found blocked are known"),
    };
    let outside = (explanation.outside > 0).then(|| {
        Line::new().counted(explanation.outside, "slow operation").say(" ended outside the measurement window")
    });
    [Some(traced), super::sure::untraced(explanation), outside].into_iter().flatten().collect()
}

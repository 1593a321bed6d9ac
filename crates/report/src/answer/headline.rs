//! The headline of slow operations: victim, loss, cause and culprit.

use explain::blame::{Cause, STOPPED, Stall, TaskId};
use explain::whatif::Advice;

use super::line::Line;
use super::names::program_of;
use super::part::Part;
use super::phrase::phrases;
use super::reason::{MOST, Reason};
use super::victim::victim;

/// A share from here on is all.
const ALL: f64 = 0.95;
/// Part that is unexplained from which on that is the headline.
pub(super) const MOSTLY: f64 = 0.5;

/// Most columns of a headline.
pub(super) const COLUMNS: usize = 100;

/// The first that has room; else the shortest.
pub(super) fn fitting(variants: Vec<Line>) -> Line {
    let shortest = variants.iter().min_by_key(|line| line.width()).cloned().unwrap_or_default();
    variants.into_iter().find(|line| line.width() <= COLUMNS).unwrap_or(shortest)
}

/// All ways to say it, the most precise first.
pub(super) fn variants(
    part: &Part<'_>,
    reason: Option<&Reason<'_>>,
    unexplained: f64,
    advice: Option<&Advice>,
) -> Vec<Line> {
    let Some(reason) = reason.filter(|reason| reason.once_ns > 0) else {
        return vec![victim(part, true).say(" took ").time(part.once_ns()).say("; why is unknown")];
    };
    if unexplained >= MOSTLY {
        return mostly_unexplained(part, reason, unexplained, advice);
    }
    let begins = begins(part, reason);
    let is_blocked = part.stalls().next().is_some_and(|longest| hangs(part, longest));
    let phrases = match reason.cause {
        Cause::Running if reason.through.is_none() && reason.is_own_fault_or_unknown() => vec![Line::of("computing")],
        Cause::Stopped if is_stop(part) => vec![stopped_by(part, reason), Line::new()],
        _ if is_blocked => phrases(reason, advice).into_iter().map(|line| line.beginning("for ", "by ")).collect(),
        _ => phrases(reason, advice),
    };
    // What it was says more than which calls waited.
    let all = |phrase: &Line| begins.clone().map(|begin| begin.and(Some(phrase.clone())));
    phrases.iter().flat_map(all).collect()
}

/// `PostgreSQL's commits waited 33.0 s `, with the cause's share where it is not nearly all.
fn begins(part: &Part<'_>, reason: &Reason<'_>) -> [Line; 2] {
    let lost_ns = match reason.cause {
        Cause::Running => part.once_ns(),
        _ => part.once_ns() - part.once_of(Cause::Running),
    };
    let longest = part.stalls().next().filter(|stall| hangs(part, stall));
    let of_longest = longest.map(|stall| share_of(stall, &[reason.own(), reason.cause])).filter(|share| *share > 0.0);
    let share = of_longest.unwrap_or(reason.once_ns as f64 / lost_ns.max(1) as f64);
    let one = |with_noun: bool| {
        let line = match longest {
            Some(stall) if stall.operation == STOPPED => {
                return Line::new()
                    .name(program_of(&stall.task))
                    .say(" has been stopped for at least ")
                    .time(stall.duration_ns)
                    .say(" ");
            }
            Some(stall) => {
                let line = Line::new().name(program_of(&stall.task)).say(" has been blocked for at least ");
                line.time(stall.duration_ns)
            }
            None if is_stop(part) => victim(part, false).say(" was stopped for ").time(lost_ns),
            None if reason.cause == Cause::Running => victim(part, with_noun).say(" took ").time(lost_ns),
            None => victim(part, with_noun).say(" waited ").time(lost_ns),
        };
        let line = if share < ALL { line.say(", ").share(share).say(" of it") } else { line };
        line.say(" ")
    };
    [one(true), one(false)]
}

fn share_of(stall: &Stall, any: &[Cause]) -> f64 {
    let ns: u64 = stall.causes.iter().filter(|time| any.contains(&time.cause)).map(|time| time.time_ns).sum();
    ns as f64 / stall.duration_ns.max(1) as f64
}

/// Whether an operation that had not ended is most of what was slow.
fn hangs(part: &Part<'_>, longest: &Stall) -> bool {
    !longest.finished && longest.duration_ns as f64 >= MOST * part.once_ns() as f64
}

/// Whether most of what was slow were stops of the victims themselves.
fn is_stop(part: &Part<'_>) -> bool {
    let first = part.classes.first();
    first.is_some_and(|class| class.class == STOPPED && class.wall_ns as f64 >= MOST * part.once_ns() as f64)
}

/// `by strace`
fn stopped_by(part: &Part<'_>, reason: &Reason<'_>) -> Line {
    // Where that is unknown, the stopped task stands for it.
    let is_victim = |task: &TaskId| part.stalls().next().is_some_and(|stall| stall.task == *task);
    match reason.culprit.and_then(|culprit| culprit.task.as_ref()).filter(|task| !is_victim(task)) {
        Some(task) => Line::of("by ").name(program_of(task)),
        None => Line::new(),
    }
}

/// `51 % of the 16.2 s that RabbitMQ waited is unexplained; the rest went to the journal`
fn mostly_unexplained(part: &Part<'_>, reason: &Reason<'_>, unexplained: f64, advice: Option<&Advice>) -> Vec<Line> {
    let begin = |with_noun: bool| {
        let line = Line::new().share(unexplained).say(" of ").time(part.once_ns()).say(" that ");
        line.and(Some(victim(part, with_noun))).say(" took is unexplained")
    };
    let rest = |phrase: &Line| {
        begin(false).say("; ").share(part.share_of_once(reason.once_ns)).say(" waited ").and(Some(phrase.clone()))
    };
    // Whom they waited for is no reason where it is unexplained what that task did.
    let is_known = reason.cause != Cause::Running && reason.own() != Cause::Unexplained;
    let rest = phrases(reason, advice).iter().filter(|_| is_known).map(rest).collect::<Vec<_>>();
    rest.into_iter().chain([begin(true), begin(false)]).collect()
}

impl Reason<'_> {
    /// Whether nobody else is known to have computed.
    fn is_own_fault_or_unknown(&self) -> bool {
        self.is_own_fault() || self.culprit.is_none_or(|culprit| culprit.task.is_none())
    }
}

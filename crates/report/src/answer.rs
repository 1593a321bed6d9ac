//! The answer on one screen: a headline, and at most five labelled lines: who, why, blocker, fix, sure. Text, page,
//! `top` and live lines show more or less of it. It is made of the verdict's types, and each number in its words is one
//! of its values.

mod blocker;
mod command;
mod content;
mod fix;
mod hang;
mod headline;
mod line;
pub mod live;
mod names;
mod part;
mod phrase;
mod quiet;
mod reason;
mod short;
mod sure;
#[cfg(test)]
mod tests;
mod text;
mod title;
mod victim;
mod who;
mod why;

use explain::blame::{Explanation, ProcessShortWaits, Sleep};
use explain::whatif::Advice;

pub use content::{Answer, Verdict};
pub use fix::{Fix, Predicted};
pub use line::{Fact, Line};
pub use names::short_cgroup;
pub use part::AnswerScope;
use part::Part;
use reason::{ended, reason};
pub(crate) use sure::confidence;
pub use text::{lines, text};
pub(crate) use title::title;

/// Stalls that an answer chooses its example from: the longest.
pub const STALLS: usize = 200;

impl Answer {
    /// About the recorded command or load, where it has anything to say; else about the machine.
    pub fn of(explanation: &Explanation, advice: &Advice) -> Answer {
        let command = Part::of_command(explanation).filter(|_| !explanation.command_only_slept());
        let hang = hang::longest(explanation);
        let only_slept = command.is_some_and(|command| command.operations == 0);
        // A guess comes after what was traced.
        let comes_first = |sleep: &&Sleep| sleep.hangs && (explanation.slow_operations == 0 || hang::is_certain(sleep));
        let main = if let Some(sleep) = hang.filter(comes_first) {
            asleep(explanation, sleep)
        } else if let Some(command) =
            command.filter(|_| explanation.scoped.is_none() && lost_in_short_waits(explanation, advice))
        {
            short_waits(&command, advice)
        } else if let Some(command) = command.filter(|command| command.operations > 0) {
            slow(&command, Some(advice), &|_| None)
        } else if let Some(sleep) = hang.filter(|_| only_slept) {
            asleep(explanation, sleep)
        } else {
            return machine(explanation, advice);
        };
        // Advice is for the operations of the command, where it has any.
        let has_own = has_advice_of_its_own(explanation, advice);
        let is_part = main.verdict == Verdict::Asleep || explanation.neighbours.is_some();
        let whole = (is_part && explanation.slow_operations > 0)
            .then(|| slow(&Part::all(explanation), (!has_own).then_some(advice), &|_| None));
        Answer { machine: whole.map(Box::new), ..main }
    }

    /// About operations on several nodes, whose root blockers are on these nodes.
    pub(crate) fn of_nodes(explanation: &Explanation, node_of: &dyn Fn(usize) -> Option<String>) -> Answer {
        let command = Part::of_command(explanation).filter(|command| command.operations > 0);
        match command {
            Some(command) => slow(&command, None, node_of),
            None if explanation.slow_operations > 0 => slow(&Part::all(explanation), None, node_of),
            None => quiet(explanation),
        }
    }

    /// With what each node lost: its name, slow operations and their time, ns; and how well times of different nodes
    /// can be compared, ns.
    pub(crate) fn with_nodes(mut self, nodes: &[(&str, u64, u64)], clock_error_ns: Option<u64>) -> Answer {
        self.who.extend(who::nodes(nodes));
        self.sure.extend(clock_error_ns.map(|ns| Line::of("times of different nodes are related within ").time(ns)));
        self
    }
}

/// Whether advice is for the recorded command alone.
fn has_advice_of_its_own(explanation: &Explanation, advice: &Advice) -> bool {
    let has_operations = explanation.command.as_ref().is_some_and(|command| command.operations > 0);
    advice.of_short_waits || has_operations && !explanation.command_only_slept()
}

fn lost_in_short_waits(explanation: &Explanation, advice: &Advice) -> bool {
    let has_operations = explanation.command.as_ref().is_some_and(|command| command.operations > 0);
    let has_sleeps = explanation.sleeps.count > 0 && explanation.sleeps.total_ns > explanation.short_waits.time_ns;
    match has_operations {
        true => advice.of_short_waits || explanation.short_waits_cost_most(),
        false => explanation.short_waits_matter() && !has_sleeps,
    }
}

fn slow(part: &Part<'_>, advice: Option<&Advice>, node_of: &dyn Fn(usize) -> Option<String>) -> Answer {
    let ended = ended(part, advice);
    let reason = reason(part, &ended);
    let unexplained = sure::unexplained(part);
    let predicted = advice.and_then(|advice| fix::predicted(part, advice, reason.as_ref()));
    let known = || reason.filter(|reason| part.share_of_once(reason.once_ns) >= headline::MOSTLY);
    let unpredicted = || Some(Fix::words(fix::unpredicted(known()?.cause)?));
    Answer {
        scope: part.scope,
        verdict: if unexplained >= headline::MOSTLY { Verdict::Unexplained } else { Verdict::Slow },
        cause: reason.map(|reason| reason.cause),
        headline: headline::fitting(headline::variants(part, reason.as_ref(), unexplained, advice)),
        who: who::who(part),
        why: reason.as_ref().map_or_else(Vec::new, |reason| why::why(part, &ended, reason)),
        blocker: blocker::blockers(part.culprits, part.wall_ns, node_of),
        fix: predicted.or_else(unpredicted).unwrap_or_default(),
        sure: sure::sure(part),
        sure_first: unexplained >= headline::MOSTLY || !part.explanation.untraced.is_empty(),
        machine: None,
    }
}

fn machine(explanation: &Explanation, advice: &Advice) -> Answer {
    if explanation.slow_operations == 0 {
        return match explanation.scoped.is_some() && explanation.short_waits.time_ns >= explanation.slower_than_ns {
            true => short_waits(&Part::all(explanation), advice),
            false => quiet(explanation),
        };
    }
    let advice = (!has_advice_of_its_own(explanation, advice)).then_some(advice);
    let mut answer = slow(&Part::all(explanation), advice, &|_| None);
    let most = explanation.most_short_waits.as_ref();
    answer.who.extend(most.filter(|most| most.waits.time_ns > explanation.wall_ns).map(short::of_process));
    if let Some(command) = &explanation.command {
        let slept = command.operations > 0;
        answer.who.push(Line::of(if slept {
            "the recorded command only slept"
        } else {
            "the recorded command itself was not slow"
        }));
        answer.who.extend(hang::idle(explanation).filter(|_| explanation.sleeps.idle_throughout > 0));
    }
    answer
}

fn asleep(explanation: &Explanation, sleep: &Sleep) -> Answer {
    let scope = match (explanation.scoped.is_some(), explanation.command.is_some()) {
        (true, _) => AnswerScope::Selection,
        (false, true) => AnswerScope::Command,
        (false, false) => AnswerScope::Machine,
    };
    Answer {
        scope,
        verdict: Verdict::Asleep,
        cause: None,
        headline: headline::fitting(hang::headline(sleep)),
        who: hang::who(explanation, sleep),
        why: hang::why(sleep),
        blocker: hang::blocker(sleep),
        fix: hang::fix(explanation, sleep),
        sure: hang::sure(explanation, sleep),
        sure_first: !explanation.untraced.is_empty(),
        machine: None,
    }
}

fn short_waits(command: &Part<'_>, advice: &Advice) -> Answer {
    let explanation = command.explanation;
    let waits = &explanation.short_waits;
    let part = Part { culprits: &waits.culprits, ..*command };
    let predicted = advice.of_short_waits.then(|| fix::predicted(&part, advice, None)).flatten();
    let most = waits.causes.first();
    let unpredicted = || most.and_then(|most| fix::unpredicted(most.cause)).map(Fix::words);
    let lower = || Fix::words(Line::of("record with a lower --slower-than to see what would help"));
    let mut who = short::who(explanation);
    who.extend(short::slow_besides(command));
    Answer {
        scope: command.scope,
        verdict: Verdict::ShortWaits,
        cause: most.map(|most| most.cause),
        headline: headline::fitting(short::headline(command)),
        who,
        why: short::why(waits),
        blocker: blocker::blockers(&waits.culprits, waits.time_ns, &|_| None),
        fix: predicted.or_else(unpredicted).unwrap_or_else(lower),
        sure: quiet::sure(explanation),
        sure_first: !explanation.untraced.is_empty(),
        machine: None,
    }
}

fn quiet(explanation: &Explanation) -> Answer {
    let short = explanation.most_short_waits.as_ref();
    let alone = |most: &ProcessShortWaits| {
        let line = Line::of("explain it alone to see what would help, with ");
        Fix::words(line.name(format!("--pid {}", most.process.tid)))
    };
    Answer {
        scope: Part::of_command(explanation).unwrap_or_else(|| Part::all(explanation)).scope,
        verdict: Verdict::Quiet,
        cause: None,
        headline: headline::fitting(quiet::headline(explanation)),
        who: quiet::who(explanation),
        why: short.map_or_else(Vec::new, |most| short::why(&most.waits)),
        blocker: short
            .map_or_else(Vec::new, |most| blocker::blockers(&most.waits.culprits, most.waits.time_ns, &|_| None)),
        fix: short.map_or_else(Fix::default, alone),
        sure: quiet::sure(explanation),
        sure_first: !explanation.untraced.is_empty(),
        machine: None,
    }
}

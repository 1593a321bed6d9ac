//! Who waited, in a headline.

use std::collections::BTreeMap;

use explain::blame::ClassTimes;
use model::system_call::{traits, traits_of};

use super::line::Line;
use super::names::program;
use super::part::{AnswerScope, Part};
use super::reason::MOST;

/// What people call system calls, by what they do.
const NOUNS: [(u32, &str); 4] = [
    (traits::SYNCS_FILE | traits::SYNCS_FILE_SYSTEM | traits::SYNCS_OTHERS, "syncs"),
    (traits::READS_FILE, "reads"),
    (traits::OPENS, "opens"),
    (traits::LOCKS_FILE, "lock requests"),
];
/// The same of others, and of classes of loads.
const NAMED: [(&str, &[&str]); 4] = [
    ("writes", &["write", "pwrite64", "writev", "pwritev", "pwritev2"]),
    ("removals", &["unlink", "unlinkat", "rmdir"]),
    ("page faults", &["page_fault"]),
    ("allocations", &["allocation"]),
];
/// A database that syncs its log with this call when it commits.
const COMMITS: (&str, &str) = ("PostgreSQL", "fdatasync");

/// `PostgreSQL's commits`, `tar and dd`, `5 programs`; capitalized only where a name is not first.
pub(super) fn victim(part: &Part<'_>, with_noun: bool) -> Line {
    let names = names(part);
    let class = part.classes.first().filter(|class| class.wall_ns as f64 >= MOST * part.once_ns() as f64);
    let noun = class.filter(|_| with_noun).and_then(|class| noun(class, names.first().map_or("", |(name, _)| name)));
    // Not `sync's syncs`.
    let noun = noun.filter(|noun| names.first().is_none_or(|(name, _)| !noun.starts_with(name.as_str())));
    let possessive = |line: Line| match noun {
        Some(noun) => line.say("'s ").say(noun),
        None => line,
    };
    if part.scope == AnswerScope::Load {
        return possessive(Line::of("The load"));
    }
    let all_ns: u64 = names.iter().map(|(_, ns)| ns).sum();
    let is_most = |ns: u64| ns as f64 >= MOST * all_ns as f64;
    match names.as_slice() {
        [] if part.scope == AnswerScope::Command => Line::of("The command"),
        [] => Line::of("A program"),
        [(name, ns), ..] if is_most(*ns) => possessive(Line::new().name(name)),
        [(one, one_ns), (other, other_ns), ..] if is_most(one_ns + other_ns) => {
            Line::new().name(one).say(" and ").name(other)
        }
        many => Line::new().counted(many.len() as u64, "program"),
    }
}

/// Programs with the time of their operations, ns, the most first. A server's time counts for the clients that wait for
/// it.
fn names(part: &Part<'_>) -> Vec<(String, u64)> {
    let mut times: BTreeMap<String, u64> = BTreeMap::new();
    for group in part.groups() {
        let name = group.name.as_deref().map_or("an unknown program", program);
        *times.entry(name.to_owned()).or_default() += group.wall_ns.saturating_sub(part.again_of(group));
    }
    let mut times: Vec<(String, u64)> = times.into_iter().collect();
    times.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    times
}

/// What people call operations of a class.
fn noun(class: &ClassTimes, program: &str) -> Option<&'static str> {
    if (program, class.class.as_str()) == COMMITS {
        return Some("commits");
    }
    let named = NAMED.iter().find(|(_, calls)| calls.contains(&class.class.as_str())).map(|(noun, _)| *noun);
    let does = traits_of(&class.class);
    named.or_else(|| NOUNS.iter().find(|(any, _)| does.has(*any)).map(|(_, noun)| *noun))
}

//! All rules.

use crate::blame::facts::run_index::{ANSWERED, HELD_BY_IO};
use crate::blame::graph::{choice, path};
use crate::blame::intents::{
    self, answers, awaited, equal_waits, held_polls, holder, idle_turns, lock_turns, not_received, other_work,
    worked_for,
};
use crate::blame::rule::Rule;

/// Rules that say what a wait was for, or whom it was for, where no sleep is concluded upon.
const OTHERS: &[&Rule] = &[
    &held_polls::RULE,
    &HELD_BY_IO,
    &ANSWERED,
    &path::WAKER,
    &path::HOLDER,
    &choice::RULE,
    &not_received::RULE,
    &answers::PROXY,
    &lock_turns::RULE,
    &holder::RELEASES_RULE,
    &holder::CIRCLE,
    &other_work::RULE,
    &awaited::RULE,
    &equal_waits::RULE,
    &idle_turns::RULE,
    &worked_for::RULE,
];

/// All rules, in the order of their application.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    intents::RULES.iter().map(|(rule, _)| *rule).chain(OTHERS.iter().copied())
}

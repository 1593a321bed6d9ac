//! All rules.

use crate::blame::facts::run_index::{ANSWERED, HELD_BY_IO, answers, lock_turns};
use crate::blame::graph::path;
use crate::blame::intents::interruptions::choice;
use crate::blame::intents::interruptions::stops::children;
use crate::blame::intents::lasting::held_polls;
use crate::blame::intents::locks::{holder, idle_turns, newer_wakers};
use crate::blame::intents::requests::{asking_children, equal_waits, not_received, starters, worked_for};
use crate::blame::intents::workers::other_work;
use crate::blame::intents::{self};
use crate::blame::rule::Rule;
use crate::blame::timeline::idleness;

/// Rules that say what a wait was for, or whom it was for, where no sleep is concluded upon.
const OTHERS: &[&Rule] = &[
    &held_polls::RULE,
    &HELD_BY_IO,
    &ANSWERED,
    &path::WAKER,
    &path::HOLDER,
    &choice::RULE,
    &children::RULE,
    &not_received::RULE,
    &answers::PROXY,
    &lock_turns::RULE,
    &holder::RELEASES_RULE,
    &holder::CIRCLE,
    &newer_wakers::RULE,
    &other_work::RULE,
    &idleness::RULE,
    &equal_waits::RULE,
    &asking_children::RULE,
    &starters::RULE,
    &idle_turns::RULE,
    &worked_for::RULE,
];

/// All rules, in the order of their application.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    intents::RULES.iter().map(|(rule, _)| *rule).chain(OTHERS.iter().copied())
}

//! What draws timelines, and the tests of all rules.

mod all_rules;
pub(in crate::blame) mod answer;
mod documentation;
pub(crate) mod stage;

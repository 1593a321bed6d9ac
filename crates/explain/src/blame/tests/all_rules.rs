//! Each rule by its own example: it is needed for that answer, and the answer names it.

use super::stage::{Stage, chain, description, shares, stage};
use crate::blame::{Blame, Explanation, Rule, rules};

fn explained(stage: &Stage, without: Option<&'static str>) -> Explanation {
    let blame = Blame::new(None, &description(true));
    let blame = match without {
        Some(rule) => blame.without(rule),
        None => blame,
    };
    stage.account(blame).0
}

/// The causes, and the chain of the longest operation of thread 7.
fn answer(explanation: &Explanation) -> (String, String) {
    let of_7 = explanation.stalls.iter().find(|stall| stall.task.tid == 7);
    (shares(explanation), of_7.map(chain).unwrap_or_default())
}

/// All that an answer says, without the rules that it names.
fn all(explanation: &Explanation) -> String {
    let mut explanation = explanation.clone();
    explanation.stalls.iter_mut().for_each(|stall| stall.rules.clear());
    format!("{explanation:?}")
}

/// All rules that fail, so that a change shows all that it breaks.
fn check(complaint: impl Fn(&'static Rule) -> Option<String>) {
    let complaints: Vec<String> =
        rules().filter_map(|rule| Some(format!("{}: {}", rule.id, complaint(rule)?))).collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn the_example_of_each_rule_has_its_answer() {
    check(|rule| {
        let (causes, chain) = answer(&explained(&stage(rule.example.timeline), None));
        let is_right = (causes.as_str(), chain.as_str()) == (rule.example.causes, rule.example.chain);
        (!is_right).then(|| format!("{causes:?}, {chain:?}"))
    });
}

#[test]
fn the_answer_to_the_example_of_a_rule_needs_that_rule() {
    check(|rule| {
        let stage = stage(rule.example.timeline);
        let is_same = all(&explained(&stage, None)) == all(&explained(&stage, Some(rule.id)));
        is_same.then(|| format!("{:?} without it, too", answer(&explained(&stage, None))))
    });
}

/// A rule that finds a task idle leaves no stall that could name it.
#[test]
fn an_answer_names_the_rules_that_it_rests_on() {
    check(|rule| {
        let explanation = explained(&stage(rule.example.timeline), None);
        let named: Vec<&str> = explanation.stalls.iter().flat_map(|stall| &stall.rules).map(|rule| rule.id).collect();
        let is_named = rule.example.causes.is_empty() || named.contains(&rule.id);
        (!is_named).then(|| format!("{named:?}"))
    });
}

#[test]
fn ids_are_unique_and_texts_are_sentences() {
    let mut ids: Vec<&str> = rules().map(|rule| rule.id).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for rule in rules() {
        for text in [rule.concludes, rule.from, rule.because, rule.unless] {
            assert!(text.ends_with('.') || text.ends_with(").") && !text.contains("  "), "{}: {text}", rule.id);
        }
    }
}

//! Compares the answer to a drawing with what is right.

use super::stage::{Stage, chain, shares, stage};

/// Causes of all operations, and the chain of the one of thread 7.
pub(in crate::blame) fn check(drawing: &str, expected_shares: &str, expected_chain: &str) {
    check_stage(&stage(drawing), expected_shares, expected_chain);
}

pub(in crate::blame) fn check_stage(stage: &Stage, expected_shares: &str, expected_chain: &str) {
    let explanation = stage.explain();
    let chains: Vec<String> = explanation.stalls.iter().filter(|stall| stall.task.tid == 7).map(chain).collect();
    let [chain] = &chains[..] else { panic!("{} stalls of {:?}", chains.len(), stage.stalls) };
    assert_eq!(
        (shares(&explanation).as_str(), chain.as_str()),
        (expected_shares, expected_chain),
        "{:?}",
        stage.stalls
    );
}

pub(in crate::blame) fn check_quiet(drawing: &str) {
    assert_eq!(stage(drawing).explain().slow_operations, 0, "{drawing}");
}

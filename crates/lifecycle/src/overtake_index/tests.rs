//! The overtake index compared with a full walk.

use proptest::prelude::*;

use super::{OvertakeIndex, QueuePosition, Tally};

#[derive(Clone)]
struct Waiting {
    position: QueuePosition,
    class: u16,
    order: usize,
    in_flight: Vec<u16>,
    at_queueing: Vec<usize>,
}

fn tally(classes: impl IntoIterator<Item = u16>) -> Tally {
    let mut counts = std::collections::BTreeMap::new();
    for class in classes {
        *counts.entry(class).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// Queues and completes by the script, and compares each answer with the walk.
fn check(script: &[(bool, u16, usize)]) {
    let mut index = OvertakeIndex::new();
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut completed: Vec<(usize, u16)> = Vec::new();
    let mut order = 0;
    for &(queue, class, which) in script {
        if queue || waiting.is_empty() {
            let position = index.queue(class);
            let in_flight = waiting.iter().map(|other| other.class).collect();
            let at_queueing = waiting.iter().map(|other| other.order).collect();
            waiting.push(Waiting { position, class, order, in_flight, at_queueing });
            order += 1;
        } else {
            let bio = waiting.swap_remove(which % waiting.len());
            let found = index.surroundings(bio.position, bio.class).expect("few blocks");
            assert_eq!(found.in_flight, tally(bio.in_flight));
            let later = completed.iter().filter(|(position, _)| *position > bio.order);
            assert_eq!(found.overtook, tally(later.map(|&(_, class)| class)));
            let ahead = completed.iter().filter(|(position, _)| bio.at_queueing.contains(position));
            assert_eq!(found.ahead, tally(ahead.map(|&(_, class)| class)));
            index.complete(bio.position, bio.class);
            completed.push((bio.order, bio.class));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn answers_are_those_of_a_full_walk(
        script in proptest::collection::vec((any::<bool>(), 0_u16..5, 0_usize..1000), 0..4000)
    ) {
        check(&script);
    }
}

#[test]
fn one_bio_waits_while_many_blocks_pass() {
    let mut script = vec![(true, 0, 0)];
    for step in 0..5000 {
        script.push((true, 1 + (step % 3) as u16, 0));
        // The newest completes: it is the last of two.
        script.push((false, 0, 1));
    }
    script.push((false, 0, 0));
    check(&script);
}

#[test]
fn blocks_are_bounded_and_a_dropped_position_has_no_answer() {
    let mut index = OvertakeIndex::new();
    let mut stuck = Vec::new();
    // One bio of each block never completes.
    for number in 0..3_000_000_u32 {
        let position = index.queue(0);
        if number % 1024 == 0 {
            stuck.push(position);
        } else {
            index.complete(position, 0);
        }
    }
    assert!(index.live <= OvertakeIndex::LIVE_LIMIT);
    assert!(index.surroundings(stuck[0], 0).is_none());
    assert!(index.surroundings(*stuck.last().unwrap(), 0).is_some());
}

//! Queue-watch beside a model that walks everything.

use proptest::prelude::*;

use super::{Place, Tally, Watch};

#[derive(Clone)]
struct Waiting {
    place: Place,
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
    let mut watch = Watch::new();
    let mut waiting: Vec<Waiting> = Vec::new();
    let mut completed: Vec<(usize, u16)> = Vec::new();
    let mut order = 0;
    for &(queue, class, which) in script {
        if queue || waiting.is_empty() {
            let place = watch.queue(class);
            let in_flight = waiting.iter().map(|other| other.class).collect();
            let at_queueing = waiting.iter().map(|other| other.order).collect();
            waiting.push(Waiting { place, class, order, in_flight, at_queueing });
            order += 1;
        } else {
            let bio = waiting.swap_remove(which % waiting.len());
            let found = watch.surroundings(bio.place, bio.class).expect("few blocks");
            assert_eq!(found.in_flight, tally(bio.in_flight));
            let later = completed.iter().filter(|(place, _)| *place > bio.order);
            assert_eq!(found.overtook, tally(later.map(|&(_, class)| class)));
            let ahead = completed.iter().filter(|(place, _)| bio.at_queueing.contains(place));
            assert_eq!(found.ahead, tally(ahead.map(|&(_, class)| class)));
            watch.complete(bio.place, bio.class);
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
fn blocks_do_not_pile_up_and_a_place_given_up_has_no_answer() {
    let mut watch = Watch::new();
    let mut stuck = Vec::new();
    // One bio of each block never completes.
    for number in 0..3_000_000_u32 {
        let place = watch.queue(0);
        if number % 1024 == 0 {
            stuck.push(place);
        } else {
            watch.complete(place, 0);
        }
    }
    assert!(watch.live <= Watch::LIVE_LIMIT);
    assert!(watch.surroundings(stuck[0], 0).is_none());
    assert!(watch.surroundings(*stuck.last().unwrap(), 0).is_some());
}

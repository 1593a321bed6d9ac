//! Every crash of a small program that makes a setting, a cgroup and a directory and removes them again: before each
//! change and in its middle. Each next start must remove all that is left, and nothing else, wherever it crashes
//! itself, and the one after it, and so on.

mod world;

use std::collections::BTreeSet;

use crate::effect::death::run_until;
use world::{Snapshot, World};

/// What another does between the death of the program and the next start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stranger {
    Nobody,
    /// Sets the setting.
    SetsIt,
    /// Puts a file into the directory that the register names, if no marker proves that it is ours.
    FillsDirectory,
}

/// More states than starts that remove what is left can leave.
const MOST: usize = 500;

/// The states that the death of the program leaves.
fn deaths(world: &World) -> BTreeSet<Snapshot> {
    let mut left = BTreeSet::new();
    for moment in 0.. {
        world.begin();
        let end = run_until(moment, || world.program());
        left.insert(world.snapshot());
        if end.is_some() {
            return left;
        }
    }
    unreachable!("a program ends");
}

/// Lets the next start die at each moment of each state, until no new state is found. Returns the states and the
/// starts.
fn starts(world: &World, first: BTreeSet<Snapshot>, stranger: Stranger) -> (usize, usize) {
    let mut found = first.clone();
    let mut open: Vec<Snapshot> = first.into_iter().collect();
    let mut tried = 0;
    while let Some(state) = open.pop() {
        for moment in 0.. {
            world.restore(&state);
            tried += 1;
            let end = run_until(moment, || world.start());
            world.assert_foreign_untouched(stranger == Stranger::SetsIt, &state);
            let left = world.snapshot();
            if let Some(removed) = end {
                world.assert_clean(stranger == Stranger::FillsDirectory, &left, &format!("{state:#?}\n{removed:?}"));
                break;
            }
            if found.insert(left.clone()) {
                assert!(found.len() < MOST, "each start leaves something new: {left:#?}");
                open.push(left);
            }
        }
    }
    (found.len(), tried)
}

#[test]
fn after_any_crashes_the_next_start_removes_what_is_ours_and_nothing_else() {
    let world = World::new();
    let deaths = deaths(&world);
    for stranger in [Stranger::Nobody, Stranger::SetsIt, Stranger::FillsDirectory] {
        let met = deaths.iter().filter_map(|state| match stranger {
            Stranger::Nobody => Some(state.clone()),
            Stranger::SetsIt => Some(world.with_other_setting(state)),
            Stranger::FillsDirectory => world.with_foreign_file(state),
        });
        let met: BTreeSet<Snapshot> = met.collect();
        assert!(!met.is_empty());
        let left = met.len();
        let (states, tried) = starts(&world, met, stranger);
        println!("{stranger:?}: {tried} states of starts, from {left} after the program, {states} of them different");
    }
}

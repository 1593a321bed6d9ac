//! A reference for `explain`: small worlds in which it is known who waited for whom at each moment, the rows that the
//! tracer would have recorded of them, and the same shares, chains and culprits, found naively.
//!
//! A failure prints its world: `=` runs, `p` preempted, `w` on the run queue, `K` and `U` wait for a lock of the kernel
//! and of user space, `A` for an answer, `C` for a commit, `t` `r` `q` `d` in the stages of a request, `x` and `j` for
//! logs, `.` for a request.

mod chains;
mod check;
mod clock;
mod culprits;
mod drawing;
mod found;
mod left_out;
mod naive;
mod outputs;
mod plan;
mod rows;
mod rules;
mod simulation;
mod world;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use check::Case;
use plan::plan;

/// The same cases each time, as what is left out is not known exactly where several faults meet; with PROPTEST_CASES as
/// many others.
fn config() -> ProptestConfig {
    let any = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let is_fixed = std::env::var_os("PROPTEST_CASES").is_none();
    if is_fixed { ProptestConfig { cases: 250, rng_seed: RngSeed::Fixed(47), ..any } } else { any }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn shares_are_those_of_the_truth(plan in plan()) {
        Case::of(&plan).shares();
    }

    #[test]
    fn each_moment_has_its_cause(plan in plan()) {
        Case::of(&plan).moments();
    }

    #[test]
    fn a_part_of_a_run_has_the_same_causes(plan in plan(), window in (0..80_u64, 1..80_u64)) {
        Case::of(&plan).part(window);
    }

    #[test]
    fn nothing_slow_is_missing_or_listed_twice(plan in plan()) {
        Case::of(&plan).list();
    }

    #[test]
    fn books_close(plan in plan()) {
        Case::of(&plan).books();
    }

    #[test]
    fn culprits_have_what_was_lost(plan in plan()) {
        Case::of(&plan).culprits();
    }

    #[test]
    fn no_step_of_a_chain_is_longer_than_what_it_explains(plan in plan()) {
        Case::of(&plan).chains();
    }

    #[test]
    fn what_is_behind_a_wait_ends_where_the_truth_does(plan in plan()) {
        Case::of(&plan).graph();
    }

    #[test]
    fn the_order_of_rows_does_not_matter(plan in plan(), seed in any::<u64>()) {
        Case::of(&plan).order(seed);
    }

    #[test]
    fn ids_and_names_of_tasks_do_not_matter(plan in plan(), seed in any::<u64>()) {
        Case::of(&plan).naming(seed);
    }

    #[test]
    fn an_answer_names_rules_that_there_are(plan in plan()) {
        Case::of(&plan).known_rules();
    }

    #[test]
    fn a_rule_that_a_stall_does_not_name_does_not_matter(plan in plan(), rule in any::<usize>()) {
        Case::of(&plan).named_rules(rule);
    }

    #[test]
    fn a_task_that_is_to_blame_was_waited_for(plan in plan()) {
        Case::of(&plan).root_blockers();
    }

    #[test]
    fn all_outputs_name_the_same_holder(plan in plan()) {
        Case::of(&plan).holders();
    }
}

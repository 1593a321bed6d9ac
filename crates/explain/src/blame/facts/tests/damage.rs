//! Evidence that is lost with a damaged part of the archive explains nothing.

use model::damage::Damage;

use crate::blame::tests::stage::{MS, description, stage};
use crate::blame::{Blame, Cause, Explanation};

const DRAWING: &str = "
    op:read  7 |====================|
    off      7 |ssss                | request=3
    request  3 |QID C               | tid=7
";

fn explained(damage: &[Damage], with_requests: bool) -> Explanation {
    let drawn = stage(DRAWING);
    let mut blame = Blame::new(None, &description(true));
    blame.operations(&drawn.operations);
    blame.stalls(&drawn.stalls);
    if with_requests {
        blame.requests(&drawn.requests);
    }
    blame.damage(damage);
    blame.finish()
}

fn damage_of(table: &str, span_ns: Option<(u64, u64)>) -> Damage {
    Damage { table: Some(table.into()), span_ns, ..Damage::of_file("x", "its checksum differs") }
}

fn sum(explanation: &Explanation) -> u64 {
    explanation.causes.iter().map(|time| time.time_ns).sum()
}

#[test]
fn nothing_runs_while_stalls_are_lost() {
    let whole = explained(&[], true);
    assert_eq!((whole.time_ns(Cause::Running), whole.losses.parts, whole.losses.any()), (16 * MS, 0, false));
    for (damage, running_ns) in [
        (damage_of("stalls", None), 0),
        (damage_of("stalls", Some((10 * MS, 15 * MS))), 11 * MS),
        (Damage::of_file("journal", "missing: entry 3"), 0),
        (damage_of("operations", None), 16 * MS),
        (Damage { rows: Some(0), ..damage_of("stalls", None) }, 16 * MS),
    ] {
        let found = explained(std::slice::from_ref(&damage), true);
        assert_eq!(found.time_ns(Cause::Running), running_ns, "{damage:?}");
        assert_eq!(found.time_ns(Cause::Unexplained), 16 * MS - running_ns, "{damage:?}");
        assert_eq!((sum(&found), found.losses.parts, found.losses.any()), (20 * MS, 1, true));
    }
}

#[test]
fn a_lost_request_is_no_evidence_for_the_device() {
    let unknown = explained(&[], false);
    assert_eq!((unknown.time_ns(Cause::Device), unknown.time_ns(Cause::Unexplained)), (4 * MS, 0));
    let lost = explained(&[damage_of("requests", None)], false);
    assert_eq!((lost.time_ns(Cause::Device), lost.time_ns(Cause::Unexplained)), (0, 4 * MS));
    assert_eq!(sum(&lost), 20 * MS);
}

#[test]
fn as_many_stalls_are_described_as_asked_for() {
    let drawn = stage(&(1..=300).map(|tid| format!("op:read {tid} |======|\n")).collect::<String>());
    let listed = |count: Option<usize>| {
        let mut blame = Blame::new(None, &description(true));
        blame = match count {
            Some(count) => blame.listing(count),
            None => blame,
        };
        blame.operations(&drawn.operations);
        let found = blame.finish();
        (found.slow_operations, found.stalls.len())
    };
    let all = drawn.operations.len();
    assert_eq!(all, 300);
    assert_eq!(
        [listed(None), listed(Some(250)), listed(Some(3000)), listed(Some(1))].map(|(_, listed)| listed),
        [200, 250, all, 1]
    );
    assert!([listed(None), listed(Some(1))].iter().all(|(total, _)| *total == all as u64));
}

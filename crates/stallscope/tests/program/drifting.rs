//! Whether a run of the ground truth drifts from earlier ones (tests/truth/drift.rs).

use crate::drift::{Accepted, Seen, Shares};

fn shares(shares: &[(&str, f64)]) -> Shares {
    shares.iter().map(|(cause, share)| ((*cause).to_owned(), *share)).collect()
}

fn seen(device: f64, unexplained: f64, others: &[(&str, f64)]) -> Seen {
    Seen { causes: shares(&[("device", device)]), unexplained, others: shares(others) }
}

fn accepted(runs: &[Seen]) -> Accepted {
    let mut accepted = Accepted::default();
    runs.iter().for_each(|seen| accepted.merge(seen));
    accepted
}

#[test]
fn the_lowest_true_and_the_highest_other_shares_are_kept() {
    let runs = [seen(97.04, 1.0, &[("running", 2.0), ("lock", 0.9)]), seen(98.0, 0.2, &[("cpu_wait", 1.6)])];
    let expected = Accepted {
        runs: 2,
        causes: shares(&[("device", 97.0)]),
        unexplained: 1.0,
        others: shares(&[("cpu_wait", 1.6), ("running", 2.0)]),
    };
    assert_eq!(accepted(&runs), expected);
    assert_eq!(accepted(&[runs[1].clone(), runs[0].clone()]), expected);
}

#[test]
fn three_points_are_no_drift_and_more_are() {
    let accepted = accepted(&[seen(97.0, 1.0, &[("running", 2.0)])]);
    assert!(accepted.drift(&seen(94.0, 4.0, &[("running", 5.0), ("lock", 3.0)])).is_empty());
    assert!(accepted.drift(&seen(100.0, 0.0, &[])).is_empty(), "better is no drift");
    let drift = accepted.drift(&seen(93.9, 4.1, &[("running", 5.1), ("lock", 3.1)]));
    let expected = [
        "device has only 93.9 %; at least 97.0 % in 1 run",
        "unexplained has 4.1 %; at most 1.0 % in 1 run",
        "lock has 3.1 %; at most 0.0 % in 1 run",
        "running has 5.1 %; at most 2.0 % in 1 run",
    ];
    assert_eq!(drift, expected);
}

#[test]
fn a_test_with_another_true_cause_starts_over_with_it() {
    let mut accepted = accepted(&[seen(97.0, 1.0, &[("swap", 2.0)])]);
    let other = Seen { causes: shares(&[("swap", 99.0)]), ..Seen::default() };
    assert_eq!(accepted.drift(&other), ["swap is new as a true cause"]);
    accepted.merge(&other);
    assert_eq!((accepted.causes, accepted.others), (shares(&[("swap", 99.0)]), Shares::new()));
}

#[test]
fn a_table_is_read_as_it_was_written() {
    let accepted = accepted(&[seen(97.0, 1.0, &[("running", 2.0)])]);
    let text = accepted.toml("disk");
    let read: toml::Table = toml::from_str(&text).unwrap();
    assert_eq!(read["test"]["disk"].clone().try_into::<Accepted>().unwrap(), accepted);
}

use explain::whatif::{Change, Choice, Estimate, Prediction, SameTime, SlowLatencies};
use model::trial::{TrialChange, TrialPeriod, TrialPlan};
use remedy::{Remedies, Target};
use trial::{FigureKind, FigureTable, Outcome, PeriodFigures, schedule};

use super::{Trial, Tried, json, predicted, predicted_json, sentences, text};
use crate::style::Style;

/// That many blocks; with the change the first figure is halved, and the second stays.
fn table(blocks: u32) -> FigureTable {
    let row = |slot: trial::Slot| {
        let noise = 1.0 + 0.001 * f64::from(slot.ordinal * 7 % 13);
        let value = vec![Some(if slot.changed { 5e8 } else { 1e9 } * noise), Some(1e6 * noise)];
        let (block, changed) = (slot.block, slot.changed);
        let period =
            TrialPeriod { ordinal: slot.ordinal, block, changed, began_ns: 0, counted_from_ns: 1, ended_ns: 2 };
        PeriodFigures { period, whole: value.clone(), halves: [value.clone(), value] }
    };
    let periods = schedule(blocks, 1).into_iter().map(row).collect();
    FigureTable { kinds: vec![FigureKind::StallTime, FigureKind::DeviceBytes], periods, device: Some("sda".into()) }
}

fn plan() -> TrialPlan {
    let (what, found) = ("/sys/block/sda/queue/scheduler".to_owned(), Some("none".to_owned()));
    TrialPlan { changes: vec![TrialChange { what, found, tried: "bfq".into() }], ..TrialPlan::default() }
}

#[test]
fn at_most_five_sentences_come_before_the_table() {
    let (table, plan) = (table(8), plan());
    let outcome = Outcome::of(&table, 0.05);
    let of = Trial { run: "r", plan: &plan, outcome: &outcome, ended: None, left: &[] };
    assert_eq!(
        sentences(&of),
        [
            "With /sys/block/sda/queue/scheduler bfq (was none), the time in slow operations was better: -50.0 % (95 % \
             interval -50.2 to -50.0 %; q 0.02; 32 periods).",
            "Unchanged within the margin: bytes_per_s.",
            "No carry-over between periods was found.",
            "The trial ran as planned; everything is as it was found.",
        ]
    );
    let text = text(&of, Style::PLAIN);
    assert!(text.contains("\n\n") && text.contains("stall_time") && text.contains("bytes of sda"), "{text}");
    let document = json(&of, &table);
    assert_eq!((&document["effects"][0]["verdict"], &document["restored"]), (&"better".into(), &true.into()));
    assert_eq!(document["periods"].as_array().unwrap().len(), 32);
    assert_eq!(document["periods"][0]["figures"]["bytes_per_s"], 1e6);
}

#[test]
fn a_short_trial_says_what_is_missing_and_what_is_left() {
    let (table, plan) = (table(1), plan());
    let outcome = Outcome::of(&table, 0.05);
    let left = ["could not restore x".to_owned()];
    let of = Trial { run: "r", plan: &plan, outcome: &outcome, ended: Some("interrupted"), left: &left };
    let sentences = sentences(&of);
    assert!(sentences[0].ends_with("no figure was found to differ in 4 periods."), "{sentences:?}");
    assert!(sentences[1].starts_with("Not enough data: stall_time (20 more periods)"), "{sentences:?}");
    assert_eq!(sentences[2], "The trial ended early: interrupted; NOT RESTORED: could not restore x.");
}

#[test]
fn a_wait_that_lasts_through_periods_leaves_no_verdict() {
    let (mut table, plan) = (table(8), plan());
    for (row, at_ns) in table.periods.iter_mut().zip((0..).step_by(1_000_000_000)) {
        (row.period.began_ns, row.period.counted_from_ns) = (at_ns, at_ns + 100_000_000);
        row.period.ended_ns = at_ns + 1_000_000_000;
    }
    let of_length = |unfinished_ns| Outcome::of(&table, 0.05).with_unfinished(&table, unfinished_ns);
    assert_eq!(of_length(800_000_000).hang, None);
    let outcome = of_length(3_500_000_000);
    let of = Trial { run: "r", plan: &plan, outcome: &outcome, ended: None, left: &[] };
    let began = if table.periods[28].period.changed {
        "/sys/block/sda/queue/scheduler bfq (was none)"
    } else {
        "everything as it was found"
    };
    assert_eq!(
        sentences(&of)[0],
        format!(
            "No verdict: a wait of the command had not ended after 3.50 s; it lasts through 3 whole periods, and began \
             with {began}. See 'stallscope explain'."
        )
    );
    let document = json(&of, &table);
    assert!(document["effects"].as_array().unwrap().iter().all(|effect| effect["verdict"] == "unfinished"));
    assert_eq!(document["hang"]["whole_periods"], 3);
}

#[test]
fn a_number_of_periods_that_no_trial_reaches_is_said_to_be_none() {
    assert_eq!(super::needed::needed(20), "20 more periods");
    assert_eq!(super::needed::needed(26_720), "26,720 more periods, which is not practical");
}

#[test]
fn predicted_stands_beside_measured() {
    let outcome = Outcome::of(&table(8), 0.05);
    let remedies = Remedies::shipped();
    let remedy = remedies.get("scheduler-none").unwrap();
    let recorded = SlowLatencies { total_ns: 100, p50_ns: 10, p99_ns: 50, ..SlowLatencies::default() };
    let total_ns = Estimate { value: 60, low: 40, high: 70 };
    let in_same_time = SameTime { total_ns, ..SameTime::default() };
    let prediction = Prediction { recorded, in_same_time, ..Prediction::default() };
    let change = Change::Edge { effect: remedy.effect, of: remedy.of.clone() };
    let choice = Choice { change, remedies: vec![remedy.clone()], target: Target::default(), prediction, of_ns: 0 };
    let tried = Tried { choice: &choice, remedy, outcome: &outcome };
    let text = predicted(&[tried], Style::PLAIN);
    let line = text.lines().find(|line| line.contains("stall_time")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let expected = "scheduler-none stall_time at best -40.0 % -60.0 to -30.0 % -50.0 % -50.2 to -50.0 % better";
    assert_eq!(words.join(" "), expected);
    let line = text.lines().find(|line| line.contains("slow.p50")).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>().join(" "), "slow.p50 too few stay slow - - -");
    let document = predicted_json(&Tried { choice: &choice, remedy, outcome: &outcome });
    assert_eq!((&document["id"], &document["figures"][0]["predicted"]), (&"scheduler-none".into(), &0.6.into()));
    // No percentile was predicted or measured.
    assert_eq!(document["figures"][1]["predicted"], serde_json::Value::Null);
    assert_eq!(document["figures"][1]["measured"], serde_json::Value::Null);
}

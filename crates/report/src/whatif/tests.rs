use model::prediction::{Latencies, Predicted, Prediction};

use super::{Recording, json, text};
use crate::style::Style;

fn latencies(p50_ns: u64) -> Vec<Latencies> {
    let row = |class, count, p50_ns| Latencies {
        class,
        count,
        p50_ns,
        p90_ns: None,
        p99_ns: None,
        queue_mean_ns: 5,
        device_mean_ns: 7,
    };
    vec![row("read", 30, Some(p50_ns)), row("async write", 0, None)]
}

fn prediction(p50_ns: u64) -> Prediction {
    Prediction {
        requests: 30,
        unusable: 2,
        loops: [(1, 30), (0, 0), (0, 0)],
        depth: 4,
        servers: 2,
        servers_fitted: true,
        load_correlation: 0.01,
        out_of_turn: 0,
        service: Vec::new(),
        recorded: latencies(1_000_000),
        recorded_took_ns: 1_000_000_000,
        predicted: vec![Predicted {
            policy: "deadline".to_owned(),
            latencies: latencies(p50_ns),
            took_ns: 1,
            is_check: true,
        }],
    }
}

fn recording() -> Recording {
    let recorded_under = Some("deadline".to_owned());
    let (path, device) = ("run".to_owned(), "7,0".to_owned());
    Recording { path, device, recorded_under, others: 0, uncertain: 3, lost_events: 70, made_by: None }
}

#[test]
fn a_miss_of_the_check_is_reported() {
    let shown = text(&recording(), &prediction(1_100_000), Style::PLAIN);
    assert!(shown.contains("within 15 % in medians"), "{shown}");
    assert!(!shown.contains("async write"), "{shown}");
    assert!(shown.contains("2 requests without an issue time"), "{shown}");
    assert!(shown.contains("SIMULATED") && shown.contains("70 events of the trace lost"), "{shown}");
    assert!(shown.contains("3 requests with lost events; excluded"), "{shown}");
    let shown = text(&recording(), &prediction(1_200_000), Style::PLAIN);
    assert!(shown.contains("misses 1 of 1: p50 of reads x 1.20"), "{shown}");
}

#[test]
fn a_simulated_recording_is_marked() {
    let made_by = Some(model::simulation::Origin { model: "sched".into(), policy: "cfq".into(), seed: Some(1) });
    let shown = text(&Recording { made_by, ..recording() }, &prediction(1), Style::PLAIN);
    assert!(shown.contains("SIMULATED by the model 'sched'") && !shown.contains("only the rows"), "{shown}");
}

#[test]
fn unknown_is_null() {
    let document = json(&recording(), &prediction(1));
    assert!(document["prediction"]["recorded"][0]["p99_ns"].is_null());
    assert_eq!(document["prediction"]["predicted"][0]["policy"], "deadline");
}

#[test]
fn identical_results_of_all_policies_are_reported() {
    let mut found = prediction(1);
    assert!(
        !text(&recording(), &found, Style::PLAIN).contains("All policies give the same result"),
        "unknown for one policy"
    );
    found.predicted.push(Predicted { policy: "bfq".to_owned(), is_check: false, ..found.predicted[0].clone() });
    assert!(text(&recording(), &found, Style::PLAIN).contains("All policies give the same result"));
    assert_eq!(json(&recording(), &found)["policies_differ"], false);
    found.predicted[1].latencies = latencies(2);
    assert!(!text(&recording(), &found, Style::PLAIN).contains("All policies give the same result"));
}

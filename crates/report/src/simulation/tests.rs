use std::time::Duration;

use model::simulation::{Course, Figure, Hang, Histogram, HistogramForm, Simulation, Waiter};

use super::{PolicyRun, json, text};
use crate::style::Style;

fn figure(name: &str, value: Option<f64>) -> Figure {
    Figure { name: name.into(), about: "what it is".into(), value, more_is_better: Some(true) }
}

fn policy_run(policy: &str, course: Course) -> PolicyRun {
    let simulation = Simulation {
        model: "toy".into(),
        policy: policy.into(),
        about: "does a thing".into(),
        parameters: vec![("writers".into(), 8.0)],
        words: vec![("layout".into(), "shared".into())],
    };
    PolicyRun { run: format!("runs/{policy}"), simulation, course, took: Duration::from_millis(500) }
}

fn two() -> Vec<PolicyRun> {
    let pages = |rows: &[(u64, u64)]| Histogram {
        name: "pages per rpc".into(),
        form: HistogramForm::RpcStats,
        rows: rows.to_vec(),
    };
    let latency = Histogram {
        name: "xfs_reclaim_inodes_ag".into(),
        form: HistogramForm::Argdist,
        rows: vec![(4, 10), (1 << 30, 5)],
    };
    let old = Course {
        ended_ns: 2_000_000_000,
        events: 1000,
        hang: Some(Hang {
            at_ns: 1_500_000_000,
            waiters: vec![Waiter {
                task: "writer 3".into(),
                awaits: "a grant".into(),
                from: vec!["writer 1".into()],
                since_ns: 1_000_000_000,
            }],
        }),
        figures: vec![
            figure("throughput_bytes_per_s", Some(1048576.0)),
            figure("rpcs", Some(400.0)),
            figure("waits_ns", None),
        ],
        histograms: vec![pages(&[(1, 1), (2, 2), (256, 1)]), latency],
    };
    let new = Course {
        figures: vec![figure("throughput_bytes_per_s", Some(4194304.0)), figure("rpcs", Some(100.0))],
        histograms: vec![pages(&[(256, 100)])],
        ended_ns: 2_000_000_000,
        events: 500,
        hang: None,
    };
    vec![policy_run("old", old), policy_run("new", new)]
}

#[test]
fn policies_are_side_by_side_and_a_hang_is_reported() {
    let text = text("a toy", &["writers=8".to_owned()], 7, &two(), Style::PLAIN);
    println!("{text}");
    let line = |begin: &str| {
        text.lines().find(|line| line.trim_start().starts_with(begin)).unwrap_or_else(|| panic!("no {begin}"))
    };
    assert!(text.contains("nothing here was measured on a machine"));
    let words = |begin: &str| line(begin).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words("throughput_bytes_per_s"), "throughput_bytes_per_s 1.00 MiB/s 4.00 MiB/s (x 4.00)");
    assert_eq!(words("rpcs "), "rpcs 400 100 (x 0.25)");
    assert_eq!(words("waits_ns"), "waits_ns - -");
    assert!(line("HANG").contains("after 1.50 s of old"));
    assert!(line("writer 3").ends_with("waits since 1.00 s for a grant; from writer 1"));
    assert!(line("old: 1,000 events").contains("2,000 events/s"));
}

#[test]
fn histograms_have_familiar_forms() {
    let text = text("a toy", &[], 7, &two(), Style::PLAIN);
    let from = text.find("pages per rpc    ").unwrap();
    assert_eq!(
        text[from..].lines().take(4).collect::<Vec<_>>(),
        [
            "pages per rpc               rpcs   % cum %",
            "1:                             1  25  25",
            "2:                             2  50  75",
            "256:                           1  25 100",
        ]
    );
    assert!(text.contains("         4 -> 7          : 10       |****************************************|"), "{text}");
    assert!(text.contains("1073741824 -> 2147483647 : 5        |********************"));
}

#[test]
fn the_document_has_each_policy_with_its_ratios() {
    let document = json("toy", 7, &two());
    assert_eq!(document["parameters"], serde_json::json!({"writers": 8.0, "layout": "shared"}));
    assert_eq!(document["policies"][1]["ratio_to_first"]["throughput_bytes_per_s"], 4.0);
    assert_eq!(document["policies"][0]["hang"]["waiters"][0]["from"][0], "writer 1");
    assert!(document["policies"][0]["figures"]["waits_ns"].is_null());
    assert!(document["policies"][1]["hang"].is_null());
}

#[test]
fn policies_wrap_at_the_width() {
    let many: Vec<_> = two().into_iter().chain(two()).chain(two()).collect();
    for (width, blocks) in [(400, 1), (100, 2), (20, 6)] {
        let text = text("a toy", &[], 7, &many, Style { width, ..Style::PLAIN });
        println!("{text}");
        let lines: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("rpcs ")).collect();
        assert_eq!(lines.len(), blocks);
        assert!(width < 100 || lines.iter().all(|line| line.chars().count() <= width));
        assert_eq!(lines.concat().matches("(x 0.25)").count(), 3, "each is compared with the first");
        assert!(text.contains("x: ratio to 'old'"));
    }
}

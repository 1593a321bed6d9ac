use model::event::{Ending, Member, RunEvent};
use model::latency::index_of;
use model::operation::{Bucket, IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use model::set::NodeClock;
use model::time::Moment;

use super::{OfNode, SetSummary, limits};
use crate::series::SeriesSet;
use crate::summary::{RecordingFacts, Summary, SummaryBuilder};

const S: u64 = 1_000_000_000;

/// A node whose clock is ahead by `ahead_s`, with a write phase of 10 s that begins 5 s after the start of its run, at
/// 105 s.
struct Node {
    ahead_s: u64,
    rank: u64,
    mib: u64,
    took_s: u64,
    ended: bool,
}

impl Node {
    fn summary(&self) -> Summary {
        let at = |s: u64| (100 + self.ahead_s + s) * S;
        let mut run = RunDescription::new("ior", Moment { monotonic_ns: at(0), wall_ns: 0 });
        run.slower_than_ns = S;
        let mut builder = SummaryBuilder::new(run);
        builder.event(&RunEvent::PhaseStarted { phase: "write".into(), measured: true, at_ns: at(5) });
        if self.ended {
            let tid = 40 + self.rank as u32;
            let (start_ns, end_ns, bytes) = (at(5), at(5 + self.took_s), self.mib << 20);
            let (actor, items) = ("rank".to_owned(), self.mib);
            let member = Member { actor, ordinal: self.rank, tid, start_ns, end_ns, items, bytes, ..Member::default() };
            builder.event(&RunEvent::JobThreads { phase: "write".into(), at_ns: at(15), members: vec![member] });
            builder.event(&RunEvent::PhaseEnded { phase: "write".into(), at_ns: at(15), bytes });
            builder.event(&RunEvent::Ended { at_ns: at(16), how: Ending::Done });
        }
        for half in 0..2 {
            let latency_ns = (1 + self.rank) * S;
            builder.interval(&IntervalRecord {
                phase: "write".into(),
                class: "write".into(),
                start_ns: at(5 + 5 * half),
                end_ns: at(10 + 5 * half),
                count: 1,
                bytes: (self.mib << 20) / 2,
                sum_ns: latency_ns,
                max_ns: Some(latency_ns),
                buckets: vec![Bucket { index: index_of(latency_ns), count: 1 }],
                ..IntervalRecord::default()
            });
        }
        builder.operation(&OperationRecord {
            kind: OperationKind::Slow,
            class: "write".into(),
            tid: 40,
            start_ns: at(7),
            duration_ns: (1 + self.rank) * S,
            bytes: None,
            errno: None,
            path: None,
            offset_bytes: None,
            fault: None,
        });
        builder.summarise(&SeriesSet::default(), RecordingFacts::default())
    }

    fn clock(&self) -> NodeClock {
        NodeClock { offset_ns: (self.ahead_s * S) as i64, error_ns: Some(3) }
    }
}

fn set(nodes: &[Node]) -> SetSummary {
    let summaries: Vec<Summary> = nodes.iter().map(Node::summary).collect();
    let of = |(node, summary): (&Node, _)| OfNode { summary, clock: node.clock() };
    SetSummary::of(&nodes.iter().zip(&summaries).map(of).collect::<Vec<_>>()).unwrap()
}

#[test]
fn what_nodes_did_adds_up_and_the_time_is_common() {
    let set = set(&[
        Node { ahead_s: 0, rank: 0, mib: 100, took_s: 10, ended: true },
        Node { ahead_s: 5000, rank: 1, mib: 40, took_s: 10, ended: true },
    ]);
    let whole = &set.whole;
    assert_eq!((whole.started_ns, whole.duration_ns, whole.ending), (100 * S, 10 * S, Some(Ending::Done)));
    let phase = &whole.phases[0];
    assert_eq!((whole.phases.len(), phase.start_ns, phase.end_ns), (1, 5 * S, Some(15 * S)));
    assert_eq!((phase.bytes, phase.job_threads.len()), (Some(140 << 20), 2));
    assert!(phase.job_threads.iter().all(|member| (member.start_ns, member.end_ns) == (105 * S, 115 * S)));
    assert_eq!(phase.progress.iter().map(|progress| progress.bytes >> 20).collect::<Vec<_>>(), [70, 70]);
    let latencies = &whole.operations[0].latencies;
    assert_eq!((latencies.count(), latencies.bytes(), latencies.max_ns()), (4, 140 << 20, Some(2 * S)));
    assert_eq!(whole.slow[0].count, 2, "1 s is not above the threshold");
    let (name, rate) = &whole.rates[0];
    assert_eq!((name.as_str(), rate.mean_per_s), ("bytes", f64::from(14 << 20)));
    let worst: Vec<_> = whole.worst.iter().map(|worst| (worst.start_ns / S, worst.duration_ns / S)).collect();
    assert_eq!((worst, set.worst_on), (vec![(107, 2), (107, 1)], vec![1, 0]));
    assert_eq!(set.outliers.iter().map(|outlier| outlier.ordinal).collect::<Vec<_>>(), [1]);
}

/// The figures of a phase that one node did not finish would be too good: its time and bytes are unknown.
#[test]
fn a_phase_that_a_node_did_not_finish_has_no_end() {
    let set = set(&[
        Node { ahead_s: 0, rank: 0, mib: 100, took_s: 10, ended: true },
        Node { ahead_s: 7, rank: 1, mib: 40, took_s: 10, ended: false },
    ]);
    assert_eq!((set.whole.ending, set.whole.phases[0].end_ns, set.whole.phases[0].bytes), (None, None, None));
    assert_eq!(set.whole.duration_ns, 10 * S);
}

#[test]
fn outliers_are_far_from_the_median_and_beyond_the_margin() {
    let slow = |rates: &[f64]| {
        let least = limits(rates).unwrap().1;
        rates.iter().copied().filter(|rate| *rate < least).collect::<Vec<_>>()
    };
    assert_eq!(slow(&[100.0, 100.0, 100.0, 80.0]), [80.0]);
    assert_eq!(slow(&[100.0, 99.0, 98.0, 95.0]), [0.0; 0], "within 10 %");
    assert_eq!(slow(&[100.0, 80.0, 60.0, 120.0, 90.0, 75.0]), [0.0; 0], "they differ this much");
    assert_eq!(slow(&[100.0, 50.0]), [50.0]);
    assert_eq!(slow(&[0.0, 0.0]), [0.0; 0]);
    assert_eq!(limits(&[1.0]), None);
}

use explain::blame::{Cause, CauseTime, Culprit, EvidenceTimes, Explanation, Part, Stall, TaskId};
use explain::whatif::Advice;
use model::set::{NodeClock, SetNode};

use super::{ExplainedNode, ExplainedNodes, document};
use crate::answer::{Answer, Line};

const S: u64 = 1_000_000_000;

fn explanation(tid: u32, blocker: &str, cause: Cause, seconds: u64) -> Explanation {
    let task = |name: &str| TaskId { tid, name: Some(name.to_owned()) };
    let time_ns = seconds * S;
    let causes = vec![CauseTime {
        cause,
        time_ns,
        operations: 1,
        most_of: 1,
        evidence: EvidenceTimes::default(),
        again: EvidenceTimes::default(),
    }];
    let culprit = Culprit {
        task: Some(task(blocker)),
        tasks: 1,
        started_by: None,
        through: None,
        role: None,
        cgroup: None,
        container: None,
        device: None,
        device_name: None,
        file_system: None,
        cause,
        evicts: false,
        time_ns,
        own_ns: 0,
        victims: Vec::new(),
        victims_count: 1,
        at_once: 0,
    };
    let stall = Stall {
        task: task("rank"),
        cgroup: None,
        of_command: Some(true),
        operation: "write".into(),
        path: None,
        start_ns: 50 * S,
        duration_ns: time_ns,
        finished: true,
        cut: false,
        causes: Vec::new(),
        chain: Vec::new(),
        request: None,
        served: None,
        user_stack: None,
        rules: Vec::new(),
    };
    let culprits = vec![culprit];
    let part =
        Part { operations: 1, wall_ns: time_ns, causes: causes.clone(), culprits: culprits.clone(), ..Part::default() };
    Explanation {
        slower_than_ns: S,
        operations: Some(100),
        slow_operations: 1,
        wall_ns: time_ns,
        causes,
        culprits,
        command: Some(part),
        stalls: vec![stall],
        ..Explanation::default()
    }
}

#[test]
fn the_node_that_lost_most_and_the_nodes_of_root_blockers_are_named() {
    let node = |name: &str, rank| SetNode {
        name: name.into(),
        host: name.into(),
        ranks: vec![rank],
        clock_at_begin: None,
        clock_at_end: None,
        lost: None,
    };
    let nodes = [node("a", 0), node("b", 1)];
    let explanations = [explanation(7, "tar", Cause::Device, 2), explanation(9, "dd", Cause::Lock, 6)];
    let answers = explanations.each_ref().map(|explanation| Answer::of(explanation, &Advice::default()));
    let explained: Vec<ExplainedNode<'_>> = nodes
        .iter()
        .zip(explanations.iter().zip(&answers))
        .map(|(node, (explanation, answer))| ExplainedNode {
            node,
            clock: NodeClock {
                offset_ns: 10 * S as i64 * node.ranks[0] as i64,
                error_ns: Some(node.ranks[0] * 12_000),
            },
            run: "x",
            explanation,
            answer,
            document: document("x", explanation, &Advice::default(), answer),
        })
        .collect();
    let ExplainedNodes { all, answer, document } = ExplainedNodes::of("OUT", &explained, 200);
    assert_eq!((all.slow_operations, all.wall_ns), (2, 8 * S));
    let texts = |lines: &[Line]| lines.iter().map(Line::text).collect::<Vec<_>>();
    assert_eq!(answer.headline.text(), "The load waited 8.00 s, 75 % of it for a lock held by dd");
    let who = [
        "2 operations of the load took at least 1.00 s, 8.00 s in total; the longest 6.00 s: write by rank/9",
        "node b 6.00 s (75 %, 1 operation), node a 2.00 s (25 %, 1 operation)",
    ];
    assert_eq!(texts(&answer.who), who);
    assert_eq!(texts(&answer.blocker), ["dd/9: 75 % on node b", "tar/7: 25 % on node a"]);
    let sure = ["100 % explained: 0 % traced; nothing was lost", "times of different nodes are related within 12.0 us"];
    assert_eq!(texts(&answer.sure), sure);
    let stalls: Vec<_> = document["stalls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stall| (&stall["node"], stall["start_ns"].as_u64()))
        .collect();
    assert_eq!(stalls, [(&"b".into(), Some(40 * S)), (&"a".into(), Some(50 * S))]);
    assert_eq!(document["nodes"][1]["share"], 0.75);
}

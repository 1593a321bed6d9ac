//! What a recording of another tool lacks.

use ingest::TextContents;
use model::event::RunEvent;
use model::preflight::{Finding, capability};
use model::quantity::counted;

/// Capabilities, what they show, and why a recording may lack them.
const NEEDED: [(&str, &str, &str, &str); 3] = [
    (
        capability::SYSTEM_CALLS,
        "which system calls were slow",
        "the recording has no system calls: uninterruptible sleeps and run-queue waits are its operations",
        "record -e raw_syscalls as well",
    ),
    (
        capability::BLOCK_REQUESTS,
        "what happened at the disk",
        "the recording has no block events",
        "record -e block as well",
    ),
    (
        capability::LOCKS,
        "which locks were waited for",
        "the recording has no lock events",
        "record -e lock:contention_begin and lock:contention_end as well",
    ),
];

const RECLAIM: [(&str, &str); 2] = [
    (capability::DIRECT_RECLAIM, "mm_vmscan_direct_reclaim_begin"),
    (capability::MEMCG_RECLAIM, "mm_vmscan_memcg_reclaim_begin"),
];
/// Names of events that are written out.
const NAMED: usize = 6;

/// What the run was recorded with, as far as answers rest on it.
pub fn findings(contents: &TextContents) -> Vec<Finding> {
    let is_missing = |capability: &str| match capability {
        capability::SYSTEM_CALLS => !contents.has_system_calls(),
        capability::BLOCK_REQUESTS => !(contents.has("block_rq_complete") || contents.has("block_bio_complete")),
        _ => !(contents.has("contention_begin") && contents.has("contention_end")),
    };
    let finding = |(capability, purpose, why, remedy): &(&str, &str, &str, &str)| match is_missing(capability) {
        true => Finding::missing(*capability, *purpose, *why, *remedy),
        false => Finding::available(*capability, *purpose),
    };
    let scheduler =
        [Finding::available(capability::TRACING, "events"), Finding::available(capability::SCHEDULER, "waits")];
    let reclaim = RECLAIM.iter().map(|(capability, event)| match contents.has(event) {
        true => Finding::available(*capability, "reclaim"),
        false => {
            let why = "the recording has no reclaim events";
            Finding::missing(*capability, "reclaim", why, "record -e vmscan as well")
        }
    });
    scheduler.into_iter().chain(NEEDED.iter().map(finding)).chain(reclaim).collect()
}

/// The same in words, with what else limits the answers.
pub fn words(contents: &TextContents, gaps: u64) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let of_source = findings(contents).into_iter().filter(Finding::is_missing);
    let of_source = of_source.filter(|finding| {
        [capability::SYSTEM_CALLS, capability::BLOCK_REQUESTS].contains(&finding.capability.as_str())
    });
    words.extend(of_source.filter_map(|finding| Some(format!("{}; {}", finding.why?, finding.remedy?))));
    if contents.frames == 0 {
        let remedy = "record stacks: 'perf record -g', or ftrace's option stacktrace";
        words.push(format!("the recording has no stacks, so that waits without a request are unexplained; {remedy}"));
    }
    if !contents.has("sched_waking") && !contents.has("sched_wakeup") {
        words.push(
            "the recording has no sched_waking events: who ended a wait is unknown; record them as well".to_owned(),
        );
    }
    let unused = contents.unused();
    if !unused.is_empty() {
        let more = unused.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = unused[..unused.len().min(NAMED)].join(", ");
        words.push(format!("ignored events: {names}{more}"));
    }
    if contents.lost > 0 || gaps > 0 {
        let (lost, gaps) = (counted(contents.lost, "event"), counted(gaps, "time"));
        words.push(format!("{lost} lost, and events contradict each other {gaps}: what ran then is unknown"));
    }
    words
}

/// What the run does not have because its source lost it.
pub fn losses(contents: &TextContents, gaps: u64, at_ns: u64) -> Vec<RunEvent> {
    let of = [("events of the source", contents.lost), ("context switches", gaps)];
    let of = of.into_iter().filter(|(_, count)| *count > 0);
    of.map(|(what, count)| RunEvent::Loss { what: what.to_owned(), count, at_ns }).collect()
}

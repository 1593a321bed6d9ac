//! Times of phases beside those of btt, on simulated traces of which each type of event is left out in turn.
//!
//! The traces have no flushes, splits and parts, of which btt's times are wrong (docs/BLOCK.md).

#[expect(dead_code, reason = "truth.rs uses all forms of traces")]
mod generated;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use generated::{Form, encode};
use lifecycle::{Lifecycle, Phase, Settings};
use model::block::{Action, BlockEvent};
use simulate::block::damage::Sequencer;
use simulate::block::{Workload, trace_and_truth};

/// Count, minimum, mean and maximum of each phase that has times, ns.
type Times = BTreeMap<&'static str, (u64, u64, u64, u64)>;

/// What a trace may lack.
const LEFT_OUT: [Action; 10] = [
    Action::Queue,
    Action::GetRequest,
    Action::Insert,
    Action::BackMerge,
    Action::FrontMerge,
    Action::Issue,
    Action::Complete,
    Action::Plug,
    Action::Unplug,
    Action::Remap,
];

fn ours(events: &[(u32, BlockEvent)]) -> Times {
    let readers = encode(events, Form::Dump).into_iter().map(|(name, bytes)| (name, std::io::Cursor::new(bytes)));
    let mut trace = blktrace::Trace::from_readers(readers, blktrace::Trace::HELD_BACK).unwrap();
    let mut lifecycle = Lifecycle::new(Settings::default());
    while let Some(events) = trace.next_batch().unwrap() {
        lifecycle.feed_all(events);
    }
    let phases = lifecycle.finish().0.phases;
    let of = |phase: Phase| {
        let times = &phases[phase];
        Some((phase.name(), (times.count(), times.min()?, times.mean()?, times.max()?)))
    };
    Phase::ALL.into_iter().filter_map(of).collect()
}

fn btts(events: &[(u32, BlockEvent)], folder: &Path) -> Times {
    let (_, bytes) = encode(events, Form::Dump).pop().unwrap();
    std::fs::write(folder.join("dump"), bytes).unwrap();
    let output = Command::new("btt").current_dir(folder).args(["-i", "dump"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let ns = |seconds: &str| seconds.replace('.', "").parse::<u64>().unwrap();
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, least, mean, most, count] = words[..] else { return None };
        let phase = Phase::ALL.into_iter().find(|phase| phase.name() == name)?;
        Some((phase.name(), (count.parse().ok()?, ns(least), ns(mean), ns(most))))
    };
    // The table of all devices comes first.
    text.lines()
        .skip_while(|line| !line.contains("All Devices"))
        .skip(1)
        .take_while(|line| !line.contains("==="))
        .filter_map(row)
        .collect()
}

/// Without some events, numbered as a kernel would that does not write them.
fn without(events: &[BlockEvent], action: Option<Action>) -> Vec<(u32, BlockEvent)> {
    let mut numbers = Sequencer::default();
    let kept = events.iter().filter(|event| Some(event.action) != action);
    kept.map(|event| (numbers.number(event), *event)).collect()
}

fn workload(seed: u64, scheduler: bool) -> Workload {
    Workload {
        seed,
        bios: 3000,
        disks: 1 + (seed % 2) as u32,
        scheduler: if scheduler { 1000 } else { 0 },
        contiguous: 60 * (seed % 6),
        partition: 300 * (seed % 2),
        split: 0,
        requeue: 0,
        partial: 0,
        flush: 0,
        durable: 0,
        stacked: 0,
        cgroups: 0,
        ..Workload::default()
    }
}

/// What differs. A bio that merges at the front moves its request, of which btt then misses the insertion: `front`
/// times at most.
fn differences(ours: &Times, btts: &Times, lacks: Option<Action>, front: u64) -> Vec<String> {
    let mut differences = Vec::new();
    for phase in Phase::ALL.map(Phase::name) {
        let (ours, btts) = (ours.get(phase), btts.get(phase));
        let is_same = match (ours, btts) {
            (Some(ours), Some(btts)) if ours.0 == btts.0 => ours == btts,
            (Some(ours), Some(btts)) => ours.0.abs_diff(btts.0) <= front,
            // btt has no G2D, and nothing without Q. Here a bio's times count once it has completed.
            (Some(_), None) => phase == Phase::G2D.name() || lacks == Some(Action::Queue),
            (None, Some(_)) => lacks == Some(Action::Complete),
            (None, None) => true,
        };
        if !is_same {
            differences.push(format!("{phase}: {ours:?}, btt {btts:?}"));
        }
    }
    differences
}

#[test]
fn times_are_those_of_btt_whatever_a_trace_lacks() {
    if Command::new("btt").arg("-V").output().is_err() {
        return println!("skipped: a comparison with btt needs it (package blktrace)");
    }
    let folder = tempfile::tempdir().unwrap();
    for (seed, scheduler) in (1..=4).flat_map(|seed| [(seed, false), (seed, true)]) {
        let (events, _) = trace_and_truth(&workload(seed, scheduler));
        let front = events.iter().filter(|event| event.action == Action::FrontMerge).count() as u64;
        let whole = ours(&without(&events, None));
        assert!(whole["D2C"].0 > 2_500 && front < 300, "{front} {whole:?}");
        for lacks in std::iter::once(None).chain(LEFT_OUT.map(Some)) {
            let events = without(&events, lacks);
            let (ours, btts) = (ours(&events), btts(&events, folder.path()));
            let differ = differences(&ours, &btts, lacks, front);
            assert!(differ.is_empty(), "seed {seed}, scheduler {scheduler}, without {lacks:?}: {differ:#?}");
            assert!(lacks.is_some() || btts.len() >= 5, "btt read it: {btts:?}");
            // No other event is needed for the time at the device.
            let needs = [Some(Action::Issue), Some(Action::Complete)];
            assert_eq!(ours.get("D2C").map(|times| times.3), (!needs.contains(&lacks)).then_some(whole["D2C"].3));
        }
    }
}

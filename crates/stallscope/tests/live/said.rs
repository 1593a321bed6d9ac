//! What is said of the stalls of a run, live and afterwards.

use std::collections::{BTreeMap, HashMap};

use archive::Run;
use explain::blame::{Blame, Culprit, STEAL, Scope, Stall, is_of_limits};
use explain::live::{Bounds, Live};
use explain::series::SeriesSet;
use explain::snapshot::Window;
use model::stall::Traced;

use crate::slices::{SLICE_NS, Slice, Slices, rows};

/// Time that a look covers, and explains in one piece.
const WINDOW_NS: u64 = 10_000_000_000;
/// A stall that has ended is said when the rows of those that it waited for have come.
const LATE_NS: u64 = 3_000_000_000;

/// Operation, thread, start and duration.
pub type Key = (String, u32, u64, u64);

/// What is said of a stall.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    /// The cause of most of its time, and the task at the end of its chain.
    pub why: String,
    pub blocker: String,
}

fn said(stall: &Stall, culprit: Option<&Culprit>) -> Said {
    let cause = stall.causes.iter().max_by_key(|time| time.time_ns).map_or("", |time| time.cause.name());
    let last = stall.chain.last().and_then(|link| link.task.as_ref()).map(ToString::to_string);
    let of_culprit = |one: &Culprit| {
        let (task, cgroup, disk) = (one.task.as_ref().map(ToString::to_string), &one.cgroup, &one.device_name);
        format!("{} {task:?} {cgroup:?} {disk:?}", one.cause.name())
    };
    let blocker = culprit.map_or_else(|| "nobody".to_owned(), of_culprit);
    Said { why: format!("{cause} < {}", last.unwrap_or_default()), blocker }
}

/// Of all stalls of a run, once it is recorded.
pub fn batch(run: &Run) -> HashMap<Key, Said> {
    let mut blame = Blame::new(None, run.description()).listing(usize::MAX);
    blame.events(run.events());
    rows(run.intervals()).for_each(|row| blame.intervals(&[row]));
    rows(run.operations()).for_each(|row| blame.operations(&[row]));
    rows(run.tasks()).for_each(|row| blame.tasks(&[row]));
    rows(run.usage()).for_each(|row| blame.usage(&[row]));
    let mut series = SeriesSet::default();
    let descriptors: Vec<_> = rows(run.descriptors()).collect();
    series.describe(&descriptors, |metric| metric.name == STEAL || is_of_limits(&metric.name));
    rows(run.samples()).for_each(|header| series.sample(header));
    rows(run.changes()).for_each(|change| series.feed(&[change]));
    blame.steal(&series);
    blame.limits(&series, run.description().host.page_size_bytes);
    rows(run.stacks()).for_each(|row| blame.stacks(&[row]));
    rows(run.user_stacks()).for_each(|row| blame.user_stacks(&[row]));
    rows(run.stalls()).for_each(|row| blame.stalls(&[row]));
    run.requests().filter_map(Result::ok).for_each(|rows| blame.requests(&rows));
    blame.damage(&run.damage());
    let key = |stall: &Stall| (stall.operation.clone(), stall.task.tid, stall.start_ns, stall.duration_ns);
    let (explanation, accounting) = blame.finish_with_accounting();
    let culprit = |stall: &Stall| accounting.root_blockers(&[accounting.number_of(stall)?]).pop().flatten();
    explanation.stalls.iter().map(|stall| (key(stall), said(stall, culprit(stall).as_ref()))).collect()
}

/// Of those that are said while rows come, whether they were explained as a whole.
pub fn live(run: &Run) -> BTreeMap<Key, (Said, bool)> {
    let Slices { slices, descriptors, events, lasting } = Slices::of(run);
    let slow_ns = run.description().slower_than_ns;
    // Enough for what one window may need: here the engine is compared, not the bound.
    let mut live = Live::new(slow_ns, Bounds { bytes: 1 << 30, ..Bounds::default() });
    live.events(&events);
    let mut found = BTreeMap::new();
    let last_ns = slices.keys().next_back().copied().unwrap_or(0);
    let first_ns = slices.keys().find(|end_ns| **end_ns > SLICE_NS).copied().unwrap_or(0);
    let mut slices = slices;
    feed(&mut live, slices.remove(&SLICE_NS).unwrap_or_default(), &descriptors);
    for to_ns in (first_ns..=last_ns.saturating_add(LATE_NS)).step_by(SLICE_NS as usize).take(4000) {
        feed(&mut live, slices.remove(&to_ns).unwrap_or_default(), &descriptors);
        if to_ns >= last_ns {
            live.lasting_waits(lasting.clone());
        }
        let window = Window { from_ns: to_ns.saturating_sub(WINDOW_NS), to_ns };
        for one in live.look(run.description(), &Scope::default(), window).stalls {
            // One that lasts is another one each time, until the end.
            if !one.ended && to_ns <= last_ns {
                continue;
            }
            let key = (one.stall.operation.clone(), one.stall.task.tid, one.start_ns, one.duration_ns);
            let is_whole = one.start_ns >= window.from_ns;
            let before = found.insert(key.clone(), (said(&one.stall, one.culprit.as_ref()), is_whole));
            assert!(before.is_none(), "said twice: {key:?}");
        }
    }
    found
}

fn feed(live: &mut Live, slice: Slice, descriptors: &[model::metric::MetricDescriptor]) {
    for (header, changes) in &slice.samples {
        live.sample(header, descriptors, changes);
    }
    live.operations(&slice.operations);
    live.intervals(&slice.intervals);
    // Requests come with the rows that name them.
    let Slice { traced, .. } = slice;
    live.traced(&Traced { ..traced });
}

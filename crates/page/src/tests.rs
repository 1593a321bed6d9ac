//! Small runs → their documents.

mod browser;
mod generated;
mod hostile;
mod hour;

use explain::blame::{Blame, Cause, OtherEnd, Sleep, TaskId, TaskState};
use explain::series::SeriesSet;
use explain::summary::{RecordingFacts, SummaryBuilder};
use model::event::RunEvent;
use model::latency::index_of;
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::operation::{Bucket, IntervalRecord, OperationKind, OperationRecord};
use model::run::RunDescription;
use model::stall::{StackRecord, StallKind, StallRecord, TaskRecord, TraceSettings};
use model::time::Moment;
use serde_json::{Value, json};

use crate::{Limits, RunPage};

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
/// The run's start on the monotonic clock; not zero, so that a missing offset shows.
const START: u64 = 77 * S;

/// The rows of a run.
#[derive(Debug, Default)]
struct Rows {
    events: Vec<RunEvent>,
    intervals: Vec<IntervalRecord>,
    operations: Vec<OperationRecord>,
    stalls: Vec<StallRecord>,
    stacks: Vec<StackRecord>,
    tasks: Vec<TaskRecord>,
    descriptors: Vec<MetricDescriptor>,
    changes: Vec<MetricChange>,
    samples: u32,
}

impl Rows {
    fn page(&self, limits: Limits) -> Value {
        self.page_with(limits, Vec::new())
    }

    /// With sleeps that no operation holds.
    fn page_with(&self, limits: Limits, sleeps: Vec<Sleep>) -> Value {
        let run = RunDescription {
            sample_interval_ns: S,
            report_interval_ns: Some(S),
            slower_than_ns: 500 * MS,
            trace: Some(TraceSettings { slow_ns: 500 * MS, interval_ns: MS, all_requests: false }),
            ..RunDescription::new("test", Moment { monotonic_ns: START, wall_ns: 0 })
        };
        let mut page = RunPage::new(&run, limits);
        let mut summary = SummaryBuilder::new(run.clone());
        let mut blame = Blame::new(None, &run);
        blame.events(&self.events);
        self.events.iter().for_each(|event| summary.event(event));
        blame.intervals(&self.intervals);
        for interval in &self.intervals {
            page.interval(interval);
            summary.interval(interval);
        }
        blame.operations(&self.operations);
        for operation in &self.operations {
            page.operation(operation);
            summary.operation(operation);
        }
        blame.tasks(&self.tasks);
        blame.stacks(&self.stacks);
        blame.stalls(&self.stalls);
        let mut series = SeriesSet::default();
        series.describe(&self.descriptors, |_| true);
        for sample in 0..self.samples {
            let at = Moment { monotonic_ns: START + u64::from(sample) * S, wall_ns: 0 };
            series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
        }
        series.feed(&self.changes);
        let summary = summary.summarise(&series, RecordingFacts::default());
        let (mut explanation, accounting) = blame.finish_with_accounting();
        explanation.sleeps.longest = sleeps;
        page.finish("run", &summary, &series, Some((&explanation, &accounting)))
    }

    /// An operation, and a sleep in it with that function on its stack.
    fn stall(&mut self, class: &str, tid: u32, start_ns: u64, duration_ns: u64, path: &str, frame: &str) {
        self.operations.push(OperationRecord {
            kind: OperationKind::Slow,
            class: class.to_owned(),
            tid,
            start_ns,
            duration_ns,
            bytes: None,
            errno: None,
            path: Some(path.to_owned()),
            offset_bytes: None,
            fault: None,
        });
        let stack = self.stacks.len() as u32;
        self.stacks.push(StackRecord { stack, frames: vec!["schedule".to_owned(), frame.to_owned()] });
        let sleep = StallRecord::new(StallKind::OffCpu, tid, start_ns, start_ns + duration_ns * 3 / 4);
        self.stalls.push(StallRecord { stack: Some(stack), state: Some(2), ..sleep });
    }
}

fn gauge(id: u32, name: &str) -> MetricDescriptor {
    MetricDescriptor {
        id: MetricId(id),
        name: name.to_owned(),
        instance: String::new(),
        unit: Unit::Pages,
        semantics: Semantics::Gauge,
        device: None,
    }
}

fn interval(second: u64, latencies_ms: &[u64]) -> IntervalRecord {
    let buckets = latencies_ms.iter().map(|ms| Bucket { index: index_of(ms * MS), count: 1 }).collect();
    IntervalRecord {
        phase: "run".to_owned(),
        class: "read".to_owned(),
        start_ns: START + second * S,
        end_ns: START + (second + 1) * S,
        count: latencies_ms.len() as u64,
        max_ns: latencies_ms.iter().max().map(|ms| ms * MS),
        buckets,
        ..IntervalRecord::default()
    }
}

fn chart<'a>(page: &'a Value, id: &str) -> &'a Value {
    let charts = page["charts"].as_array().unwrap();
    charts.iter().find(|chart| chart["id"] == id).unwrap_or_else(|| panic!("no chart {id}"))
}

fn line<'a>(chart: &'a Value, name: &str) -> &'a Value {
    let lines = chart["series"].as_array().unwrap();
    &lines.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("no line {name}"))["v"]
}

#[test]
fn absent_data_is_reported_and_not_drawn_as_zero() {
    let page = Rows::default().page(Limits::FILE);
    for id in ["latency", "work", "causes", "pressure", "dirty", "requests", "memory", "slabs"] {
        let chart = chart(&page, id);
        assert_eq!(chart["kind"], "absent", "{id}");
        assert!(!chart["why"].as_str().unwrap().is_empty(), "{id}");
    }
}

#[test]
fn latencies_over_time() {
    let rows =
        Rows { intervals: vec![interval(0, &[10, 20, 40]), interval(1, &[]), interval(2, &[8])], ..Rows::default() };
    let page = rows.page(Limits::FILE);
    assert_eq!(page["axes"]["intervals"]["t"], json!([1000, 1000, 1000]), "ends, as differences");
    let percentiles = chart(&page, "percentiles.read");
    assert_eq!(line(percentiles, "max"), &json!([40_000_000, null, 8_000_000]));
    assert_eq!(line(chart(&page, "work"), "read"), &json!([3, 0, 1]));
    let heat = chart(&page, "heat.read");
    assert_eq!((&heat["columns"], &heat["counts"]), (&json!([0, 0, 0, 2]), &json!([1, 1, 1, 1])));
}

#[test]
fn a_heat_maps_columns_are_the_intervals_of_its_phase() {
    let mut heat = crate::chart::Heat::default();
    // Five seconds each, from 2.5 s on; the last interval is short.
    for end_ms in [7_500, 12_501, 17_500, 19_000] {
        heat.add(end_ms * 1_000_000, 1_000, 1);
    }
    let chart = heat.chart("heat", "Heat", 5 * S, 20 * S);
    assert_eq!((&chart["from_ms"], &chart["columns"]), (&json!(-2_500.0), &json!([1, 1, 1, 1])));
}

#[test]
fn stalls_are_listed_by_time_and_their_time_by_cause_is_drawn() {
    let mut rows = Rows { samples: 5, ..Rows::default() };
    rows.stall("write", 8, START + 2 * S, 2 * S, "/b", "jbd2_log_wait_commit");
    rows.stall("read", 7, START + S, S, "/a", "jbd2_log_wait_commit");
    rows.tasks.push(TaskRecord {
        tid: 7,
        pid: 7,
        name: "worker".to_owned(),
        cgroup: None,
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: 0,
    });
    let page = rows.page(Limits { in_full: 1, ..Limits::FILE });
    let list = &page["stalls"];
    let named = |column: &str| -> Vec<&str> {
        let places = list[column].as_array().unwrap().iter();
        places.map(|place| list["names"][place.as_u64().unwrap() as usize].as_str().unwrap()).collect()
    };
    assert_eq!((named("operation"), named("path")), (vec!["read", "write"], vec!["/a", "/b"]));
    assert_eq!(named("task"), ["worker/7", "thread 8"]);
    assert_eq!((&list["start"], &list["duration"]), (&json!([1_000_000, 1_000_000]), &json!([1_000_000, 2_000_000])));
    assert_eq!(list["share"], json!([75, 75]));
    let full = list["full"].as_object().unwrap();
    assert_eq!(full.keys().collect::<Vec<_>>(), ["1"], "only the longest in full");
    assert_eq!(full["1"]["path"], "/b");
    let journal = Cause::Journal as u8;
    assert_eq!(full["1"]["lanes"]["tasks"][0]["pieces"][0], json!([0, 3 * S / 2, journal]));
    assert_eq!(page["blamed"]["write"][0]["time_ns"], json!(3 * S / 2));
    let causes = chart(&page, "causes");
    assert_eq!(line(causes, "journal"), &json!([0, 0.75, 1, 0.5]), "operations stalled at a time");
}

/// A run of which nothing else is slow: the hang is in the list, in full, and over time.
#[test]
fn a_hang_is_drawn_and_listed_with_the_task_at_the_other_end() {
    let rows = Rows { samples: 5, ..Rows::default() };
    let task = |name: &str, tid| TaskId { tid, name: Some(name.to_owned()) };
    let stopped = OtherEnd {
        task: task("php", 8),
        through: Some(model::detail::OtherEnd::Pipe),
        is_certain: true,
        unread_bytes: None,
        title: None,
        state: Some(TaskState::Stopped),
        call: None,
        on: None,
    };
    let sleep = Sleep {
        task: task("psql", 7),
        call: Some("poll".to_owned()),
        start_ns: START + S,
        duration_ns: 2 * S,
        cpu_quota: None,
        unfinished: true,
        throughout: false,
        hangs: true,
        stack: None,
        waits_for: None,
        waker: None,
        other_ends: vec![stopped],
    };
    let page = rows.page_with(Limits::FILE, vec![sleep]);
    let list = &page["stalls"];
    assert_eq!((&list["seen"], &list["finished"], &list["duration"]), (&json!(1), &json!([0]), &json!([2_000_000])));
    let full = &list["full"]["0"];
    assert_eq!(
        (&full["task"], &full["operation"], &full["finished"]),
        (&json!("psql/7"), &json!("poll"), &json!(false))
    );
    assert_eq!((&full["chain"][1]["task"], &full["chain"][1]["waits_for"]), (&json!("php/8"), &json!("stopped")));
    assert_eq!(line(chart(&page, "causes"), "stopped"), &json!([0, 1, 1, 0]));
}

#[test]
fn more_stalls_than_fit_are_counted_and_the_longest_listed() {
    let mut rows = Rows { samples: 9, ..Rows::default() };
    for (at, ms) in [(1, 600), (2, 900), (3, 700), (4, 800)] {
        rows.stall("read", 7, START + at * S, ms * MS, "/a", "io_schedule");
    }
    let page = rows.page(Limits { stalls: 2, ..Limits::FILE });
    assert_eq!((&page["stalls"]["seen"], &page["stalls"]["number"]), (&json!(4), &json!([1, 2])));
    assert_eq!(page["stalls"]["duration"], json!([900_000, 800_000]));
}

#[test]
fn a_gauge_is_absent_before_it_appeared() {
    let change = |sample, value| MetricChange { sample, metric: MetricId(3), value };
    let rows = Rows {
        descriptors: vec![gauge(3, "vmstat.nr_dirty")],
        changes: vec![change(2, Some(5)), change(4, None)],
        samples: 6,
        ..Rows::default()
    };
    // The page size is unknown here, so this checks absence only.
    let page = rows.page(Limits::FILE);
    assert_eq!(line(chart(&page, "dirty"), "dirty"), &json!([null, null, 0, 0, null, null]));
}

#[test]
fn phases_stuck_operations_clock_steps_and_losses_are_marked() {
    let mut rows = Rows { samples: 3, ..Rows::default() };
    rows.events = vec![
        RunEvent::PhaseStarted { phase: "warmup".into(), measured: false, at_ns: START },
        RunEvent::PhaseEnded { phase: "warmup".into(), at_ns: START + S, bytes: 0 },
        RunEvent::ClockStep { at_ns: START + S, by_ns: -3 * S as i64 },
        RunEvent::Loss { what: "waits".into(), count: 3, at_ns: START + 2 * S },
    ];
    rows.stall("read", 7, START + S, S, "/a", "io_schedule");
    rows.operations[0].kind = OperationKind::Stuck;
    let page = rows.page(Limits::FILE);
    let kinds: Vec<&str> =
        page["marks"].as_array().unwrap().iter().map(|mark| mark["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["phase", "clock", "stuck", "loss"]);
    assert_eq!(page["marks"][1]["text"], "the wall clock stepped back by 3.00 s");
}

#[test]
fn long_series_keep_their_extremes() {
    let mut rows = Rows { samples: 10_000, ..Rows::default() };
    rows.descriptors = vec![MetricDescriptor { unit: Unit::Kibibytes, ..gauge(1, "meminfo.Cached") }];
    let change = |sample, value| MetricChange { sample, metric: MetricId(1), value: Some(value) };
    rows.changes = vec![change(0, 100), change(5_000, 9_000), change(5_001, 100)];
    let page = rows.page(Limits::FILE);
    let memory = chart(&page, "memory");
    let cached = &memory["series"][0];
    let largest =
        |column: &str| cached[column].as_array().unwrap().iter().filter_map(Value::as_f64).fold(0.0, f64::max) / 1024.0;
    assert_eq!(largest("hi"), 9_000.0, "one sample of ten thousand");
    assert!(largest("v") < 9_000.0);
    assert!(cached["v"].as_array().unwrap().len() <= crate::steps::MOST_POINTS);
}

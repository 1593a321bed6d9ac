use model::block::{DeviceNumber, Kind, Operation};
use model::event::RunEvent;
use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::run::RunDescription;
use model::stall::{RequestRecord, StallKind, StallRecord, TaskRecord};
use model::time::Moment;

use super::{ChainStep, PerfettoTrace};
use crate::protobuf::tests::fields;

/// Time, type, track and name of each event.
fn events(trace: &[u8]) -> Vec<(u64, u64, u64, String)> {
    let one = |of: &[(u64, u64, &[u8])], field: u64| of.iter().find(|entry| entry.0 == field).map(|entry| entry.1);
    let packets = fields(trace).into_iter().map(|(field, _, packet)| (field, fields(packet)));
    packets
        .inspect(|(field, packet)| assert!(*field == 1 && one(packet, 10) == Some(1)))
        .filter_map(|(_, packet)| {
            let event = fields(packet.iter().find(|entry| entry.0 == 11)?.2);
            let name = event.iter().find(|entry| entry.0 == 23).map_or(&b""[..], |entry| entry.2);
            let name = String::from_utf8(name.to_vec()).unwrap();
            Some((one(&packet, 8)?, one(&event, 9)?, one(&event, 11)?, name))
        })
        .collect()
}

fn trace(write: impl FnOnce(&mut PerfettoTrace<Vec<u8>>)) -> Vec<(u64, u64, u64, String)> {
    let description = RunDescription::new("x", Moment { monotonic_ns: 5, wall_ns: 7 });
    let mut trace = PerfettoTrace::new(Vec::new(), &description).unwrap();
    write(&mut trace);
    events(&trace.finish().unwrap())
}

#[test]
fn a_wait_lies_in_the_call_that_it_happened_in() {
    let stalls = vec![
        StallRecord::new(StallKind::OffCpu, 7, 20, 80),
        StallRecord { call: Some("write".into()), ..StallRecord::new(StallKind::SystemCall, 7, 10, 100) },
        StallRecord::new(StallKind::OffCpu, 7, 90, 120),
    ];
    let written = trace(|trace| {
        let task = TaskRecord {
            tid: 7,
            pid: 6,
            name: "t".into(),
            cgroup: None,
            started_by: None,
            role: None,
            container: None,
            io_cgroup: None,
            seen_ns: 0,
        };
        trace.tasks(&[task]).unwrap();
        trace.stalls(stalls).unwrap();
    });
    let names: Vec<&str> = written.iter().map(|event| event.3.as_str()).collect();
    assert_eq!(names, ["write", "", "off CPU", "", "off CPU", ""]);
    assert_eq!((written[0].0, written[1].0, written[2].0, written[3].0), (10, 100, 20, 80));
    assert!(written[0].2 == written[2].2 && written[4].2 != written[0].2);
}

#[test]
fn a_thread_id_that_comes_again_is_another_thread() {
    let task = |pid, seen_ns| TaskRecord {
        tid: 7,
        pid,
        name: "t".into(),
        cgroup: None,
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns,
    };
    let written = trace(|trace| {
        trace.tasks(&[task(6, 100), task(5, 1000)]).unwrap();
        let stall = |at_ns| StallRecord::new(StallKind::OffCpu, 7, at_ns, at_ns + 1);
        trace.stalls(vec![stall(50), stall(500), stall(1500)]).unwrap();
    });
    assert!(written[0].2 == written[2].2 && written[4].2 != written[0].2);
}

#[test]
fn requests_that_are_under_way_at_once_lie_side_by_side() {
    let request = |queued_ns, completed_ns| RequestRecord {
        request: 0,
        device: DeviceNumber::new(7, 0),
        sector: 0,
        bytes: 512,
        kind: Kind::of(Operation::Read),
        tid: 1,
        merges: 0,
        queued_ns,
        got_ns: None,
        inserted_ns: None,
        issued_ns: queued_ns.map(|at_ns| at_ns + 1),
        completed_ns,
        errno: None,
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: Vec::new(),
    };
    let written =
        trace(|trace| trace.requests(vec![request(Some(10), 50), request(Some(20), 30), request(None, 60)]).unwrap());
    let begins: Vec<_> = written.iter().filter(|event| event.1 == 1).map(|event| (event.0, event.3.as_str())).collect();
    assert_eq!(begins, [(10, "R"), (11, "device"), (20, "R"), (21, "device"), (60, "R")]);
    assert!(written[0].2 != written[4].2);
}

#[test]
fn an_absent_value_is_not_zero_and_one_without_a_moment_is_left_out() {
    let metric = MetricDescriptor {
        id: MetricId(3),
        name: "vmstat.x".into(),
        instance: String::new(),
        unit: Unit::Pages,
        semantics: Semantics::Gauge,
        device: None,
    };
    let at = Moment { monotonic_ns: 99, wall_ns: 0 };
    let mut sink = PerfettoTrace::new(Vec::new(), &RunDescription::new("x", at)).unwrap();
    sink.descriptors(&[metric]).unwrap();
    sink.samples(&[SampleHeader { sample: 4, at, late_ns: 0, cpu_ns: 0, took_ns: 0 }]);
    let change = |sample, value| MetricChange { sample, metric: MetricId(3), value };
    sink.changes(&[change(4, Some(-2)), change(4, None), change(5, Some(1))]).unwrap();
    let bytes = sink.finish().unwrap();
    let values: Vec<(u64, u64)> = fields(&bytes)
        .into_iter()
        .filter_map(|(_, _, packet)| {
            fields(packet).into_iter().find(|entry| entry.0 == 11).map(|entry| fields(entry.2))
        })
        .filter_map(|event| event.iter().find(|entry| entry.0 == 30 || entry.0 == 44).map(|entry| (entry.0, entry.1)))
        .collect();
    assert_eq!(values, [(30, -2_i64 as u64), (44, f64::NAN.to_bits())]);
}

#[test]
fn a_phase_that_never_ended_is_a_mark() {
    let started = |phase: &str, at_ns| RunEvent::PhaseStarted { phase: phase.into(), measured: true, at_ns };
    let ended = RunEvent::PhaseEnded { phase: "fill".into(), at_ns: 40, bytes: 1 };
    let written = trace(|trace| trace.events(&[started("fill", 10), ended, started("run", 50)]).unwrap());
    let shape: Vec<_> = written.iter().map(|event| (event.0, event.1, event.3.as_str())).collect();
    assert_eq!(shape, [(10, 1, "fill"), (40, 2, ""), (50, 3, "run")]);
}

/// The arrows of each slice, by its name.
#[test]
fn arrows_join_a_wait_and_what_it_was_for() {
    let step = |tid, span_ns, request, why: &str| ChainStep { tid, span_ns, request, why: why.into() };
    let chain = [step(7, (10, 90), None, "journal"), step(9, (20, 80), None, "device"), step(0, (30, 70), Some(4), "")];
    let description = RunDescription::new("x", Moment::default());
    let mut trace = PerfettoTrace::new(Vec::new(), &description).unwrap();
    trace.chain(&chain);
    // The same again is no other arrow.
    trace.chain(&chain[..2]);
    let waits = [(7, 10, 90), (9, 20, 80), (9, 81, 82)];
    let wait = |(tid, start_ns, end_ns)| StallRecord::new(StallKind::OffCpu, tid, start_ns, end_ns);
    trace.stalls(waits.map(wait).to_vec()).unwrap();
    let bytes = trace.finish().unwrap();
    let of_event = |packet: &[u8]| -> Option<Vec<u64>> {
        let event = fields(fields(packet).into_iter().find(|entry| entry.0 == 11)?.2);
        let begins = event.iter().any(|entry| entry.0 == 9 && entry.1 == 1);
        begins.then(|| event.iter().filter(|entry| entry.0 == 47).map(|entry| entry.1).collect())
    };
    let arrows: Vec<Vec<u64>> = fields(&bytes).into_iter().filter_map(|(_, _, packet)| of_event(packet)).collect();
    let first = 1_u64 << 32;
    assert_eq!(arrows, [vec![first], vec![first, first + 1], vec![]]);
}

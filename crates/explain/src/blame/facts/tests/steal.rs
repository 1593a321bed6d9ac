//! Time that the hypervisor took, from counters: the machines of the tests have none.

use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::time::Moment;

use crate::blame::tests::stage::{MS, stage};
use crate::blame::{Blame, Cause, Explanation, STEAL};
use crate::series::SeriesSet;

/// The counter of one CPU in ticks of 10 ms, sampled every 100 ms.
fn counters(instance: &str, ticks: &[i64]) -> SeriesSet {
    let metric = MetricId(3);
    let mut series = SeriesSet::default();
    let descriptor = MetricDescriptor {
        id: metric,
        name: STEAL.into(),
        instance: instance.into(),
        unit: Unit::ClockTicks,
        semantics: Semantics::Counter,
        device: None,
    };
    series.describe(&[descriptor], |_| true);
    for (sample, ticks) in (0..).zip(ticks) {
        let at = Moment { monotonic_ns: u64::from(sample) * 100 * MS, wall_ns: 0 };
        series.sample(SampleHeader { sample, at, late_ns: 0, cpu_ns: 0, took_ns: 0 });
        series.feed(&[MetricChange { sample, metric, value: Some(*ticks) }]);
    }
    series
}

/// A run-queue wait of 100 ms and, after it, 100 ms on CPU 1.
fn explained(series: &SeriesSet) -> Explanation {
    let mut drawn = stage("op:write 7 |==| \n off 7 |p |\n off 7 |  p|");
    for row in &mut drawn.stalls {
        (row.start_ns, row.duration_ns, row.busy_ns) = (row.start_ns * 100, 100 * MS, 100 * MS);
        row.cpu = Some(1);
    }
    drawn.operations[0].duration_ns *= 100;
    let mut blame = Blame::new(None, &crate::blame::tests::stage::description(true));
    blame.operations(&drawn.operations);
    blame.stalls(&drawn.stalls);
    blame.steal(series);
    blame.finish()
}

fn detail(explanation: &Explanation, cause: Cause) -> Option<String> {
    explanation.stalls[0].causes.iter().find(|part| part.cause == cause)?.detail.clone()
}

#[test]
fn a_run_queue_wait_and_running_say_what_was_stolen() {
    let explanation = explained(&counters("cpu1", &[0, 4, 10, 10]));
    let waited = "preempted for 100 ms, about 40.0 ms of it stolen by the hypervisor from CPU 1";
    assert_eq!(detail(&explanation, Cause::CpuWait).as_deref(), Some(waited));
    let ran = "about 60.0 ms of it stolen by the hypervisor from CPU 1";
    assert_eq!(detail(&explanation, Cause::Running).as_deref(), Some(ran));
}

#[test]
fn little_steal_and_that_of_other_cpus_is_not_said() {
    for series in [counters("cpu1", &[0, 1, 2, 2]), counters("cpu0", &[0, 9, 9, 9]), counters("cpux", &[0, 9, 9, 9])] {
        let explanation = explained(&series);
        assert_eq!(detail(&explanation, Cause::CpuWait).as_deref(), Some("preempted for 100 ms"));
        assert_eq!(detail(&explanation, Cause::Running), None);
    }
}

/// No more than the time between the samples is stolen, whatever a damaged counter says.
#[test]
fn a_counter_that_leaps_exceeds_no_time() {
    let explanation = explained(&counters("cpu1", &[0, i64::MAX, i64::MIN, i64::MAX]));
    assert!(detail(&explanation, Cause::CpuWait).unwrap().contains("about 100 ms of it stolen"));
}

use model::event::RunEvent;
use model::time::Moment;
use proptest::prelude::*;

use super::{ClockWatch, Ticker};

//  grid     |    |    |    |    |    |
//  sampler  x    x  ..............x       two moments are missed, the third is taken late
#[test]
fn a_stall_is_a_gap_and_one_late_sample() {
    let mut ticker = Ticker::new(1000, 100);
    assert_eq!(ticker.fire(999), None);
    assert_eq!(ticker.fire(1000).unwrap().late_ns, 0);
    assert_eq!(ticker.fire(1101).unwrap().events(1).count(), 0);
    let tick = ticker.fire(1455).unwrap();
    assert_eq!((tick.planned_ns, tick.late_ns, tick.missed), (1400, 55, Some((1200, 2))));
    assert_eq!(
        tick.events(2).collect::<Vec<_>>(),
        [RunEvent::Gap { from_ns: 1200, to_ns: 1455, samples: 2 }, RunEvent::LateSample { sample: 2, late_ns: 55 }]
    );
    assert_eq!(ticker.next_ns(), 1500);
}

#[test]
fn the_end_of_time_is_no_panic() {
    let mut ticker = Ticker::new(0, 0);
    assert_eq!(ticker.fire(u64::MAX).unwrap().missed, Some((0, u32::MAX)));
    assert_eq!(ticker.next_ns(), u64::MAX);
}

#[test]
fn steps_of_the_wall_clock_are_reported_once() {
    let at = |monotonic_ns, wall_ns| Moment { monotonic_ns, wall_ns };
    let mut watch = ClockWatch::new(at(0, 1_000_000), 50);
    assert_eq!(watch.observe(at(1_000, 1_001_010)), None);
    assert_eq!(watch.observe(at(2_000, 1_002_060)), Some(RunEvent::ClockStep { at_ns: 2_000, by_ns: 60 }));
    assert_eq!(watch.observe(at(3_000, 1_003_060)), None);
    assert_eq!(watch.observe(at(4_000, 4_060)), Some(RunEvent::ClockStep { at_ns: 4_000, by_ns: -1_000_000 }));
}

proptest! {
    #[test]
    fn ticks_lie_on_the_grid_and_every_moment_is_taken_or_counted(
        interval in 1..5_000u64,
        pauses in proptest::collection::vec(0..20_000u64, 1..50),
    ) {
        let start = 77;
        let mut ticker = Ticker::new(start, interval);
        let (mut now, mut accounted) = (start, 0);
        for pause in pauses {
            now += pause;
            let Some(tick) = ticker.fire(now) else {
                prop_assert!(now < ticker.next_ns());
                continue;
            };
            prop_assert_eq!((tick.planned_ns - start) % interval, 0);
            prop_assert_eq!(tick.planned_ns + tick.late_ns, now);
            prop_assert!(tick.late_ns < interval);
            prop_assert!(ticker.next_ns() > now);
            prop_assert!(ticker.fire(now).is_none());
            accounted += 1 + tick.missed.map_or(0, |(_, samples)| u64::from(samples));
            prop_assert_eq!(accounted, (tick.planned_ns - start) / interval + 1);
        }
    }

    #[test]
    fn no_clock_makes_the_watch_panic(readings in proptest::collection::vec(any::<(u64, i64)>(), 1..20)) {
        let mut watch = ClockWatch::new(Moment::default(), 50);
        for (monotonic_ns, wall_ns) in readings {
            watch.observe(Moment { monotonic_ns, wall_ns });
        }
    }

    #[test]
    fn without_a_step_nothing_is_reported(
        pauses in proptest::collection::vec(0..10_000_000_000u64, 1..50),
        jitter in proptest::collection::vec(-40_000i64..40_000, 50),
    ) {
        let mut watch = ClockWatch::new(Moment { monotonic_ns: 5, wall_ns: 5 }, 100_000);
        let mut now = 5;
        for (pause, jitter) in pauses.into_iter().zip(jitter) {
            now += pause;
            prop_assert_eq!(watch.observe(Moment { monotonic_ns: now, wall_ns: now as i64 + jitter }), None);
        }
    }
}

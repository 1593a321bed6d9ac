use model::metric::{MetricChange, MetricDescriptor, MetricId, SampleHeader, Semantics, Unit};
use model::stall::{Awaits, StallKind, StallRecord};
use model::time::Moment;
use proptest::prelude::*;

use super::{Condition, ConditionWatch};

const SECOND: u64 = 1_000_000_000;

fn condition(text: &str) -> Condition {
    text.parse().unwrap()
}

#[test]
fn conditions_as_they_are_written() {
    for (text, shown) in [
        ("5s", "a stall of 5.00 s"),
        (" 250ms ", "a stall of 250 ms"),
        ("psi:io>40%", "psi:io.some>40%"),
        ("psi:memory.full > 12.5 %", "psi:memory.full>12.5%"),
        ("counter:vmstat.allocstall_normal>100/s", "counter:vmstat.allocstall_normal>100/s"),
        ("counter:diskstats.write_sectors[a>b]>0.5/s", "counter:diskstats.write_sectors[a>b]>0.5/s"),
    ] {
        assert_eq!(condition(text).to_string(), shown, "{text}");
    }
}

#[test]
fn nonsense_is_one_clear_error() {
    for (text, why) in [
        ("", "it is not a duration"),
        ("often", "it is not a duration"),
        ("0s", "the shortest stall is 1.00 ms"),
        ("999us", "the shortest stall is 1.00 ms"),
        ("psi:io", "'>' and a share are missing"),
        ("psi:disk>5%", "the resource is one of cpu, io, memory, irq, not 'disk'"),
        ("psi:io.most>5%", "pressure is some or full, not 'most'"),
        ("psi:io>5", "the share is given in %"),
        ("psi:io>100%", "the share is a number from 0% to below 100%"),
        ("psi:io>-5%", "the share is a number from 0% to below 100%"),
        ("psi:io>nan%", "the share is a number from 0% to below 100%"),
        ("psi:io<5%", "'>' and a share are missing"),
        ("counter:vmstat.x", "'>' and a rate are missing"),
        ("counter:>5/s", "the metric's name is missing"),
        ("counter:vmstat.x>5", "the rate is given per second: N/s"),
        ("counter:vmstat.x>1e3/s", "the rate is a number, 0 or more"),
        ("counter:vmstat.x[a>5/s", "']' is missing"),
        ("load:5", "unknown kind 'load:'"),
    ] {
        let error = text.parse::<Condition>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("'{text}' is not a condition: {why}; write 5s")), "{error}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(psi:|counter:|)[a-z0-9.<>%/:\\[\\] ]{0,20}(%|/s|s|)") {
        if let Ok(read) = text.parse::<Condition>() && !matches!(read, Condition::Stall { .. }) {
            // The displayed form parses again, apart from digits beyond the third decimal.
            prop_assert_eq!(read.to_string().parse::<Condition>().unwrap().to_string(), read.to_string());
        }
    }
}

fn metric(id: u32, name: &str, instance: &str) -> MetricDescriptor {
    let (name, instance) = (name.to_owned(), instance.to_owned());
    MetricDescriptor {
        id: MetricId(id),
        name,
        instance,
        unit: Unit::Count,
        semantics: Semantics::Counter,
        device: None,
    }
}

/// Whether the condition holds at each sample, one per second, for a counter with these values.
fn check(text: &str, descriptors: &[MetricDescriptor], values: &[Option<i64>], expected: &str) {
    let mut watch = ConditionWatch::new(vec![condition(text)]);
    watch.describe(descriptors);
    let mut holds = String::new();
    let mut last = None;
    for (second, &value) in values.iter().enumerate() {
        let at = Moment { monotonic_ns: 100 * SECOND + second as u64 * SECOND, wall_ns: 0 };
        let header = SampleHeader { sample: second as u32, at, late_ns: 0, cpu_ns: 0, took_ns: 0 };
        let changed = std::mem::replace(&mut last, value) != value;
        let changes: Vec<MetricChange> = if changed {
            let of = |d: &MetricDescriptor| MetricChange { sample: second as u32, metric: d.id, value };
            descriptors.iter().map(of).collect()
        } else {
            Vec::new()
        };
        let levels = watch.sample(&header, &changes);
        holds.push(if levels[0].reason.is_some() { '#' } else { '.' });
    }
    assert_eq!(holds, expected, "{text}");
}

fn some(values: impl IntoIterator<Item = i64>) -> Vec<Option<i64>> {
    values.into_iter().map(Some).collect()
}

#[test]
fn a_rate_holds_from_a_full_window_until_it_leaves_the_window() {
    let one = [metric(0, "vmstat.x", "")];
    check("counter:vmstat.x>4/s", &one, &some((0..15).map(|s| s * 5)), "..........#####");
    check("counter:vmstat.x>5/s", &one, &some((0..15).map(|s| s * 5)), "...............");
    // A burst of 100 in one second is 10 per second until it is 10 s old.
    let burst = some((0..25).map(|s| if s < 12 { 0 } else { 100 }));
    check("counter:vmstat.x>9/s", &one, &burst, "............##########...");
}

#[test]
fn instances_are_summed_unless_one_is_named() {
    let two = [metric(0, "diskstats.reads", "vda"), metric(1, "diskstats.reads", "vdb")];
    check("counter:diskstats.reads>9/s", &two, &some((0..12).map(|s| s * 5)), "..........##");
    check("counter:diskstats.reads[vdb]>9/s", &two, &some((0..12).map(|s| s * 5)), "............");
    check("counter:diskstats.reads[vdb]>4/s", &two, &some((0..12).map(|s| s * 5)), "..........##");
}

#[test]
fn a_disk_is_named_by_its_identity_or_by_the_kernel() {
    let disk = |id, identity, device: &str| MetricDescriptor {
        device: Some(device.into()),
        ..metric(id, "diskstats.writes", identity)
    };
    let two = [disk(0, "serial-1", "vda"), disk(1, "/var/disk.img", "loop0")];
    for (text, expected) in [
        ("counter:diskstats.writes[vda]>4/s", "..........##"),
        ("counter:diskstats.writes[serial-1]>4/s", "..........##"),
        ("counter:diskstats.writes[loop0]>4/s", "..........##"),
        ("counter:diskstats.writes[vda]>9/s", "............"),
        ("counter:diskstats.writes[vdb]>0/s", "............"),
    ] {
        check(text, &two, &some((0..12).map(|s| s * 5)), expected);
    }
}

#[test]
fn a_counter_that_resets_or_disappears_is_not_a_burst() {
    let one = [metric(0, "vmstat.x", "")];
    let mut values = some([1_000_000; 11]);
    values.extend(some([3; 4]));
    check("counter:vmstat.x>1/s", &one, &values, "...............");
    let mut values = some([0; 11]);
    values.extend([None, None]);
    values.extend(some([1_000_000; 12]));
    check("counter:vmstat.x>1/s", &one, &values, ".........................");
}

#[test]
fn pressure_is_a_share_of_time() {
    let one = [metric(0, "pressure.io.some", ""), metric(1, "pressure.io.full", "")];
    check("psi:io>40%", &one, &some((0..13).map(|s| s * 410_000)), "..........###");
    check("psi:io>42%", &one, &some((0..13).map(|s| s * 410_000)), ".............");
    check("psi:io>40%", &[metric(0, "pressure.io.full", "")], &some((0..13).map(|s| s * 410_000)), ".............");
    let mut watch = ConditionWatch::new(vec![condition("psi:io>40%")]);
    watch.describe(&one[..1]);
    let mut reason = None;
    for second in 0..12 {
        let at = Moment { monotonic_ns: 100 * SECOND + second * SECOND, wall_ns: 0 };
        let header = SampleHeader { sample: second as u32, at, late_ns: 0, cpu_ns: 0, took_ns: 0 };
        let change = MetricChange { sample: second as u32, metric: MetricId(0), value: Some(second as i64 * 512_340) };
        reason = watch.sample(&header, &[change]).remove(0).reason;
    }
    assert_eq!(reason.unwrap(), "pressure on io (some) was 51.2 % over 10.0 s");
}

#[test]
fn slow_calls_and_uninterruptible_waits_meet_a_stall_condition() {
    let watch = ConditionWatch::new(vec![condition("5s"), condition("20s"), condition("psi:io>4%")]);
    assert_eq!(watch.shortest_stall_ns(), Some(5 * SECOND));
    let stall = |kind, seconds| StallRecord::new(kind, 7, SECOND, SECOND + seconds * SECOND);
    let mut call = stall(StallKind::SystemCall, 6);
    (call.call, call.path) = (Some("fsync".into()), Some("/mnt/x".into()));
    let wait = StallRecord { state: Some(2), ..stall(StallKind::OffCpu, 30) };
    let idle = StallRecord { state: Some(0x402), ..wait.clone() };
    let interruptible = StallRecord { state: Some(1), ..wait.clone() };
    let runnable = StallRecord { woken_ns: Some(2 * SECOND), ..wait.clone() };
    let short = stall(StallKind::SystemCall, 4);
    let sum = stall(StallKind::ShortSleeps, 30);
    let met = watch.stalls(&[call, wait, idle, interruptible, runnable, short, sum], |_| Some("dd".into()));
    let reported: Vec<(usize, u64, &str)> = met.iter().map(|met| (met.condition, met.at_ns, &*met.reason)).collect();
    assert_eq!(
        reported,
        [(0, 7 * SECOND, "fsync of /mnt/x by dd/7 took 6.00 s"), (1, 31 * SECOND, "dd/7 was blocked for 30.0 s"),]
    );
}

#[test]
fn a_task_that_another_one_keeps_waiting_is_reported_once_per_wait() {
    let waits = |tid: u32, since_s: u64, state: u32, awaits: Option<Awaits>, by: Option<u32>| StallRecord {
        state: Some(state),
        awaits,
        holder_tid: by,
        ..StallRecord::new(StallKind::LastingWait, tid, since_s * SECOND, 100 * SECOND)
    };
    let (asleep, stopped) = (1, 4);
    let mut watch = ConditionWatch::new(vec![condition("5s")]);
    let mut reported = |now_s: u64, waits: &[StallRecord]| {
        watch.lasting_waits(now_s * SECOND, waits, |_| None).into_iter().map(|met| met.reason).collect::<Vec<_>>()
    };
    let for_lock = waits(7, 10, asleep, Some(Awaits::Lock), Some(8));
    let holder = waits(8, 10, asleep, Some(Awaits::Child), Some(9));
    assert_eq!(reported(14, &[for_lock.clone(), holder.clone()]), [""; 0]);
    assert_eq!(reported(15, &[for_lock.clone(), holder.clone()]), ["task 7 has waited for task 8 for 5.00 s"]);
    assert_eq!(reported(17, &[for_lock.clone(), holder]), [""; 0]);
    let again = StallRecord { start_ns: 18 * SECOND, ..for_lock };
    assert_eq!(reported(23, std::slice::from_ref(&again)), ["task 7 has waited for task 8 for 5.00 s"]);
    // A client of a server that works, or waits for a request itself, may wait for what is to come.
    let client = waits(2, 10, asleep, Some(Awaits::Answer), Some(3));
    let server = |state, awaits, by| waits(3, 10, state, awaits, by);
    assert_eq!(reported(30, std::slice::from_ref(&client)), [""; 0]);
    assert_eq!(reported(31, &[client.clone(), server(asleep, Some(Awaits::Message), Some(2))]), [""; 0]);
    let behind = "task 2 has waited for task 3 for 22.0 s";
    assert_eq!(reported(32, &[client.clone(), server(stopped, None, None)]), [behind]);
    assert_eq!(reported(33, &[]), [""; 0]);
    let proxy = server(asleep, Some(Awaits::Answer), Some(4));
    let last = waits(4, 31, 2, None, None);
    // A wait lasts as long as what it is for.
    assert_eq!(reported(34, &[client.clone(), proxy.clone(), last.clone()]), [""; 0]);
    assert_eq!(reported(36, &[client, proxy, last]).len(), 2);
    // Two that wait for each other's answer.
    let [one, two] = [(5, 6), (6, 5)].map(|(tid, by)| waits(tid, 10, asleep, Some(Awaits::Answer), Some(by)));
    assert_eq!(reported(37, &[one, two]), [""; 0]);
}

#[test]
fn a_blocked_task_is_reported_once_per_wait() {
    let mut watch = ConditionWatch::new(vec![condition("5s")]);
    let mut reported = |now_s: u64, tasks: &[(u32, u64)]| {
        let tasks = tasks.iter().map(|(tid, since_s)| (*tid, since_s * SECOND));
        watch.blocked(now_s * SECOND, tasks, |_| None).into_iter().map(|met| met.reason).collect::<Vec<_>>()
    };
    assert_eq!(reported(14, &[(7, 10)]), [""; 0]);
    assert_eq!(reported(15, &[(7, 10)]), ["task 7 has been blocked for 5.00 s"]);
    assert_eq!(reported(16, &[(7, 10), (8, 11)]), ["task 8 has been blocked for 5.00 s"]);
    assert_eq!(reported(17, &[]), [""; 0]);
    assert_eq!(reported(30, &[(7, 20)]), ["task 7 has been blocked for 10.0 s"]);
}

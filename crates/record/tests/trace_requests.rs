//! Block requests on the real kernel: their times, their sums, and what overtook them, against a record of all
//! requests.

mod trace_stage;

use std::collections::HashMap;

use model::block::{DeviceNumber, Kind};
use model::stall::{RequestRecord, TraceSettings, Traced};
use record::TraceOptions;
use trace_stage::{Group, Stage, Upper, all_of_it, trace};

const FIO: &str = "fio --name=x --direct=1 --ioengine=libaio --size=48m --bs=4k --output=/dev/null";

fn device(stage: &Stage) -> DeviceNumber {
    device_number(&stage.number())
}

/// Of `7:3`.
fn device_number(words: &str) -> DeviceNumber {
    let (major, minor) = words.split_once(':').unwrap();
    DeviceNumber::new(major.parse().unwrap(), minor.parse().unwrap())
}

fn is_since_linux_7() -> bool {
    let kernel = rustix::system::uname();
    kernel
        .release()
        .to_string_lossy()
        .split('.')
        .next()
        .and_then(|major| major.parse().ok())
        .is_some_and(|major: u32| major >= 7)
}

fn of_device(traced: &Traced, device: DeviceNumber) -> Vec<&RequestRecord> {
    traced.requests.iter().filter(|request| request.device == device).collect()
}

#[test]
fn each_request_is_emitted_once_with_its_times_in_order_and_the_sums_agree() {
    let Some(stage) = Stage::new(&[], 64) else { return };
    let options = TraceOptions::slower_than(10_000_000_000, true);
    let Some(seen) = trace(&options, &format!("{FIO} --iodepth=32 --rw=randrw --filename={}", stage.device())) else {
        return;
    };
    // The kernel skips a program that interrupts itself: a few, since Linux 7.0 more, and they are counted.
    let preempts_programs = is_since_linux_7();
    let most = if preempts_programs { 500 } else { 200 };
    let missed: u64 = seen.lost.iter().map(|lost| lost.count).sum();
    assert!(
        missed < most && seen.lost.iter().all(|lost| lost.what.starts_with("events (the kernel skips")),
        "{:?}",
        seen.lost
    );
    let device = device(&stage);
    let requests = of_device(&seen.traced, device);
    // 12288 blocks of 4 KiB, each once, and possible reads of mkfs or udev. On a busy machine neighbouring blocks meet
    // in the queue, and become one request.
    let ours: Vec<_> = requests.iter().filter(|request| request.bytes > 0 && request.bytes % 4096 == 0).collect();
    let blocks: u64 = ours.iter().map(|request| u64::from(request.bytes / 4096)).sum();
    assert!(
        blocks + missed >= 12_288 && blocks + if preempts_programs { 0 } else { missed } < 12_500,
        "{blocks} blocks in {} requests, {missed} missed",
        ours.len()
    );
    let numbers: std::collections::HashSet<u32> = seen.traced.requests.iter().map(|request| request.request).collect();
    assert_eq!(numbers.len(), seen.traced.requests.len());
    let known = ours.iter().filter(|request| {
        let times = [request.queued_ns, request.got_ns, request.inserted_ns.or(request.issued_ns), request.issued_ns];
        let times = times.map(|ns| ns.unwrap_or(u64::MAX));
        times.is_sorted() && times[3] <= request.completed_ns
    });
    let known = known.count();
    println!("{known} of {} have all their times", ours.len());
    assert!(known * 100 >= ours.len() * 99, "{known} of {}", ours.len());
    let sums: u64 = seen.traced.request_intervals.iter().filter(|sum| sum.device == device).map(|sum| sum.count).sum();
    assert_eq!(sums, requests.len() as u64);
    let waited: u64 =
        seen.traced.request_intervals.iter().flat_map(|sum| &sum.device_time).map(|bucket| bucket.count).sum();
    assert!(waited > 0);
}

/// Reads, and writes that they overtake: rare on a machine that serves all requests in order.
#[test]
fn what_overtook_a_request_is_never_more_than_what_really_did() {
    let mut wrong = 0;
    for _ in 0..4 {
        let Some(overtaking) = overtaking() else { return };
        println!("{overtaking:?}");
        assert!(overtaking.flights > 0);
        let Overtaking { reported, really, too_many, .. } = overtaking;
        assert!(reported <= really, "{overtaking:?}");
        // Counters and clocks are read in sequence, while other CPUs continue: with many completions at the same time
        // this counts some too many, and missed requests are not in the record. Mostly none; on a busy machine up to 4
        // % in one of seven tries.
        if reported > 0 && too_many * 50 <= reported {
            return;
        }
        wrong += u32::from(reported > 0);
    }
    assert!(wrong < 3, "too many were counted in {wrong} of four tries");
    println!("nothing was overtaken in four tries; the truth scenarios of the schedulers check that it is reported");
}

/// What overtook the requests of a mixed load as reported, and by the order of all requests.
#[derive(Debug, Default)]
struct Overtaking {
    reported: u64,
    really: u64,
    too_many: u64,
    flights: u64,
}

fn overtaking() -> Option<Overtaking> {
    let stage = Stage::new(&[], 64)?;
    let name = stage.device().trim_start_matches("/dev/").to_owned();
    std::fs::write(format!("/sys/block/{name}/queue/scheduler"), "mq-deadline").unwrap();
    let command = format!(
        "{FIO} --iodepth=512 --iodepth_batch_complete_min=128 --rw=randrw --rwmixread=70 --filename={}",
        stage.device()
    );
    let seen = trace(&all_of_it(true), &command)?;
    let requests = of_device(&seen.traced, device(&stage));
    let mut found = Overtaking::default();
    for request in requests.iter().filter(|request| request.bytes == 4096).step_by(7) {
        let Some(came_ns) = request.queued_ns else { continue };
        let mut really: HashMap<Kind, u32> = HashMap::new();
        for other in requests.iter().filter(|other| other.completed_ns < request.completed_ns) {
            if other.queued_ns.is_some_and(|ns| ns > came_ns) {
                *really.entry(class(other.kind)).or_default() += 1;
            }
        }
        found.flights += request.in_flight.iter().map(|(_, count)| u64::from(*count)).sum::<u64>();
        found.really += really.values().map(|count| u64::from(*count)).sum::<u64>();
        for (kind, count) in &request.overtaken_by {
            found.reported += u64::from(*count);
            found.too_many += u64::from(count.saturating_sub(really.get(kind).copied().unwrap_or(0)));
        }
    }
    Some(found)
}

/// The programs distinguish fewer kinds than there are.
fn class(kind: Kind) -> Kind {
    let operation = Kind::of(kind.operation());
    if kind.has(Kind::META) {
        operation.with(Kind::META)
    } else if kind.has(Kind::SYNC) {
        operation.with(Kind::SYNC)
    } else {
        operation
    }
}

#[test]
fn a_quick_request_is_summed_up_and_not_emitted() {
    let Some(stage) = Stage::new(&[], 64) else { return };
    let settings = TraceSettings { slow_ns: 10_000_000_000, interval_ns: 10_000_000_000, all_requests: false };
    let options = TraceOptions { settings, blocked_ns: 10_000_000_000, follow: Vec::new(), user_stacks: false };
    let Some(seen) = trace(&options, &format!("{FIO} --iodepth=32 --rw=randread --filename={}", stage.device())) else {
        return;
    };
    let device = device(&stage);
    // Except those that a task waited for.
    assert!(of_device(&seen.traced, device).len() < 1000, "{}", of_device(&seen.traced, device).len());
    let reads = seen.traced.request_intervals.iter().filter(|sum| sum.device == device);
    let (count, bytes) = reads.fold((0, 0), |(count, bytes), sum| (count + sum.count, bytes + sum.bytes));
    let kinds: Vec<_> = seen
        .traced
        .request_intervals
        .iter()
        .filter(|sum| sum.device == device)
        .map(|sum| (sum.kind, sum.count, sum.bytes))
        .collect();
    // All except those that the kernel skipped, which are few.
    let missed: u64 = seen.lost.iter().map(|lost| lost.count).sum();
    assert!((count + missed) * 1000 >= 12_288 * 999 && missed < 200, "{count} {bytes} {:?} {kinds:?}", seen.lost);
}

/// The kernel takes no allocation time of a command, and leaves the time of the request's previous use.
#[test]
fn a_command_to_the_device_is_counted_and_has_no_life_that_was_another_requests() {
    let serial = std::fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path().join("serial"));
    // Each read of a virtual disk's serial number is a command.
    let Some(serial) = serial.into_iter().find(|path| path.exists() && path.to_string_lossy().contains("/vd")) else {
        println!("this machine has no virtual disk that could be asked");
        return;
    };
    let number = std::fs::read_to_string(serial.with_file_name("dev")).unwrap();
    let disk = device_number(number.trim());
    let ask = format!("for i in $(seq 20); do cat {} >/dev/null; sleep 0.02; done", serial.display());
    let Some(seen) = trace(&all_of_it(false), &ask) else { return };
    let is_command = |kind: Kind| kind.operation() == model::block::Operation::None;
    let sums = seen.traced.request_intervals.iter().filter(|sum| sum.device == disk && sum.bytes >= 20);
    let counted: u64 = sums.filter(|sum| is_command(sum.kind)).map(|sum| sum.count).sum();
    let found = of_device(&seen.traced, disk).into_iter().filter(|request| request.bytes == 20);
    let lives: Vec<_> = found.filter_map(|request| request.queued_ns.map(|from| request.completed_ns - from)).collect();
    // The kernel skips a completion within another one, and counts it.
    let missed: u64 = seen.lost.iter().map(|lost| lost.count).sum();
    assert!(counted + missed >= 20 && counted >= 15, "{counted} counted, lost {:?}, lives {lives:?}", seen.lost);
    assert!(lives.iter().all(|life| *life < 5_000_000), "{counted} counted, lost {:?}, lives {lives:?}", seen.lost);
}

/// Direct I/O of a loop device on a disk without a file system between them: kernel workers submit most of it.
#[test]
fn what_workers_write_below_a_loop_device_counts_for_the_task_that_writes_above() {
    let Some(stage) = Stage::new(&[], 64) else { return };
    let upper = Upper::new(&stage);
    let load = format!(
        "fio --name=x --direct=1 --ioengine=io_uring --iodepth=8 --rw=randwrite --size=8m --bs=4k --output=/dev/null \
         --filename={}",
        upper.device()
    );
    let Some(seen) = trace(&all_of_it(false), &load) else { return };
    let of_lower = |used: &&model::usage::UsageRecord| {
        used.device == Some(device(&stage)) && used.resource == model::usage::Resource::DeviceWrite
    };
    let mut by_process: HashMap<Option<u32>, u64> = HashMap::new();
    for used in seen.traced.usage.iter().filter(of_lower) {
        *by_process.entry(used.pid).or_default() += used.bytes;
    }
    let fio: Vec<u32> = seen.traced.tasks.iter().filter(|task| task.name == "fio").map(|task| task.pid).collect();
    let of_fio: u64 =
        by_process.iter().filter(|(pid, _)| pid.is_some_and(|pid| fio.contains(&pid))).map(|one| one.1).sum();
    assert!(of_fio >= 7 << 20, "{of_fio} bytes of fio, {fio:?}: {by_process:?}");
}

/// A limit lets requests pass in turns: those of one turn complete at once, in the same order each time.
#[test]
fn requests_that_complete_at_once_share_the_time_before() {
    let Some(stage) = Stage::new(&[], 64) else { return };
    let Some(group) = Group::new("blkio", &[("blkio.throttle.read_iops_device", &format!("{} 50", stage.number()))])
    else {
        return;
    };
    let upper = Upper::new(&stage);
    let load = format!(
        "{} fio --name=x --direct=1 --ioengine=psync --rw=randread --size=8m --bs=4k --numjobs=5 --time_based \
         --runtime=4 \
         --output=/dev/null --filename={}",
        group.enter(),
        upper.device()
    );
    let Some(seen) = trace(&all_of_it(false), &load) else { return };
    let mut used: HashMap<u32, (u64, u64)> = HashMap::new();
    let upper = device_number(&upper.number());
    let reads = |used: &&model::usage::UsageRecord| {
        used.device == Some(upper) && used.resource == model::usage::Resource::DeviceRead
    };
    let all: u64 = seen.traced.usage.iter().filter(reads).map(|row| row.count).sum();
    for (pid, row) in seen.traced.usage.iter().filter(reads).filter_map(|row| Some((row.pid?, row))) {
        let sum = used.entry(pid).or_default();
        *sum = (sum.0 + row.count, sum.1 + row.busy_ns);
    }
    used.retain(|_, (count, _)| *count >= 10);
    let (count, busy_ns) = used.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    // Who has hardly any time is summed up with others; on a busy machine one of the five may start late.
    assert!(used.len() >= 4, "{count} of {all}: {used:?}");
    for (of_count, of_busy) in used.values().map(|one| (one.0 as f64 / count as f64, one.1 as f64 / busy_ns as f64)) {
        assert!(of_busy < 1.6 * of_count, "{of_busy:.2} of the time for {of_count:.2} of the requests: {used:?}");
    }
}

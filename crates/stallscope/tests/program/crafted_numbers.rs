//! A run with valid checksums whose numbers no recorder writes: each command answers or refuses.

use archive::{Writer, WriterOptions};
use model::block::{DeviceNumber, Kind, Operation};
use model::event::{Ending, RunEvent};
use model::metric::SampleHeader;
use model::operation::Bucket;
use model::run::RunDescription;
use model::stall::{RequestIntervalRecord, TraceSettings, Traced};
use model::time::Moment;

use crate::stage::{folder, run};

const COMMANDS: [&str; 7] =
    ["check", "show", "show --json", "explain", "top --once", "report -o OUT/page", "export --to csv -o OUT/csv"];

fn at(monotonic_ns: u64) -> Moment {
    Moment { monotonic_ns, wall_ns: 1 }
}

fn write(directory: &std::path::Path) {
    let description = RunDescription {
        sample_interval_ns: u64::MAX,
        slower_than_ns: 1,
        trace: Some(TraceSettings { slow_ns: 1, interval_ns: u64::MAX - 1, all_requests: false }),
        ..RunDescription::new("record", at(1))
    };
    let mut writer = Writer::create(directory, &description, WriterOptions::default()).unwrap();
    for sample in 0..3 {
        let header = SampleHeader {
            sample,
            at: at(u64::from(sample) + 2),
            late_ns: u64::MAX,
            cpu_ns: u64::MAX - 1,
            took_ns: u64::MAX,
        };
        writer.sample(header, &[]);
    }
    let interval = |end_ns| RequestIntervalRecord {
        start_ns: 1,
        end_ns,
        device: DeviceNumber::new(8, 0),
        kind: Kind::of(Operation::Read),
        count: 1,
        bytes: 4096,
        queue: vec![Bucket { index: 100, count: 1 }],
        device_time: vec![Bucket { index: 100, count: 1 }],
    };
    let request_intervals = [5, u64::MAX - 1, u64::MAX].map(interval).to_vec();
    writer.traced(&mut Traced { request_intervals, ..Traced::default() });
    let (events, consumer_cpu_ns, programs_cpu_ns) = (u64::MAX, u64::MAX, Some(u64::MAX));
    writer.event(RunEvent::TraceCost { at_ns: 9, events, consumer_cpu_ns, programs_cpu_ns, measured_ns: 1 });
    writer.event(RunEvent::Ended { at_ns: u64::MAX, how: Ending::Done });
    writer.close(at(10)).unwrap();
}

#[test]
fn numbers_that_overflow_end_no_command() {
    let folder = folder();
    let directory = folder.path().join("run");
    write(&directory);
    for command in COMMANDS {
        let command = command.replace("OUT", &folder.path().display().to_string());
        // A panic is an error of its own.
        let ended = run(&format!("{command} {}", directory.display()));
        assert!(matches!(ended.code, Some(0 | 1)), "{command}: {:?} {}", ended.code, ended.stderr);
    }
}

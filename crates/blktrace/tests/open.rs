//! What a name on the command line may denote.

use std::fs;
use std::path::Path;

use blktrace::encode::{ByteOrder, Encoder, Version};
use blktrace::{Trace, TraceError};
use model::block::{Action, BlockEvent, DeviceNumber};

const ENCODER: Encoder = Encoder { version: Version::V7, order: ByteOrder::Little };

/// A per-CPU file with an event at each of the times.
fn write(path: &Path, cpu: u32, times: &[u64]) {
    let mut bytes = Vec::new();
    for (number, &time_ns) in times.iter().enumerate() {
        let event = BlockEvent { cpu, ..BlockEvent::new(time_ns, Action::Plug, DeviceNumber::new(8, 0)) };
        ENCODER.event(&event, number as u32 + 1, &mut bytes);
    }
    fs::write(path, bytes).unwrap();
}

fn times(mut trace: Trace) -> Vec<u64> {
    let mut times = Vec::new();
    while let Some(batch) = trace.next_batch().unwrap() {
        times.extend(batch.iter().map(|event| event.time_ns));
    }
    times
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("sda.blktrace.0"), 0, &[10, 40, 50]);
    write(&folder.path().join("sda.blktrace.1"), 1, &[20, 30, 60]);
    // Nothing happened on this CPU.
    write(&folder.path().join("sda.blktrace.2"), 2, &[]);
    write(&folder.path().join("sdb.blktrace.0"), 0, &[25]);
    fs::write(folder.path().join("notes.txt"), "not a trace").unwrap();
    folder
}

#[test]
fn a_set_of_files_by_its_name_a_folder_and_one_file() {
    let folder = folder();
    let open = |name: &str| times(Trace::open([folder.path().join(name)]).unwrap());
    assert_eq!(open("sda"), [10, 20, 30, 40, 50, 60]);
    assert_eq!(open(""), [10, 20, 25, 30, 40, 50, 60]);
    assert_eq!(open("sda.blktrace.1"), [20, 30, 60]);
    let two = Trace::open([folder.path().join("sda.blktrace.1"), folder.path().join("sdb")]).unwrap();
    assert_eq!(times(two), [20, 25, 30, 60]);
}

#[test]
fn a_clock_that_steps_back_on_all_cpus_keeps_their_events_in_order() {
    let folder = tempfile::tempdir().unwrap();
    const SECOND: u64 = 1_000_000_000;
    let at = |seconds: &[u64]| seconds.iter().map(|s| s * SECOND).collect::<Vec<_>>();
    write(&folder.path().join("x.blktrace.0"), 0, &at(&[10, 20, 11, 13]));
    write(&folder.path().join("x.blktrace.1"), 1, &at(&[12, 19, 21, 12, 14]));
    let trace = Trace::open([folder.path().join("x")]).unwrap();
    assert_eq!(times(trace), at(&[10, 12, 19, 20, 21, 11, 12, 13, 14]));
}

#[test]
fn a_cpu_whose_clock_steps_back_alone_is_released() {
    let folder = tempfile::tempdir().unwrap();
    const SECOND: u64 = 1_000_000_000;
    let at = |seconds: &[u64]| seconds.iter().map(|s| s * SECOND).collect::<Vec<_>>();
    write(&folder.path().join("x.blktrace.0"), 0, &at(&[10, 5, 30, 50]));
    write(&folder.path().join("x.blktrace.1"), 1, &at(&[11, 15, 25, 40, 60]));
    let trace = Trace::open([folder.path().join("x")]).unwrap();
    assert_eq!(times(trace), at(&[10, 11, 15, 5, 25, 30, 40, 50, 60]));
}

#[test]
fn a_missing_file_or_a_foreign_file_is_named() {
    let folder = folder();
    let open = |name: &str| Trace::open([folder.path().join(name)]).err().unwrap();
    assert!(matches!(open("sdz"), TraceError::Missing { .. }));
    let message = open("notes.txt").to_string();
    assert!(message.contains("notes.txt: not a block trace"), "{message}");
    fs::create_dir(folder.path().join("empty")).unwrap();
    assert!(matches!(open("empty"), TraceError::EmptyFolder { .. }));
}

#[test]
fn read_ahead_the_events_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let of_cpu = |cpu: u64| (0..20_000).map(|number| 10 * number + cpu).collect::<Vec<u64>>();
    (0..2).for_each(|cpu| write(&folder.path().join(format!("sda.blktrace.{cpu}")), cpu, &of_cpu(cpu.into())));
    let mut trace = Trace::open([folder.path()]).unwrap();
    let (mut ahead, mut last) = (Vec::new(), None);
    let take = |events: &[BlockEvent], progress| {
        ahead.extend(events.iter().map(|event| event.time_ns));
        last = Some(progress);
    };
    trace.each_batch(take).unwrap();
    assert_eq!(last.map(|progress| (progress.bytes, progress.events)), Some((trace.notes().bytes, 40_000)));
    assert_eq!(ahead, times(Trace::open([folder.path()]).unwrap()));
}

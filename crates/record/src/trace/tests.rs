mod lacking_types;

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use libbpf_rs::{MapCore, MapFlags, ProgramMut};
use model::block::DeviceNumber;
use model::loss_kind::OF_PROGRAMS;
use model::operation::Bucket;
use model::preflight::{Finding, capability};
use model::signal::TracepointProgram;
use model::stall::{RequestFailures, StallKind, Traced};

use super::bounded_cache::BoundedCache;
use super::event::{FAULT_FILE, OFF_CPU, RequestNote, SHORT_SLEEPS, TraceEvent};
use super::programs::{Kernel, Loaded};
use super::requests::{RequestSum, failures_of, kind_of, record};
use super::row_builder::RowBuilder;
use super::settings::ProgramSettings;
use super::symbols::Symbols;
use super::tracepoints::{self, TraceSource, When};
use super::{TraceOptions, Tracing, programs, system_calls};
use crate::roots::Roots;

const KALLSYMS: &str = "0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000100 t folio_wait_bit_common.isra.0
ffffffff81000100 t __pfx_folio_wait_bit_common
ffffffff81000200 d data
ffffffff81000300 T filemap_read	[xfs]
";

#[test]
fn addresses_become_plain_names() {
    let mut symbols = Symbols::parse(KALLSYMS);
    assert_eq!(symbols.name(0xffff_ffff_8100_0110), "folio_wait_bit_common");
    assert_eq!(symbols.name(0xffff_ffff_8100_0300), "filemap_read");
    assert_eq!(symbols.name(0x10), "0x10");
    assert_eq!(symbols.address("filemap_read"), Some(0xffff_ffff_8100_0300));
    assert_eq!(Symbols::parse("0000000000000000 T hidden").address("hidden"), None);
}

#[test]
fn too_few_bytes_are_no_event() {
    for length in 0..440 {
        assert_eq!(TraceEvent::parse(&vec![0; length]), None, "{length}");
    }
    let mut bytes = vec![0u8; 440 + 320 + 192];
    bytes[0] = OFF_CPU as u8;
    (bytes[112], bytes[116]) = (2, 3);
    let event = TraceEvent::parse(&bytes).unwrap();
    assert_eq!((event.kind, event.stack.len(), event.waker_stack.len()), (OFF_CPU, 2, 3));
}

#[test]
fn a_stack_and_a_request_are_emitted_once() {
    let mut rows = RowBuilder::new("/nonexistent".into(), Path::new("/nonexistent"), Symbols::parse(KALLSYMS), false);
    let mut event =
        TraceEvent { kind: OFF_CPU, end_ns: 5, call: -1, stack: vec![0xffff_ffff_8100_0110], ..TraceEvent::default() };
    // Without a name, and without a file in /proc, there is no row.
    event.comm = "dd".to_owned();
    event.request.key = 7;
    event.request.device = 7 << 20 | 3;
    let mut traced = Traced::default();
    rows.add_event(&event, &mut traced);
    rows.add_event(&event, &mut traced);
    assert_eq!((traced.stalls.len(), traced.stacks.len(), traced.requests.len()), (2, 1, 1));
    assert_eq!(traced.stalls[1].kind, StallKind::OffCpu);
    assert_eq!(traced.stalls[1].stack, Some(0));
    assert_eq!(traced.requests[0].device, DeviceNumber::new(7, 3));
    assert_eq!(traced.stacks[0].frames, ["folio_wait_bit_common"]);
    rows.reset_emitted();
    rows.add_event(&event, &mut traced);
    assert_eq!((traced.stacks.len(), traced.tasks.len()), (2, 2));
    assert_eq!(traced.stacks[0], traced.stacks[1]);
}

#[test]
fn a_waker_is_named_as_of_the_wakeup() {
    let mut rows = RowBuilder::new("/nonexistent".into(), Path::new("/nonexistent"), Symbols::parse(KALLSYMS), false);
    let mut event = TraceEvent { kind: OFF_CPU, call: -1, tid: 1, waker_tid: 2, waker_pid: 2, ..TraceEvent::default() };
    (event.woken_ns, event.end_ns, event.waker) = (5, 9, "fsfreeze".to_owned());
    let mut traced = Traced::default();
    rows.add_event(&event, &mut traced);
    let waker = traced.tasks.iter().find(|task| task.tid == 2).unwrap();
    assert_eq!((waker.name.as_str(), waker.seen_ns), ("fsfreeze", 5));
}

/// A runtime's process becomes the container's program. What it did before is sent afterwards, and its older name comes
/// with what it woke:
///
/// ```text
///          2        4        6        8        9
///  sleeps  +--------+ sent when the task is dd already
///  wakes                     x as crun, known when the woken task has run
///  writes                             +--------+ as dd
/// ```
#[test]
fn a_thread_has_the_name_that_was_read_last() {
    let mut rows = RowBuilder::new("/nonexistent".into(), Path::new("/nonexistent"), Symbols::parse(KALLSYMS), false);
    let of = |kind, tid, comm: &str, end_ns| TraceEvent {
        kind,
        tid,
        pid: tid,
        call: -1,
        comm: comm.to_owned(),
        end_ns,
        ..TraceEvent::default()
    };
    let (waker_tid, waker) = (1, "crun".to_owned());
    let woken = TraceEvent { waker_tid, waker, woken_ns: 6, ..of(OFF_CPU, 2, "conmon", 7) };
    let mut traced = Traced::default();
    for event in [of(SHORT_SLEEPS, 1, "dd", 4), woken.clone(), of(OFF_CPU, 1, "dd", 9), woken] {
        rows.add_event(&event, &mut traced);
    }
    let names: Vec<_> =
        traced.tasks.iter().filter(|task| task.tid == 1).map(|task| (&*task.name, task.seen_ns)).collect();
    assert_eq!(names, [("dd", 4), ("crun", 6), ("dd", 9)]);
}

#[test]
fn a_thread_that_is_gone_was_in_its_last_known_cgroup() {
    let proc = tempfile::tempdir().unwrap();
    let folder = proc.path().join("1");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("cgroup"), "0::/hog.service\n").unwrap();
    let mut rows = RowBuilder::new(proc.path().into(), Path::new("/nonexistent"), Symbols::parse(KALLSYMS), false);
    let mut event =
        TraceEvent { kind: OFF_CPU, call: -1, tid: 1, pid: 1, comm: "(dd)".to_owned(), ..TraceEvent::default() };
    let mut traced = Traced::default();
    rows.add_event(&event, &mut traced);
    std::fs::remove_dir_all(&folder).unwrap();
    (event.comm, event.end_ns) = ("dd".to_owned(), 9);
    rows.add_event(&event, &mut traced);
    let seen: Vec<_> = traced.tasks.iter().map(|task| (task.name.as_str(), task.cgroup.as_deref())).collect();
    assert_eq!(seen, [("(dd)", Some("/hog.service")), ("dd", Some("/hog.service"))]);
}

/// The file of a page fault comes before its wait; another task's wait may lie between the two.
#[test]
fn the_wait_of_a_page_fault_has_its_file() {
    let mut rows = RowBuilder::new("/nonexistent".into(), Path::new("/nonexistent"), Symbols::parse(KALLSYMS), false);
    let event = |kind, tid| TraceEvent { kind, tid, call: -1, ..TraceEvent::default() };
    let file = TraceEvent { texts: ["/mnt/db".to_owned(), String::new()], ..event(FAULT_FILE, 1) };
    let mut traced = Traced::default();
    for event in [file, event(OFF_CPU, 2), event(OFF_CPU, 1), event(OFF_CPU, 1)] {
        rows.add_event(&event, &mut traced);
    }
    let paths: Vec<Option<&str>> = traced.stalls.iter().map(|row| row.path.as_deref()).collect();
    assert_eq!(paths, [None, Some("/mnt/db"), None]);
}

#[test]
fn letters_of_requests() {
    let letters = |flags: u32| kind_of(flags).to_string();
    assert_eq!([0, 1 | 1 << 11, 1 | 1 << 17 | 1 << 18, 2].map(letters), ["R", "WS", "FWF", "FN"]);
}

#[test]
fn each_call_has_its_number() {
    let followed = system_calls::operations().iter().filter(|how| **how != 0).count();
    assert!(followed >= 28, "{followed}");
    let with_others = system_calls::with_others();
    assert_eq!(
        [libc::SYS_read, libc::SYS_accept, libc::SYS_fsync].map(|call| with_others[call as usize]),
        [10, 1064, 0]
    );
}

#[test]
fn each_source_is_known_by_its_name_as_one_of_the_tracer() {
    let finding = |source: &TraceSource| Finding::missing(source.name, "", "", "");
    assert!(tracepoints::all().iter().map(finding).all(|finding| finding.is_of_tracer()));
    assert!(Finding::missing(programs::CAPABILITY, "", "", "").is_of_tracer());
    assert!(!Finding::missing(capability::TRACEPOINT_COUNTERS, "", "", "").is_of_tracer());
}

#[test]
fn a_source_that_the_kernel_lacks_costs_only_itself() {
    const BOGUS: TraceSource = TraceSource {
        name: "tracing: nothing",
        purpose: "does not exist",
        programs: &[TracepointProgram::at_least("sched_switch", "sched_no_such_thing", 0)],
        module: None,
        when: When::Always,
    };
    let sources = [vec![BOGUS], tracepoints::all()].concat();
    let options = TraceOptions::slower_than(1_000_000_000, false);
    let (tracing, findings) = Tracing::open_with(&Roots::default(), &options, &sources);
    if !tracing.is_tracing() {
        println!("skipped: {:?}", findings.last());
        return;
    }
    let missing: Vec<_> = findings.iter().filter(|finding| !finding.available).collect();
    assert_eq!(missing[0].capability, "tracing: nothing");
    assert_eq!(missing[0].why.as_deref(), Some("this kernel has no tracepoint sched_no_such_thing"));
    let scheduler = findings.iter().find(|finding| finding.capability == "tracing: scheduler").unwrap();
    assert!(scheduler.available, "{scheduler:?}");
}

fn all_loaded(settings: &ProgramSettings) -> Result<Loaded, libbpf_rs::Error> {
    let sources = tracepoints::all();
    programs::load(&sources, &Kernel::read(&Roots::default(), &sources)?, settings, None)
}

/// The kernel refuses a program that takes it a million steps to check (BPF_COMPLEXITY_LIMIT_INSNS), and a start, which
/// waits for all checks, takes a second of CPU time for about 300,000. Compilers differ by some percent.
#[test]
fn the_verifier_checks_the_programs_in_few_steps() {
    let options = TraceOptions::slower_than(1_000_000_000, true);
    let symbols = Symbols::read(Path::new("/proc/kallsyms"));
    let settings = ProgramSettings::new(&options, &symbols, super::possible_cpus());
    let loaded = match all_loaded(&settings) {
        Ok(loaded) => loaded,
        Err(error) => return println!("skipped: {error}"),
    };
    let steps = |program: &ProgramMut<'_>| {
        let path = format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd());
        let info = std::fs::read_to_string(path).unwrap();
        let steps = info.lines().find_map(|line| line.strip_prefix("verified_insns:")?.trim().parse::<u32>().ok());
        steps.map(|steps| (steps, program.name().to_string_lossy().into_owned()))
    };
    let loaded_programs = loaded.object.progs_mut().filter(|program| program.autoload());
    let Some(mut steps) = loaded_programs.map(|program| steps(&program)).collect::<Option<Vec<_>>>() else {
        return println!("skipped: this kernel does not say how many steps the verifier took");
    };
    steps.sort_unstable_by(|one, other| other.cmp(one));
    let total: u32 = steps.iter().map(|(steps, _)| steps).sum();
    println!("{total} steps: {steps:?}");
    assert!(steps.len() > 20, "{steps:?}");
    assert!(steps[0].0 < 100_000, "{steps:?}");
    assert!(total < 200_000, "{steps:?}");
}

#[test]
fn the_program_that_fits_the_tracepoint_is_chosen() {
    let sources = tracepoints::all();
    let throttling = sources.iter().find(|source| source.name == "tracing: dirty throttling").unwrap();
    for (arguments, expected) in [
        (Some(8), Some("balance_dirty_pages")),
        (Some(12), Some("balance_dirty_pages_12")),
        (Some(9), None),
        (None, None),
    ] {
        let chosen = programs::chosen(throttling, |_| arguments, |_| true);
        assert_eq!(chosen.as_ref().ok().map(|programs| programs[0]), expected, "{arguments:?} {chosen:?}");
    }
}

/// Linux 6.1 has no tracepoint for the answers of FUSE servers, whose own sleeps were not recorded.
#[test]
fn a_program_at_a_function_takes_the_place_of_a_missing_tracepoint() {
    let chosen = |had: &[&str]| {
        let has = |name: &str| had.contains(&name);
        let sources = tracepoints::at_functions(&tracepoints::all(), has);
        sources.iter().find(|source| source.name == "tracing: FUSE servers").unwrap().programs[0].name
    };
    assert_eq!(chosen(&["fentry:fuse_request_end"]), "fuse_answered");
    assert_eq!(chosen(&["fuse_request_end", "fentry:fuse_request_end"]), "fuse_request_end");
    assert_eq!(chosen(&[]), "fuse_request_end");
}

#[test]
fn a_refused_program_gives_way_to_the_next_that_fits() {
    let sources = tracepoints::all();
    let next = |source: &str, refused: &str, arguments: usize| {
        let source = sources.iter().find(|known| known.name == source).unwrap();
        programs::next_of(source, refused, |_| Some(arguments))
    };
    let commits = |refused: &str| next("tracing: btrfs commits", refused, 1);
    assert_eq!(commits("btrfs_transaction_commit"), Some("btrfs_transaction_commit_of"));
    assert_eq!(commits("btrfs_transaction_commit_of"), None);
    let throttling = |arguments: usize| next("tracing: dirty throttling", "balance_dirty_pages", arguments);
    assert_eq!((throttling(8), throttling(12)), (None, Some("balance_dirty_pages_12")));
}

#[test]
fn a_refusal_quotes_the_verifier() {
    let said = "libbpf: prog 'block_io_start': BPF program load failed: -EACCES
libbpf: prog 'block_io_start': -- BEGIN PROG LOAD LOG --
0: R1=ctx() R10=fp0
3: (bf) r2 = r6
4: (2f) r2 *= r1
math between trusted_ptr_ pointer and -7046 is not allowed
processed 5 insns (limit 1000000) max_states_per_insn 0
-- END PROG LOAD LOG --
libbpf: prog 'block_io_start': failed to load: -EACCES
";
    assert_eq!(programs::refused_program(said), Some("block_io_start"));
    let tail = "3: (bf) r2 = r6; 4: (2f) r2 *= r1; math between trusted_ptr_ pointer and -7046 is not allowed";
    assert_eq!(programs::tail_of_log(said), tail);
    assert_eq!(programs::refused_program("libbpf: map 'ring': failed to create: -EPERM"), None);
}

#[test]
fn the_cache_is_bounded() {
    let mut cache = BoundedCache::new(2);
    for number in 0..100u32 {
        cache.insert(number, number);
        assert_eq!(cache.get(&0).copied(), Some(0), "requested all the time: {number}");
    }
    assert_eq!((cache.get(&99).copied(), cache.get(&50)), (Some(99), None));
    assert!(cache.values_mut().count() <= 4);
}

#[test]
fn an_interval_is_the_difference_of_sums_over_all_cpus() {
    let histogram = |count: u64, bytes: u64, bucket: usize, times: u32| {
        let mut value = [count.to_ne_bytes(), bytes.to_ne_bytes()].concat();
        value.resize(16 + 2 * 304 * 4, 0);
        value[16 + 4 * bucket..][..4].copy_from_slice(&times.to_ne_bytes());
        value
    };
    let sum_of = |values: &[Vec<u8>]| {
        let mut sum = RequestSum::empty();
        values.iter().for_each(|value| sum.add(value));
        sum
    };
    let before = sum_of(&[histogram(1, 4096, 7, 1), histogram(1 << 33, 0, 310, 2)]);
    let after = sum_of(&[histogram(4, 8192, 7, 3), histogram(1 << 33, 0, 310, 5)]);
    let row = after.since(&before, (1, 2), (DeviceNumber::new(7, 0), kind_of(1))).unwrap();
    assert_eq!((row.count, row.bytes, row.start_ns, row.end_ns), (3, 4096, 1, 2));
    assert_eq!(row.queue, [Bucket { index: 7, count: 2 }]);
    assert_eq!(row.device_time, [Bucket { index: 6, count: 3 }]);
    assert_eq!(after.since(&after, (1, 2), (DeviceNumber(0), kind_of(0))), None);
}

#[test]
fn a_compact_request_gets_its_times_back() {
    let mut bytes = [&5u64.to_ne_bytes()[..], &1000u64.to_ne_bytes()].concat();
    for word in [900u32, 800, u32::MAX, 700, 7 << 20, 4096, 1, 12, 3] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(2u16.to_ne_bytes());
    assert_eq!(RequestNote::parse(&bytes), None);
    bytes.extend([1, 10]);
    let note = RequestNote::parse(&bytes).unwrap();
    assert_eq!((note.sector, note.queued_ns, note.got_ns, note.inserted_ns, note.issued_ns), (5, 100, 200, 0, 300));
    assert_eq!((note.device, note.bytes, note.flags, note.tid, note.number), (7 << 20, 4096, 1, 12, 3));
    assert_eq!((note.completed_ns, note.merges, note.throttled, note.status), (1000, 2, true, 10));
}

#[test]
fn contradicting_times_are_dropped() {
    let note = RequestNote { queued_ns: 5, got_ns: 4, issued_ns: 7, completed_ns: 9, ..RequestNote::default() };
    let row = record(0, &note);
    assert_eq!((row.queued_ns, row.got_ns, row.inserted_ns, row.issued_ns), (Some(5), None, None, Some(7)));
    let row = record(0, &RequestNote { queued_ns: 8, got_ns: 6, inserted_ns: 6, ..note });
    assert_eq!((row.queued_ns, row.got_ns, row.inserted_ns), (None, Some(6), Some(6)));
    assert_eq!(record(0, &RequestNote { status: 10, ..note }).errno, Some(libc::EIO));
}

#[test]
fn what_failed_of_a_request_is_in_its_row() {
    let note = RequestNote {
        completed_ns: 50,
        first_issued_ns: 20,
        scsi_result: 2,
        scsi_sense: 0xb_0000,
        ..RequestNote::default()
    };
    // Its other fields are those of an earlier request.
    assert_eq!(failures_of(&note), RequestFailures::default());
    let failures = failures_of(&RequestNote { failures: 1 << 16 | 0x102, ..note });
    let expected = RequestFailures {
        first_issued_ns: Some(20),
        retries: Some(2),
        timeouts: Some(1),
        scsi_result: Some(2),
        scsi_sense: Some(0xb_0000),
    };
    assert_eq!(failures, expected);
    assert_eq!(failures_of(&RequestNote { failures: 1 << 16, first_issued_ns: 0, ..note }).retries, None);
}

/// More pairs of processes waited and ran than the map holds: what is left out is said.
#[test]
fn runs_that_do_not_fit_are_a_loss() {
    let options = TraceOptions::slower_than(1_000_000, false);
    let symbols = Symbols::read(Path::new("/proc/kallsyms"));
    let settings = ProgramSettings::new(&options, &symbols, super::possible_cpus());
    let mut loaded = match all_loaded(&settings) {
        Ok(loaded) => loaded,
        Err(error) => return println!("skipped: {error}"),
    };
    let Ok(behind) = programs::map(&loaded.object, "behind") else {
        return println!("skipped: this kernel has the simpler programs");
    };
    for waiting in 0..behind.max_entries() {
        let key = u64::from(u32::MAX - waiting).to_ne_bytes();
        behind.update(&key, &1_u64.to_ne_bytes(), MapFlags::ANY).unwrap();
    }
    let _links = programs::attach(&mut loaded, &tracepoints::all(), &mut Vec::new()).unwrap();
    // Threads of this process would not count: it is the recorder.
    let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    let mut spinning: Vec<_> = (0..4 * super::possible_cpus()).map(|_| spin()).collect();
    std::thread::sleep(Duration::from_millis(500));
    for child in &mut spinning {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let sums = OF_PROGRAMS.iter().position(|kind| kind.name.starts_with("sums of usage")).unwrap() as u32;
    let lost = programs::map(&loaded.object, "lost").unwrap().lookup(&sums.to_ne_bytes(), MapFlags::ANY).unwrap();
    assert!(lost.unwrap().iter().any(|byte| *byte > 0));
}

//! `record --ring`: the runs that a flight recorder saves of real stalls.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use archive::Run;
use model::event::RunEvent;
use model::metric::MetricId;
use model::stall::{StallKind, StallRecord};
use record::clock;
use rustix::process::Signal;
use serde_json::Value;

use crate::stage::disk::{Tmpfs, fill_up};
use crate::stage::{Disk, Frozen, Running, checked, folder, is_root, number, run, shown};

const SECOND: u64 = 1_000_000_000;
/// Slow threshold where a thread's own waits are compared with the recorded ones.
const SLOW_NS: u64 = 2_000_000;

/// A recorder in `directory`, recording when this returns.
fn recorder(directory: &Path, options: &str) -> Running {
    let mut program = Running::start(&format!("record --ring 10s --out {} {options}", directory.display()));
    let first = directory.join("ring/slice-000001/run.json");
    program.wait_until("the first slice is there", |_| first.exists());
    program
}

/// The saved runs whose name ends with `word`.
fn kept(directory: &Path, word: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path());
    let mut runs: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(word)).collect();
    runs.retain(|path| path.join("run.json").exists() && !path.to_string_lossy().contains("/unfinished-"));
    runs.sort();
    runs
}

fn notes(run: &Path) -> String {
    let run = Run::open(run).unwrap();
    let texts = run.events().iter().filter_map(|event| match event {
        RunEvent::Note { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Freezes a file system while a thread writes to it.
fn freeze(disk: &Disk, time: Duration) {
    let frozen = Frozen::new(disk.path());
    let path = disk.path().join("file");
    let writer = std::thread::Builder::new().name("the-writer".into()).spawn(move || {
        fs::write(path, vec![7; 1 << 20]).unwrap();
    });
    std::thread::sleep(time);
    drop(frozen);
    writer.unwrap().join().unwrap();
}

#[test]
fn a_frozen_file_system_is_saved_and_explained_and_the_next_stall_is_too_soon() {
    if !is_root("freezing a file system") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(64 << 20));
    let directory = folder.path().join("flight");
    let mut program = recorder(&directory, "--on-stall 2s --keep-after 2s");
    std::thread::sleep(Duration::from_secs(1));
    freeze(&disk, Duration::from_secs(4));
    program.wait_until("the stall is kept", |_| !kept(&directory, "-stall").is_empty());
    freeze(&disk, Duration::from_secs(3));
    program.wait_until("the next one is reported", |program| program.stderr().contains("too soon"));
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(0);
    println!("{}{}", ended.stderr, ended.stdout);

    let runs = kept(&directory, "-stall");
    assert_eq!(runs.len(), 1);
    assert_eq!(checked(&runs[0])["whole"], true);
    assert!(number(&shown(&runs[0]), "/recording/samples") >= 5.0);
    assert!(notes(&runs[0]).contains("the-writer"), "{}", notes(&runs[0]));
    let explained = run(&format!("explain --json --slower-than 2s {}", runs[0].display())).expect_code(0).document();
    println!("{:#}", explained["causes"]);
    // Other tasks of this machine may be stuck, too.
    let stalls = explained["stalls"].as_array().unwrap();
    let own: Vec<_> = stalls.iter().filter(|stall| stall["task"].to_string().contains("the-writer")).collect();
    assert!(!own.is_empty(), "{explained:#}");
    for stall in own {
        assert_eq!(stall["causes"][0]["cause"], "frozen", "{stall:#}");
        assert!(number(stall, "/causes/0/time_ns") >= 0.8 * number(stall, "/duration_ns"), "{stall:#}");
    }
}

/// Nobody is in state D, no call has ended, and the lock was taken and the waiter asleep before the saved slices began.
#[test]
fn a_lock_whose_holder_is_stopped_is_saved_and_explained_while_it_lasts() {
    if !is_root("looking at what others wait for") {
        return;
    }
    let folder = folder();
    let (directory, lock) = (folder.path().join("flight"), folder.path().join("lock"));
    let locked = |command: &[&str]| {
        let child = Command::new("flock").arg("--no-fork").arg(&lock).args(command).spawn().unwrap();
        Killed(child)
    };
    let holder = locked(&["sleep", "1000"]);
    std::thread::sleep(Duration::from_millis(500));
    let stopped = rustix::process::Pid::from_child(&holder.0);
    let mut program = recorder(&directory, "--on-stall 3s --keep-after 1s --keep-every 1s");
    std::thread::sleep(Duration::from_secs(1));
    let waiter = locked(&["true"]);
    std::thread::sleep(Duration::from_millis(500));
    rustix::process::kill_process(stopped, Signal::STOP).unwrap();
    // Something else may stall here, too, and be saved before.
    let (waits, mut looked) = (format!("flock/{}", waiter.0.id()), HashSet::new());
    let mut found = None;
    program.wait_until("the wait is saved", |_| {
        let new: Vec<PathBuf> =
            kept(&directory, "-stall").into_iter().filter(|run| looked.insert(run.clone())).collect();
        found = new.iter().find_map(|saved| {
            let explained =
                run(&format!("explain --json --slower-than 2s {}", saved.display())).expect_code(0).document();
            let is_own = |stall: &&Value| stall["task"] == waits.as_str();
            let own = explained["stalls"].as_array()?.iter().find(is_own)?.clone();
            Some((own, explained["culprits"].to_string()))
        });
        found.is_some()
    });
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(0);
    println!("{}{}", ended.stderr, ended.stdout);
    let (own, culprits) = found.unwrap();
    assert_eq!(own["causes"][0]["cause"], "stopped", "{own:#}");
    // Who sent the signal.
    assert!(culprits.contains(&format!("/{}", std::process::id())), "{culprits}");
}

/// A child that does not outlive its test.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_signal_saves_the_ring_with_few_slices_and_runs_a_program() {
    let folder = folder();
    let (directory, marker) = (folder.path().join("flight"), folder.path().join("marker"));
    let script = folder.path().join("script");
    let text = format!(
        "#!/bin/sh\ntest -e \"$STALLSCOPE_RUN/run.json\" && echo \"$1|$STALLSCOPE_RUN|$STALLSCOPE_REASON\" >{0}.new\n\
         mv {0}.new {0}\nexit 3\n",
        marker.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let options = format!("--json --keep-after 1s --slower-than {SLOW_NS}ns --on-stall-exec {}", script.display());
    let began = Instant::now();
    let mut program = recorder(&directory, &options);
    let syncing = Syncing::start();
    let mut most = 0;
    program.wait_until("the ring has turned over", |_| {
        most = most.max(fs::read_dir(directory.join("ring")).unwrap().count());
        directory.join("ring/slice-000004").exists() && !directory.join("ring/slice-000001").exists()
    });
    println!("four slices after {:.1} s, {most} at most at a time", began.elapsed().as_secs_f64());
    assert!((3..=4).contains(&most), "{most}");
    program.signal(Signal::USR1);
    program.wait_until("the program has run", |_| marker.exists());
    program.wait_until("its failure is reported", |program| program.stderr().contains("ended with exit status: 3"));
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(0);
    // Ten seconds of the ring, the rest of the slices at its ends, and the second after; not everything recorded.
    let all_s = began.elapsed().as_secs_f64();
    let document = ended.document();
    let path = document["kept"][0]["run"].as_str().unwrap();
    assert_eq!(fs::read_to_string(&marker).unwrap(), format!("{path}|{path}|requested by SIGUSR1\n"));
    assert_eq!(number(&document, "/ring/lost_rows"), 0.0, "{document:#}");
    let shown = shown(Path::new(path));
    assert!((9.0..all_s - 2.0).contains(&number(&shown, "/duration_s")), "{all_s} {shown:#}");
    assert_eq!(checked(Path::new(path))["whole"], true);
    assert!(!directory.join("ring").exists());
    no_sample_is_missing(Path::new(path));
    if is_root("tracing") {
        let tid = syncing.tid;
        no_stall_is_missing(Path::new(path), tid, &syncing.end());
    }
}

/// Joined slices have a sample each second, like one run.
fn no_sample_is_missing(run: &Path) {
    let run = Run::open(run).unwrap();
    let headers: Vec<_> = run.samples().flat_map(|batch| batch.unwrap()).collect();
    assert!(headers.iter().enumerate().all(|(ordinal, header)| header.sample == ordinal as u32));
    let steps = headers.windows(2).map(|pair| pair[1].at.monotonic_ns - pair[0].at.monotonic_ns);
    let gaps = run.events().iter().filter(|event| matches!(event, RunEvent::Gap { .. })).count();
    let long = steps.filter(|step_ns| *step_ns > 1_900_000_000).count();
    assert!(long <= gaps, "{long} steps are too long, and {gaps} gaps are reported");
}

/// A thread that always waits for a disk, and records start and duration of each wait, in ns.
struct Syncing {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(u64, u64)>>,
    tid: u32,
}

impl Syncing {
    fn start() -> Syncing {
        let stop = Arc::new(AtomicBool::new(false));
        let (report_tid, reported_tid) = channel();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            report_tid.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            let mut waits = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                file.write_all_at(&[7; 256 << 10], 0).unwrap();
                let began_ns = clock::monotonic_ns();
                file.sync_all().unwrap();
                waits.push((began_ns, clock::monotonic_ns() - began_ns));
                std::thread::sleep(Duration::from_millis(20));
            }
            waits
        });
        Syncing { stop, thread, tid: reported_tid.recv().unwrap() }
    }

    fn end(self) -> Vec<(u64, u64)> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn stalls(run: &Run) -> Vec<StallRecord> {
    run.stalls().flat_map(|batch| batch.unwrap()).collect()
}

/// A slice holds everything that its rows refer to, also what was recorded long before the slice began.
fn reads_alone(slice: &Path) {
    let run = Run::open(slice).unwrap();
    let stacks: HashSet<u32> = run.stacks().flat_map(|batch| batch.unwrap()).map(|stack| stack.stack).collect();
    let tasks: HashSet<u32> = run.tasks().flat_map(|batch| batch.unwrap()).map(|task| task.tid).collect();
    let metrics: HashSet<MetricId> =
        run.descriptors().flat_map(|batch| batch.unwrap()).map(|metric| metric.id).collect();
    let stalls = stalls(&run);
    println!("{}: {} stalls, {} stacks, {} tasks", slice.display(), stalls.len(), stacks.len(), tasks.len());
    for stall in &stalls {
        assert!(stall.stack.is_none_or(|stack| stacks.contains(&stack)), "{stall:?}");
        assert!(stall.waker_stack.is_none_or(|stack| stacks.contains(&stack)), "{stall:?}");
        assert!(tasks.contains(&stall.tid), "{stall:?}");
    }
    assert!(run.changes().flat_map(|batch| batch.unwrap()).all(|change| metrics.contains(&change.metric)));
    if rustix::process::geteuid().is_root() {
        assert!(stalls.iter().any(|stall| stall.stack.is_some()), "something waited");
    }
}

/// Each wait that the thread measured as slow is in the run, also at the borders of its slices.
fn no_stall_is_missing(run: &Path, tid: u32, waits: &[(u64, u64)]) {
    let run = Run::open(run).unwrap();
    let times: Vec<u64> = run.samples().flat_map(|batch| batch.unwrap()).map(|header| header.at.monotonic_ns).collect();
    let (first_ns, last_ns) = (times[0], times[times.len() - 1]);
    let inside = |wait: &&(u64, u64)| wait.0 > first_ns + SECOND && wait.0 + wait.1 + 2 * SECOND < last_ns;
    let slow: Vec<&(u64, u64)> = waits.iter().filter(inside).filter(|wait| wait.1 >= SLOW_NS + SLOW_NS / 2).collect();
    let own: Vec<StallRecord> = stalls(&run).into_iter().filter(|stall| stall.tid == tid).collect();
    let is_call = |stall: &&StallRecord| stall.kind == StallKind::SystemCall && stall.call.as_deref() == Some("fsync");
    let seen = |wait: &&&(u64, u64)| own.iter().filter(is_call).any(|call| call.start_ns.abs_diff(wait.0) < wait.1);
    let missing: Vec<_> = slow.iter().filter(|wait| !seen(wait)).collect();
    println!("{} slow waits of {}, {} rows", slow.len(), waits.len(), own.len());
    let losses: Vec<_> = run.events().iter().filter(|event| matches!(event, RunEvent::Loss { .. })).collect();
    assert!(missing.is_empty() || !losses.is_empty(), "{missing:?} between {first_ns} and {last_ns}");
}

#[test]
fn the_ring_of_a_killed_recorder_is_saved_by_the_next() {
    let folder = folder();
    let directory = folder.path().join("flight");
    let mut program = recorder(&directory, "--slower-than 100ms");
    let syncing = Syncing::start();
    program.wait_until("a second slice is there", |_| directory.join("ring/slice-000002/run.json").exists());
    std::thread::sleep(Duration::from_millis(5500));
    program.signal(Signal::KILL);
    drop(program);
    syncing.end();
    (1..=2).for_each(|number| reads_alone(&directory.join(format!("ring/slice-{number:06}"))));
    let busy = run(&format!("check {}", directory.join("ring/slice-000001").display()));
    assert_eq!(busy.code, Some(0), "what is in the ring is readable: {}", busy.stderr);
    let mut program = recorder(&directory, "--keep-last");
    program.wait_until("the old ring is kept", |program| program.stdout().contains("cut-off"));
    let second = run(&format!("record --ring 10s --out {}", directory.display())).expect_code(3);
    assert!(second.error().contains("another flight recorder (process"), "{}", second.error());
    std::thread::sleep(Duration::from_secs(2));
    program.signal(Signal::TERM);
    let ended = program.wait().expect_code(0);
    println!("{}", ended.stdout);
    let (cut_off, last) = (kept(&directory, "-cut-off"), kept(&directory, "-last"));
    assert_eq!((cut_off.len(), last.len()), (1, 1));
    assert!(number(&shown(&cut_off[0]), "/recording/samples") >= 7.0);
    assert_eq!((&checked(&cut_off[0])["whole"], &checked(&last[0])["whole"]), (&true.into(), &true.into()));
    let left: Vec<_> = fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn saved_runs_have_a_limit_that_is_reported_and_nothing_is_deleted() {
    let folder = folder();
    let directory = folder.path().join("flight");
    // Space for one run of some seconds, and not for two.
    let mut program = recorder(&directory, "--keep-after 0s --keep-size 1m");
    program.signal(Signal::USR1);
    program.wait_until("one is saved", |_| kept(&directory, "-asked").len() == 1);
    let ballast = kept(&directory, "-asked")[0].join("ballast");
    fs::write(ballast, vec![0; 1 << 20]).unwrap();
    program.signal(Signal::USR1);
    program.wait_until("the limit is reported", |program| program.stderr().contains("--keep-size"));
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(0);
    println!("{}", ended.stderr);
    assert!(ended.stdout.contains("1 run saved") && ended.stdout.contains("1 could not be saved"), "{}", ended.stdout);
    assert_eq!(kept(&directory, "-asked").len(), 1);
}

#[test]
fn a_counter_over_its_limit_is_saved_once_without_a_tracer() {
    let folder = folder();
    let directory = folder.path().join("flight");
    let conditions = "--on-stall counter:vmstat.pgfault>0.1/s --on-stall counter:vmstat.no_such_counter>1/s";
    let mut program = recorder(&directory, &format!("--no-trace --keep-after 1s --keep-every 0s {conditions}"));
    program.wait_until("it is kept", |_| !kept(&directory, "-vmstat.pgfault").is_empty());
    std::thread::sleep(Duration::from_secs(3));
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(0);
    println!("{}", ended.stderr);
    assert!(ended.stderr.contains("no_such_counter>1/s: no such counter is sampled here"), "{}", ended.stderr);
    let runs = kept(&directory, "-vmstat.pgfault");
    assert_eq!(runs.len(), 1, "it lasts all the time, and is one event");
    assert!(notes(&runs[0]).contains("vmstat.pgfault grew by"), "{}", notes(&runs[0]));
    assert_eq!(checked(&runs[0])["whole"], true);
}

#[test]
fn a_full_disk_does_not_end_the_recorder() {
    if !is_root("a small tmpfs") {
        return;
    }
    let tmpfs = Tmpfs::new(24);
    let directory = tmpfs.path().join("flight");
    let mut program = recorder(&directory, "--ring-size 16m --keep-after 0s");
    let ballast = fill_up(tmpfs.path());
    program.wait_until("it is reported", |program| program.stderr().contains("cannot record: "));
    program.signal(Signal::USR1);
    program.wait_until("keeping is refused", |program| program.stderr().contains("not saved: "));
    fs::remove_file(ballast).unwrap();
    program.wait_until("recording continues", |program| program.stderr().contains("recording continues"));
    program.signal(Signal::USR1);
    program.wait_until("keeping works again", |_| !kept(&directory, "-asked").is_empty());
    program.signal(Signal::INT);
    let ended = program.wait().expect_code(0);
    println!("{}{}", ended.stderr, ended.stdout);
    let run = kept(&directory, "-asked").remove(0);
    assert_eq!(checked(&run)["whole"], true);
    let losses =
        Run::open(&run).unwrap().events().iter().filter(|event| matches!(event, RunEvent::Loss { .. })).count();
    assert!(losses > 0, "what was not recorded is a loss of the run");
}

#[test]
fn invalid_arguments_are_one_clear_error_and_make_nothing() {
    let folder = folder();
    let directory = folder.path().join("flight");
    let theirs = folder.path().join("theirs");
    fs::create_dir_all(theirs.join("data")).unwrap();
    for (words, why) in [
        ("--ring 5s", "a ring holds at least 10s"),
        ("--ring 10m --ring-size 1m", "a ring needs at least 16m"),
        ("--ring 10m --on-stall often", "'often' is not a condition: it is not a duration"),
        ("--ring 10m --on-stall psi:disk>5%", "the resource is one of cpu, io, memory, irq, not 'disk'"),
        ("--ring 10m --on-stall counter:x>5", "the rate is given per second: N/s"),
        ("--ring 10m --on-stall 5s --no-trace", "a stall of 5.00 s needs tracing, which --no-trace turns off"),
        ("--ring 10m --interval 5s", "at most 2.5s"),
        ("--ring 10m --on-stall-exec /nonexistent/program", "no such file"),
        ("--ring 10m --memory 1g", "cannot be used with"),
        ("--on-stall 5s", "--ring"),
    ] {
        let ended = run(&format!("record --out {} {words}", directory.display())).expect_code(2);
        assert!(ended.stderr.contains(why), "{words}: {}", ended.stderr);
        assert!(!directory.exists(), "{words}");
    }
    let refused = run(&format!("record --ring 10s --out {}", theirs.display())).expect_code(2);
    assert!(refused.error().contains("neither empty nor a flight recorder's"), "{}", refused.error());
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
}

//! `funclat` of real functions: by fexit and by kprobe, in the kernel itself and in a module.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::stage::{Disk, Ended, Running, number, run};

const SYNCS: usize = 12;
/// The system call itself: compilers copy what it calls into it.
const FSYNC: &str = if cfg!(target_arch = "x86_64") { "__x64_sys_fsync" } else { "__arm64_sys_fsync" };

fn start(words: &str) -> Running {
    let mut timing = Running::start(&format!("funclat {words}"));
    timing.wait_until("the timing begins", |program| program.stderr().contains("press Ctrl-C to stop"));
    timing
}

fn stop(timing: Running) -> Ended {
    timing.signal(Signal::INT);
    timing.wait().expect_code(0)
}

/// Writes and syncs a file of that disk, [`SYNCS`] times.
fn sync(disk: &Disk) {
    let mut file = File::create(disk.path().join("synced")).unwrap();
    for _ in 0..SYNCS {
        file.write_all(&[1; 4096]).unwrap();
        file.sync_all().unwrap();
    }
}

fn timed_syncs(function: &str, method: &str) -> Value {
    let disk = Disk::xfs();
    let timing = start(&format!("{function} --method {method} --json --pid {}", std::process::id()));
    sync(&disk);
    let document = stop(timing).document();
    println!("{document:#}");
    assert_eq!(document["what"], function);
    assert_eq!(number(&document, "/groups/0/count"), SYNCS as f64);
    assert_eq!(document["calls"]["open"], 0);
    assert!(number(&document, "/groups/0/min_ns") > 1_000.0, "a sync takes time");
    document
}

#[test]
fn a_function_of_the_kernel_is_timed_by_fexit() {
    let document = timed_syncs(FSYNC, "fexit");
    assert_eq!(document["method"], "fentry and fexit");
}

#[test]
fn a_function_of_the_kernel_is_timed_by_kprobe() {
    let document = timed_syncs(FSYNC, "kprobe");
    assert_eq!(document["method"], "kprobe and kretprobe");
}

#[test]
fn a_function_of_a_module_is_timed_by_fexit() {
    // Since Linux 5.11.
    if !Path::new("/sys/kernel/btf/xfs").exists() {
        println!("skipped: the kernel has no types of modules");
        return;
    }
    timed_syncs("xfs_file_fsync", "fexit");
}

#[test]
fn a_function_of_a_module_is_timed_by_kprobe() {
    timed_syncs("xfs_file_fsync", "kprobe");
}

#[test]
fn the_best_method_is_chosen() {
    let ended = run("funclat vfs_read --runtime 300ms --json").expect_code(0);
    assert_eq!(ended.document()["method"], "fentry and fexit");
}

/// The kernel's allocation of an object has another name since 6.10.
fn allocation() -> &'static str {
    let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap();
    let is_new = symbols.lines().any(|line| line.split_ascii_whitespace().nth(2) == Some("kmem_cache_alloc_noprof"));
    if is_new { "kmem_cache_alloc_noprof" } else { "kmem_cache_alloc" }
}

/// Calls of `mutex_lock` and similar functions nest and come from every context; begins and ends must still be paired.
#[test]
fn a_function_that_all_tasks_call_at_once_is_paired() {
    let function = allocation();
    for method in ["fexit", "kprobe"] {
        let disk = Disk::xfs();
        let timing = start(&format!("{function} --method {method} --json --unit ns"));
        sync(&disk);
        let document = stop(timing).document();
        println!("{method}: {:#}", document["calls"]);
        let (begun, ended) = (number(&document, "/calls/begun"), number(&document, "/calls/ended"));
        assert!(begun > 50.0 && ended >= begun * 0.99 && ended <= begun, "{ended} of {begun}");
        assert!(number(&document, "/calls/ends_alone") <= 0.01 * begun);
    }
}

/// The kernel forbids probes on functions that handle probes.
#[test]
fn a_function_that_no_probe_may_be_set_on_is_refused_with_reasons() {
    for function in ["notify_die", "__kprobes_text_start"] {
        let ended = run(&format!("funclat {function} --runtime 200ms")).expect_code(3);
        println!("{}", ended.error());
        for part in [function, "fentry and fexit: ", "kprobe: no probe can be set there", "another function"] {
            assert!(ended.error().contains(part), "{part}: {}", ended.error());
        }
    }
}

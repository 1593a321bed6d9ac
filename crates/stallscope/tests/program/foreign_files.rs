//! Files that people have from other tools, given to the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::stage::{Disk, Frozen, folder, is_root, run};

const FIO: &str = include_str!("../../../compare/src/foreign/samples/fio_unified.json");

/// A file that is cut off ends neither a directory of runs nor the comparison.
#[test]
fn a_damaged_file_does_not_end_a_directory() {
    let folder = folder();
    for side in ["a", "b"] {
        fs::create_dir(folder.path().join(side)).unwrap();
        fs::write(folder.path().join(side).join("1.json"), FIO).unwrap();
        fs::write(folder.path().join(side).join("2.json"), &FIO[..900]).unwrap();
    }
    let ended = run(&format!("compare --json {}", folder.path().display()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("left out: ").count(), 2, "{}", ended.stderr);
    assert!(ended.stdout.contains("mixed.p50"), "{}", ended.stdout);
}

/// Two writers to a frozen file system, collected from /proc as people do.
#[test]
fn stacks_of_proc_show_a_frozen_file_system() {
    if !is_root("freezing a file system") {
        return;
    }
    let disk = Disk::ext4(64 << 20);
    let directory = disk.path();
    let frozen = Frozen::new(directory);
    let writers: Vec<_> =
        ["a", "b"].map(|name| Command::new("touch").arg(directory.join(name)).spawn().unwrap()).into_iter().collect();
    let blocked = |pid: u32| {
        let stack = fs::read_to_string(format!("/proc/{pid}/stack")).unwrap_or_default();
        stack.contains("mnt_want_write").then_some(stack)
    };
    let stacks = (0..200).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        writers.iter().map(|writer| Some((writer.id(), blocked(writer.id())?))).collect::<Option<Vec<_>>>()
    });
    drop(frozen);
    writers.into_iter().for_each(|mut writer| drop(writer.wait()));
    let text: String =
        stacks.unwrap().iter().map(|(pid, stack)| format!("==> /proc/{pid}/stack <==\n{stack}\n")).collect();
    let file = directory.join("stacks");
    fs::write(&file, text).unwrap();
    let document: Value = serde_json::from_str(&run(&format!("hung --json {}", file.display())).stdout).unwrap();
    assert_eq!(document["roots"][0]["class"], "halted", "{document:#}");
    assert_eq!(document["tasks"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_no_dump_is_refused_with_what_to_collect() {
    let ended = run("hung /etc/passwd");
    assert_eq!(ended.code, Some(2));
    assert!(ended.error().contains("sysrq-trigger"), "{}", ended.stderr);
}

const PERF: &str = "\
dd 7/7 [000] 10.000100: sched:sched_switch: prev_comm=dd prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=swapper/0 \
next_pid=0 next_prio=120
\tffffffff821f8b58 __schedule+0x618 ([kernel.kallsyms])
\tffffffff81a81234 jbd2_log_wait_commit+0x61 ([kernel.kallsyms])

jbd2/sda-8 9/9 [001] 10.700100: sched:sched_waking: comm=dd pid=7 prio=120 target_cpu=000
swapper 0/0 [000] 10.700200: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
next_comm=dd next_pid=7 next_prio=120
";

/// A recording of perf becomes a run that `explain` takes; what it lacks is said.
#[test]
fn text_of_perf_becomes_a_run() {
    let folder = folder();
    let (file, out) = (folder.path().join("perf.txt"), folder.path().join("run"));
    fs::write(&file, PERF).unwrap();
    let ended = run(&format!("import {} -o {}", file.display(), out.display()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("no system calls") && ended.stderr.contains("no block events"), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&run(&format!("explain --json {}", out.display())).stdout).unwrap();
    let text = document.to_string();
    assert!(text.contains("journal_commit") || text.contains("\"journal\""), "{document:#}");
}

#[test]
fn damaged_recordings_are_refused_with_the_reason() {
    let folder = folder();
    for (begin, remedy) in [
        (&b"PERFILE2\0\0\0\0"[..], "cut off in its header"),
        (b"\x17\x08Dtracing6\0\0\x08\0\x10\0\0", "cut off"),
        (b"hello\n", "sched_switch"),
    ] {
        let file = folder.path().join("recording");
        fs::write(&file, begin).unwrap();
        let ended = run(&format!("import {} -o {}", file.display(), folder.path().join("x").display()));
        assert_eq!(ended.code, Some(2));
        assert!(ended.error().contains(remedy), "{}", ended.stderr);
    }
}

/// A recording in the tests of crate ingest.
fn recording(folder: &Path, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/tests/data").join(format!("{name}.zst"));
    let plain = folder.join(name);
    fs::write(&plain, zstd::decode_all(fs::File::open(path).unwrap()).unwrap()).unwrap();
    plain
}

/// The same recording as `perf.data` and as text: the same requests.
#[test]
fn a_recording_of_perf_becomes_a_run_and_a_block_trace() {
    let folder = folder();
    let file = |name: &str| recording(folder.path(), name);
    let (binary, text) = (file("perf.data"), file("perf-script.txt"));
    let out = folder.path().join("run");
    run(&format!("import --slower-than 1ms {} -o {}", binary.display(), out.display())).expect_code(0);
    let explained = run(&format!("explain --json {}", out.display())).document();
    assert_eq!(explained["classes"][0]["operation"], "fdatasync", "{}", explained["classes"]);
    let found = |path: &Path| run(&format!("blk --json {}", path.display())).expect_code(0).document();
    let (of_binary, of_text) = (found(&binary), found(&text));
    assert_eq!(of_binary["all"]["phases"]["d2c"]["count"], 44);
    for key in ["all", "devices", "kinds"] {
        assert_eq!(of_binary[key], of_text[key], "{key}");
    }
    let both = run(&format!("blk {} {}", binary.display(), text.display())).expect_code(2);
    assert!(both.error().contains("read alone"), "{}", both.stderr);
}

/// The same for trace-cmd, whose file has the names of the kernel's functions.
#[test]
fn a_recording_of_trace_cmd_becomes_a_run_and_a_block_trace() {
    let folder = folder();
    for name in ["trace", "trace-v6"] {
        let binary = recording(folder.path(), &format!("{name}.dat"));
        let text = recording(folder.path(), &format!("{name}-report.txt"));
        let out = folder.path().join(name);
        let imported = run(&format!("import --slower-than 1ms {} -o {}", binary.display(), out.display()));
        assert_eq!(imported.code, Some(0), "{}", imported.stderr);
        assert!(!imported.stderr.contains("no names") && !imported.stderr.contains("no stacks"), "{}", imported.stderr);
        let explained = run(&format!("explain --json {}", out.display())).document();
        let mut classes = explained["classes"].as_array().unwrap().iter();
        assert!(classes.any(|class| class["operation"] == "fdatasync"), "{}", explained["classes"]);
        let found = |path: &Path| run(&format!("blk --json {}", path.display())).expect_code(0).document();
        let (of_binary, of_text) = (found(&binary), found(&text));
        assert_eq!(of_binary["damage"]["counts"], of_text["damage"]["counts"]);
        for key in ["all", "devices", "kinds"] {
            assert_eq!(of_binary[key], of_text[key], "{key}");
        }
    }
}

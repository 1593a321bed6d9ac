//! Block requests, read by blkparse and btt.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{export, output_of, recorded};
use crate::stage::{Disk, checked, folder, is_root};

#[test]
fn blkparse_and_btt_read_every_request() {
    if !is_root("recording block requests") {
        return;
    }
    if Command::new("blkparse").arg("-V").output().is_err() {
        return println!("skipped: reading a blktrace stream needs blkparse and btt (package blktrace)");
    }
    let folder = folder();
    let run = recorded(folder.path());
    let output = folder.path().join("run.blktrace.0");
    export(&run, "blktrace", &output).expect_code(0);
    let dump = folder.path().join("dump");
    // blkparse reads and writes below its current directory.
    let text = output_of(Command::new("blkparse").current_dir(folder.path()).args(["-q", "-i", "run", "-d", "dump"]));
    let requests = checked(&run)["rows"]["requests"].as_u64().unwrap();
    let completions = text.lines().filter(|line| line.split_whitespace().nth(5) == Some("C")).count() as u64;
    assert_eq!(completions, requests);
    let moments: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(3)).collect();
    assert!(moments.is_sorted_by_key(|at| at.replace('.', "").parse::<u64>().unwrap_or(u64::MAX)));
    let overview = output_of(Command::new("btt").current_dir(folder.path()).arg("-i").arg(&dump));
    println!("{overview}");
    let d2c = overview.lines().find(|line| line.starts_with("D2C ")).expect("time at the device");
    let counted: u64 = d2c.split_whitespace().last().unwrap().parse().unwrap();
    assert!(counted > 0 && counted <= requests, "{d2c}");
}

/// Two disks at once: nothing is lost in what is exported, and fio replays every bio of it.
#[test]
fn the_requests_of_two_disks_are_read_back_and_replayed() {
    if !is_root("recording block requests") {
        return;
    }
    let folder = folder();
    let (one, other) = (Disk::ext4(64 << 20), Disk::ext4(64 << 20));
    let run = folder.path().join("run");
    let write = |disk: &Disk| {
        format!("dd if=/dev/zero of={}/x bs=64k count=100 oflag=direct status=none", disk.path().display())
    };
    let both = format!("{} & {}; wait", write(&one), write(&other));
    let recorded = Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .args(["record", "-q", "--requests", "all", "--out", run.to_str().unwrap(), "--", "bash", "-c", &both])
        .status();
    assert!(recorded.unwrap().success());
    let output = folder.path().join("x.blk");
    export(&run, "blktrace", &output).expect_code(0);
    let document = |path: &Path| -> Value {
        let ended = crate::stage::run(&format!("blk --json {}", path.display())).expect_code(0);
        serde_json::from_str(&ended.stdout).unwrap()
    };
    let (of_run, of_export) = (document(&run), document(&output));
    assert_eq!(of_export["lost"]["events"], 0);
    for key in ["events", "all", "devices", "kinds"] {
        assert_eq!(of_run[key], of_export[key], "{key}");
    }
    let count = |of: &Value| of["count"].as_u64().unwrap();
    // Disks of other tests are discarded meanwhile.
    let is_discard = |kind: &&Value| kind["rwbs"].as_str().unwrap().starts_with('D');
    let discards = of_export["kinds"].as_array().unwrap().iter().filter(is_discard).map(|kind| count(&kind["q2c"]));
    replay(&output, folder.path(), count(&of_export["all"]["phases"]["q2c"]) - discards.sum::<u64>());
}

/// All but discards, which a regular file refuses.
fn replay(trace: &Path, folder: &Path, bios: u64) {
    if Command::new("fio").arg("--version").output().is_err() {
        return println!("skipped: replaying needs fio");
    }
    // Sparse, and larger than any disk whose sectors are in the trace.
    let target = folder.join("target");
    std::fs::File::create(&target).unwrap().set_len(8 << 40).unwrap();
    let log = format!("--read_iolog={}", trace.display());
    let (file, redirect) =
        (format!("--filename={}", target.display()), format!("--replay_redirect={}", target.display()));
    let options =
        ["--name=replay", "--replay_no_stall=1", "--ioengine=psync", "--output-format=json", "--replay_skip=trim"];
    let ended = output_of(Command::new("fio").args(options).args([log, file, redirect]));
    let report: Value = serde_json::from_str(&ended[ended.find('{').unwrap()..]).unwrap();
    let done = |direction: &str| report["jobs"][0][direction]["total_ios"].as_u64().unwrap();
    assert_eq!(report["jobs"][0]["error"], 0);
    assert_eq!(done("read") + done("write") + done("trim") + done("sync"), bios);
}

/// fio does to another disk what the run did to its own.
#[test]
fn a_job_of_fio_replays_the_requests() {
    if !is_root("recording block requests") {
        return;
    }
    let folder = folder();
    let disk = Disk::ext4(64 << 20);
    let run = folder.path().join("run");
    let writes =
        format!("dd if=/dev/zero of={}/x bs=64k count=100 oflag=direct,sync status=none", disk.path().display());
    let status = Command::new(env!("CARGO_BIN_EXE_stallscope"))
        .args(["record", "-q", "--requests", "all", "--out", run.to_str().unwrap(), "--", "sh", "-c", &writes])
        .status();
    assert!(status.unwrap().success());
    let output = folder.path().join("replay");
    export(&run, "fio", &output).expect_code(0);
    let device = std::fs::canonicalize(format!("/sys/dev/block/{}", disk.number())).unwrap();
    let device = device.file_name().unwrap().to_str().unwrap();
    let iolog = std::fs::read_to_string(output.join(format!("{device}.iolog"))).unwrap();
    let actions = |action: &str| iolog.lines().filter(|line| line.split(' ').nth(2) == Some(action)).count() as u64;
    println!("{}", std::fs::read_to_string(output.join("replay.fio")).unwrap());
    assert!(actions("write") >= 100 && actions("sync") > 0, "{iolog}");
    if Command::new("fio").arg("--version").output().is_err() {
        return println!("skipped: replaying needs fio");
    }
    let refused = Command::new("fio").current_dir(&output).arg("replay.fio").output().unwrap();
    assert!(!refused.status.success() || refused.stdout.is_empty(), "a target is named by the environment alone");
    let target = folder.path().join("target");
    std::fs::File::create(&target).unwrap().set_len(64 << 20).unwrap();
    let report = output_of(Command::new("fio").current_dir(&output).env(format!("TARGET_{device}"), &target).args([
        "replay.fio",
        "--output-format=json",
        &format!("--section={device}"),
    ]));
    let report: Value =
        serde_json::from_str(&report[report.find('{').unwrap()..report.rfind('}').unwrap() + 1]).unwrap();
    let job = &report["jobs"][0];
    let done = |direction: &str| job[direction]["total_ios"].as_u64().unwrap();
    assert_eq!(job["error"], 0);
    assert_eq!((done("read"), done("write"), done("sync")), (actions("read"), actions("write"), actions("sync")));
}

#[test]
fn a_run_without_requests_is_refused() {
    let folder = folder();
    let out = folder.path().join("run");
    crate::stage::run(&format!("record --no-trace --runtime 300ms --interval 100ms -q --out {}", out.display()))
        .expect_code(0);
    let ended = export(&out, "blktrace", &folder.path().join("x")).expect_code(2);
    assert!(ended.error().contains("--requests all"), "{}", ended.error());
}

//! `simulate sched --trace`: a recording of this program or of a block tracer, under other schedulers.

use std::path::{Path, PathBuf};

use archive::Run;
use model::block::Operation;
use model::stall::RequestRecord;
use serde_json::Value;

use crate::stage::{Disk, folder, is_root, number, run};

const LOAD: &str = "randrw --mix 70 --threads 4 --file-size 8m --block-size 4k --direct --runtime 2s --warmup 0s";

fn requests(run_directory: &Path) -> Vec<RequestRecord> {
    Run::open(run_directory).unwrap().requests().flat_map(Result::unwrap).collect()
}

/// The prediction for a run or trace.
fn predicted(path: &Path, options: &str) -> Value {
    let words = format!("simulate sched --json {options} --trace {}", path.display());
    let document = run(&words).expect_code(0).document();
    assert_eq!(document["simulated"], true);
    document
}

/// Requests of a class, as recorded or as predicted for a policy.
fn class<'a>(rows: &'a Value, class: &str) -> &'a Value {
    rows.as_array().unwrap().iter().find(|row| row["class"] == class).unwrap()
}

fn policies(document: &Value) -> Vec<&str> {
    let all = document["prediction"]["predicted"].as_array().unwrap();
    all.iter().map(|one| one["policy"].as_str().unwrap()).collect()
}

fn trace(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../blktrace/tests/data").join(name)
}

#[test]
fn a_recorded_run_is_replayed_under_each_scheduler_and_checked_against_its_own() {
    if !is_root("recording block requests") {
        return;
    }
    // In memory: other activity on the machine's disk must not leave too few requests.
    let folder = folder();
    let disk = Disk::ext4_in(folder.path(), 128 << 20);
    let out = folder.path().join("run");
    run(&format!("run {LOAD} --requests all -q --out {} {}", out.display(), disk.path().display())).expect_code(0);
    let document = predicted(&out, &format!("--device {}", disk.number()));
    let all = requests(&out);
    let ours = |request: &&RequestRecord| request.device.to_string() == disk.number().replace(':', ",");
    let count = all.iter().filter(ours).count() as f64;
    assert_eq!(number(&document, "/requests_of_other_devices"), all.len() as f64 - count);
    assert_eq!(number(&document, "/prediction/requests") + number(&document, "/prediction/unusable"), count);
    let under = document["recorded_under"].as_str().expect("a scheduler of today").to_owned();
    let mut expected = vec!["none", "deadline", "bfq"];
    expected.retain(|policy| *policy != under);
    let mut others = policies(&document);
    others.retain(|policy| *policy != under);
    assert_eq!(others, expected);
    let reads = all.iter().filter(ours).filter(|request| request.kind.operation() == Operation::Read).count();
    let recorded = number(class(&document["prediction"]["recorded"], "read"), "/count");
    assert!(recorded > 100.0 && recorded <= reads as f64, "{recorded} of {reads}");
    for policy in document["prediction"]["predicted"].as_array().unwrap() {
        assert_eq!(policy["is_check"].as_bool(), Some(policy["policy"] == *under));
        let row = class(&policy["latencies"], "read");
        assert!(number(row, "/count") > 0.0 && number(row, "/p50_ns") <= number(row, "/p90_ns"), "{row}");
    }
    let text = run(&format!("simulate sched --device {} --trace {}", disk.number(), out.display())).expect_code(0);
    assert!(text.stdout.contains("SIMULATED") && text.stdout.contains("Check: "), "{}", text.stdout);
    assert!(!text.stderr.contains("--requests all"), "{}", text.stderr);
}

#[test]
fn a_run_of_slow_requests_only_is_replayed_with_a_warning_and_one_of_none_is_refused() {
    if !is_root("recording block requests") {
        return;
    }
    // In memory: other activity on the machine's disk must not leave too few requests.
    let folder = folder();
    let disk = Disk::ext4_in(folder.path(), 128 << 20);
    let (slow, none) = (folder.path().join("slow"), folder.path().join("none"));
    // Few enough to fit in the kernel's ring, as each is slow.
    let paced = format!("{LOAD} --rate 250 --slower-than 1ns");
    run(&format!("run {paced} -q --out {} {}", slow.display(), disk.path().display())).expect_code(0);
    let ended = run(&format!("simulate sched --trace {}", slow.display())).expect_code(0);
    assert!(ended.stderr.contains("the replay lacks the rest"), "{}", ended.stderr);
    run(&format!("record --no-trace --runtime 300ms --interval 100ms -q --out {}", none.display())).expect_code(0);
    let ended = run(&format!("simulate sched --trace {}", none.display())).expect_code(2);
    assert!(ended.error().contains("has no block requests"), "{}", ended.error());
}

/// The counts are blkparse's: 21,828 reads and 23,044 writes issued to the device, 10 of them asynchronous.
#[test]
fn a_block_trace_of_ftrace_is_replayed() {
    let document = predicted(&trace("loop-xfs.bin.zst"), "--policy none,deadline,bfq,cfq");
    assert_eq!(policies(&document), ["none", "deadline", "bfq", "cfq"]);
    assert!(document["recorded_under"].is_null());
    // The loop device accepted all requests. CFQ idles anyway, and a smaller depth leaves a choice.
    let same = predicted(&trace("loop-xfs.bin.zst"), "--policy none,deadline");
    assert_eq!((same["policies_differ"].as_bool(), document["policies_differ"].as_bool()), (Some(false), Some(true)));
    let fewer = predicted(&trace("loop-xfs.bin.zst"), "--policy none,bfq --set depth=2");
    assert_eq!((fewer["policies_differ"].as_bool(), number(&fewer, "/prediction/depth")), (Some(true), 2.0));
    let all = number(&document, "/prediction/requests") + number(&document, "/prediction/unusable");
    assert!((21_828.0..=21_828.0 + 23_054.0 + 3_717.0).contains(&all), "{all}");
    assert!(number(&document, "/prediction/depth") >= 1.0);
    for policy in document["prediction"]["predicted"].as_array().unwrap() {
        for kind in ["read", "sync write"] {
            assert!(number(class(&policy["latencies"], kind), "/p99_ns") > 0.0, "{kind}: {policy}");
        }
    }
}

#[test]
fn a_dump_of_blkparse_is_replayed_and_a_device_can_be_chosen() {
    let path = trace("nvme-merged.blktrace.0");
    let document = predicted(&path, "--device 259:0");
    assert_eq!(document, predicted(&path, "--device 259:0"), "the same record, the same prediction");
    assert_eq!((document["device"].as_str(), number(&document, "/prediction/requests")), (Some("259,0"), 963.0));
    assert_eq!(number(class(&document["prediction"]["recorded"], "read"), "/count"), 963.0);
    for (words, message) in [
        (format!("sched --trace {} --device 8:0", path.display()), "devices: 259,0 (963)"),
        (format!("sched --trace {}.gone", path.display()), "gone"),
        (format!("sched --trace {}", env!("CARGO_MANIFEST_DIR").to_owned() + "/Cargo.toml"), "Cargo.toml"),
        (format!("osc --trace {}", path.display()), "'sched' does"),
        (format!("sched --trace {} --out x", path.display()), "--out"),
    ] {
        let ended = run(&format!("simulate {words}")).expect_code(2);
        assert!(ended.stderr.contains(message), "{words}: {}", ended.stderr);
    }
}

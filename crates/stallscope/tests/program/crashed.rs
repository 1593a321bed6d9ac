//! A run with stamped data is killed; its durable blocks are verified afterwards.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use load::stamp;
use load::write_ledger::WriteLedger;
use rustix::process::Signal;
use serde_json::Value;

use crate::stage::kernel::{children_of, is_gone};
use crate::stage::{Disk, Running, errors, folder, is_root, run};

const LOAD: &str = "randrw --verify --threads 2 --file-size 2m --fsync 5 --runtime 10m --keep --no-trace";

/// Starts the load, and kills it and the program when that number of blocks is durable.
fn killed(more: &str, out: &Path, data: &Path) -> WriteLedger {
    let mut program = Running::start(&format!("run {LOAD} {more} --out {} {}", out.display(), data.display()));
    let pid = program.pid();
    let ledger = out.join(load::write_ledger::LEDGER);
    let acknowledged = || {
        WriteLedger::open(&ledger).ok().filter(WriteLedger::is_filled).map_or(0, |ledger| ledger.totals().acknowledged)
    };
    program.wait_until("some writes are durable", |_| acknowledged() > 300);
    let load = children_of(pid);
    program.signal(Signal::KILL);
    program.wait();
    assert!(!load.is_empty() && load.iter().all(|&child| is_gone(child)));
    WriteLedger::open(&ledger).unwrap()
}

/// Verifies, and returns the summary.
fn verified(code: i32, out: &Path, data: &Path) -> Value {
    let words = format!("run randrw --verify-after-crash --no-trace --json --out {} {}", out.display(), data.display());
    let ended = run(&words).expect_code(code);
    assert!(ended.stderr.contains("acknowledged as durable"), "{}", ended.stderr);
    ended.document()
}

fn path_of(data: &Path, number: u64) -> PathBuf {
    data.join(format!("stallscope-randrw/file/0000/{number:03}"))
}

#[test]
fn durable_blocks_of_a_killed_run_are_intact() {
    for engine in ["--mix 30", "--mix 30 --engine io_uring --depth 8", "--mix 30 --sync o_dsync --direct"] {
        let (folder, data) = (folder(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        let direct_is_possible = !engine.contains("--direct") || !is_on_tmpfs(data.path());
        if !direct_is_possible {
            continue;
        }
        killed(engine, &folder.path().join("run"), data.path());
        let document = verified(0, &folder.path().join("verified"), data.path());
        assert_eq!(errors(&document), 0, "{document:#}");
        assert_eq!(document["operations"]["verify"]["bytes"], 4 << 20, "{engine}");
        let again = verified(0, &folder.path().join("again"), data.path());
        assert_eq!(again["operations"]["verify"]["bytes"], 4 << 20, "the data stays");
    }
}

fn is_on_tmpfs(path: &Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|stat| stat.f_type == 0x0102_1994)
}

/// Every kind of damage, to blocks whose last write was acknowledged.
#[test]
fn damage_after_a_crash_is_named_with_file_and_offset() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let ledger = killed("--mix write", &folder.path().join("run"), data.path());
    let account = ledger.file_ledger(1);
    let is_settled = |block: &u64| {
        let expected = account.expected_after_crash(*block);
        expected.least > 0 && expected.least == expected.most
    };
    let blocks: Vec<u64> = (0..ledger.shape().blocks).filter(is_settled).take(5).collect();
    let [wrong, stale, torn, misplaced, source] = blocks[..] else { panic!("too few blocks are settled: {blocks:?}") };
    let file = File::options().read(true).write(true).open(path_of(data.path(), 1)).unwrap();
    let older = |block: u64| {
        let mut bytes = vec![0; 4096];
        let generation = account.expected_after_crash(block).least - 1;
        stamp::put(&mut bytes, block * 4096, account.owner(), generation);
        bytes
    };
    file.write_all_at(&[0xa5; 4096], wrong * 4096).unwrap();
    file.write_all_at(&older(stale), stale * 4096).unwrap();
    file.write_all_at(&older(torn)[2048..], torn * 4096 + 2048).unwrap();
    let mut bytes = vec![0; 4096];
    file.read_exact_at(&mut bytes, source * 4096).unwrap();
    file.write_all_at(&bytes, misplaced * 4096).unwrap();
    let document = verified(1, &folder.path().join("verified"), data.path());
    let found: Vec<(String, u64, String)> = document["failed"].as_array().unwrap().iter().map(damage).collect();
    let path = path_of(data.path(), 1).display().to_string();
    for (fault, offset) in [
        ("wrong", wrong * 4096),
        ("stale", stale * 4096),
        ("torn", torn * 4096 + 2048),
        ("misplaced", misplaced * 4096),
    ] {
        assert!(found.contains(&(path.clone(), offset, fault.to_owned())), "{fault} at {offset} in {found:?}");
    }
    assert_eq!((found.len(), errors(&document)), (4, 4), "{found:?}");
}

fn damage(failed: &Value) -> (String, u64, String) {
    let text = |key: &str| failed[key].as_str().unwrap_or_default().to_owned();
    (text("path"), failed["offset_bytes"].as_u64().unwrap_or(u64::MAX), text("fault"))
}

/// The file system is shut down as by a power loss, which loses the page cache. Then it is mounted again.
#[test]
fn durable_blocks_survive_the_loss_of_the_page_cache() {
    if !is_root("a file system that loses what is not durable") {
        return;
    }
    let (folder, disk) = (folder(), Disk::xfs());
    killed("--mix write", &folder.path().join("run"), disk.path());
    let device = device_of(disk.path());
    tool("xfs_io", &["-x", "-c", "shutdown", &disk.path().display().to_string()]);
    tool("umount", &[&disk.path().display().to_string()]);
    tool("mount", &[&device, &disk.path().display().to_string()]);
    let document = verified(0, &folder.path().join("verified"), disk.path());
    assert_eq!(errors(&document), 0, "{document:#}");
    assert_eq!(document["operations"]["verify"]["bytes"], 4 << 20);
}

fn device_of(mount: &Path) -> String {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == mount.to_str());
    line.and_then(|line| line.split(' ').next()).expect("it is mounted").to_owned()
}

fn tool(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_run_that_cannot_be_verified_is_reported() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let words = |out: &str| {
        let out = folder.path().join(out);
        format!("run randrw --verify-after-crash --no-trace --out {} {}", out.display(), data.path().display())
    };
    let nothing = run(&words("1")).expect_code(3);
    assert!(nothing.error().contains("no data to verify"), "{}", nothing.error());
    let kept = format!(
        "run randrw --keep --runtime 100ms --file-size 1m --no-trace --out {}",
        folder.path().join("2").display()
    );
    run(&format!("{kept} {}", data.path().display())).expect_code(0);
    let unstamped = run(&words("3")).expect_code(3);
    assert!(unstamped.error().contains("without --verify"), "{}", unstamped.error());
    let other = words("4").replace("randrw", "simoop");
    assert!(run(&other).expect_code(2).error().contains("does not stamp its data"));
}

//! Advice on stalls that are made here.

use std::fs;
use std::path::PathBuf;

use rig::{Entry, Register, Resource};
use serde_json::Value;

use crate::stage::disk::text;
use crate::stage::{Disk, Running, folder, is_root, number, run};

const MEMORY: &str = "/sys/fs/cgroup/memory";
const RULES: &str = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device";

/// A memory cgroup and a read limit on a disk; the next start removes the limit of a test that was killed.
struct Limited {
    cgroup: PathBuf,
    register: Register,
    entries: Vec<Entry>,
    number: String,
}

impl Limited {
    fn new(disk: &Disk, memory: &str, bytes_per_s: u64) -> Limited {
        let cgroup = PathBuf::from(format!("{MEMORY}/stallscope-advising-{}", std::process::id()));
        fs::create_dir(&cgroup).unwrap();
        fs::write(cgroup.join("memory.limit_in_bytes"), memory).unwrap();
        let ((register, _), number) = (Register::open().unwrap(), disk.number().to_owned());
        let rule = Resource::ThrottleRule { file: RULES.into(), device: number.clone(), value: bytes_per_s };
        let entries = vec![register.enter(rule).unwrap()];
        fs::write(RULES, format!("{number} {bytes_per_s}")).unwrap();
        Limited { cgroup, register, entries, number }
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let _ = fs::write(RULES, format!("{} 0", self.number));
        self.register.undo_all(std::mem::take(&mut self.entries));
        let _ = fs::remove_dir(&self.cgroup);
    }
}

/// A file of 16 MiB, read again and again in a memory cgroup of 8 MiB: a faster disk would read it again and again,
/// too.
#[test]
fn a_memory_limit_that_evicts_what_is_read_again_is_advised_to_be_raised() {
    if !is_root("a memory cgroup") || !PathBuf::from(RULES).exists() || !PathBuf::from(MEMORY).exists() {
        println!("skipped: needs root and cgroup version 1");
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(64 << 20));
    let file = format!("{}/file", text(disk.path()));
    fs::write(&file, vec![7; 16 << 20]).unwrap();
    let limited = Limited::new(&disk, "8M", 12 << 20);
    let join = format!("echo 0 > {}/cgroup.procs", limited.cgroup.display());
    // Clean, and out of the page cache: other pages would not be this cgroup's.
    let clean = format!("sync -f {file}; dd if={file} iflag=nocache count=0 2>/dev/null");
    let reads = format!("for round in 1 2 3 4; do dd if={file} of=/dev/null bs=256k; done 2>/dev/null");
    let (out, load) = (folder.path().join("run"), format!("{clean}; {join}; {reads}"));
    let out = format!("--out={}", text(&out));
    Running::start_with(&["record", &out, "--interval=200ms", "--slower-than=10ms", "-q", "--", "sh", "-c", &load])
        .wait()
        .expect_code(0);
    let document = run(&format!("explain --json {}", folder.path().join("run").display())).expect_code(0).document();
    let choices = document["what_if"]["choices"].as_array().unwrap();
    let is_refault = |choice: &&Value| choice["change"]["edge"] == "refault";
    let raised = choices.iter().find(is_refault).unwrap_or_else(|| panic!("{choices:#?}"));
    let share = number(raised, "/change/share");
    println!("{share:.2} of what it read was read again");
    // Three of four rounds; counters are sampled.
    assert!((0.4..=1.0).contains(&share), "{share}");
    let cgroup = limited.cgroup.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(raised["target"]["cgroup"], format!("/{cgroup}"));
    let help = document["answer"]["fix"]["lines"].to_string();
    assert!(help.contains("raise the memory limit fourfold"), "{help}");
}

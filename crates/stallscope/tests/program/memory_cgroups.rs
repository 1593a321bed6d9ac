//! The memory cgroup and the slow device of a load: they work, and they are removed afterwards.

use crate::stage::kernel::{cgroups_of, is_slowed};
use crate::stage::{Disk, Running, SMALL, folder, is_root, number, run};

#[test]
fn a_memory_cgroup_causes_reclaim_and_is_removed_afterwards() {
    if !is_root("a memory cgroup") {
        return;
    }
    let (folder, disk) = (folder(), Disk::xfs());
    let out = folder.path().join("run");
    let mut program = Running::start(&format!(
        "run simoop {SMALL} --memory 40m --json --out {} {}",
        out.display(),
        disk.path().display()
    ));
    let pid = program.pid();
    program.wait_for_the_run();
    assert_eq!(cgroups_of(pid).len(), 1);
    let document = program.wait().expect_code(0).document();
    let hits = number(&document, "/memory_cgroup/limit_hits_per_s");
    println!("{hits:.1} limit hits per second, {:#}", document["memory_cgroup"]);
    assert!(hits > 0.0);
    let usage = number(&document, "/memory_cgroup/max_usage_bytes");
    assert!(usage > 0.0 && usage <= 40.0 * 1048576.0, "{usage}");
    assert_eq!(number(&document, "/memory_cgroup/limit_bytes"), 40.0 * 1048576.0);
    assert_eq!(cgroups_of(pid), std::collections::BTreeSet::new());
    assert_eq!(disk.names(), [""; 0]);
}

#[test]
fn a_slow_device_is_slow_and_fast_again_afterwards() {
    if !is_root("a slow device") {
        return;
    }
    // In memory, and slow by its limit alone: other activity on the machine's disk must not slow it.
    let folder = folder();
    let disk = Disk::ext4_in(folder.path(), 128 << 20);
    // Durable writes, so that the page cache does not hide the disk.
    let recipe = folder.path().join("durable.toml");
    std::fs::write(&recipe, DURABLE).unwrap();
    let rate = |limit: &str, name: &str| {
        let out = folder.path().join(name);
        let words =
            format!("run {} {limit} --json --out {} {}", recipe.display(), out.display(), disk.path().display());
        let mut program = Running::start(&words);
        let pid = program.pid();
        program.wait_for_the_archive(&out);
        assert_eq!(is_slowed(disk.number()), !limit.is_empty(), "{limit}");
        let document = program.wait().expect_code(0).document();
        assert!(!is_slowed(disk.number()), "the rule is removed");
        assert!(cgroups_of(pid).is_empty());
        number(&document, "/rates/bytes_per_s/mean")
    };
    let (free, slowed) = (rate("", "free"), rate("--disk-bps 1m", "slowed"));
    println!("{:.1} MB/s as it is, {:.1} MB/s slowed to 1 MiB/s", free / 1e6, slowed / 1e6);
    assert!(slowed < free / 2.0 && slowed < 1.6e6, "{slowed} of {free}");
}

const DURABLE: &str = r#"
name = "durable"
about = "durable writes"

[[phase]]
name = "fill"
kind = "fill"

[[phase]]
name = "run"
kind = "run"
duration = "3s"

[files.set]
count = 4
size = "2m"

[[actor]]
name = "writer"
count = 2
work = true

[[actor.step]]
do = "write"
from = "set"
size = "64k"

[[actor.step]]
do = "fsync"
"#;

#[test]
fn an_impossible_memory_cgroup_is_refused_before_anything_is_made() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let out = folder.path().join("run");
    let ended = run(&format!("run simoop {SMALL} --memory 1m --out {} {}", out.display(), data.path().display()));
    let ended = ended.expect_code(3);
    println!("{}", ended.error());
    assert!(!out.exists());
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}

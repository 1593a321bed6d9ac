//! The memory cgroup on cgroup v2. (`memory_cgroups` tests that its `io.max` slows a device.)

use crate::stage::kernel::cgroups_of;
use crate::stage::{Disk, Running, folder, number};

const LIMIT_BYTES: f64 = 24.0 * 1048576.0;

#[test]
fn a_command_in_a_memory_cgroup_stays_within_its_limit() {
    let (folder, disk) = (folder(), Disk::ext4(192 << 20));
    let out = folder.path().join("run");
    let command = format!("dd if=/dev/zero of={} bs=1M count=128 conv=fsync", disk.path().join("file").display());
    let mut program = Running::start(&format!("record --memory 24m --json --out {} -- {command}", out.display()));
    let pid = program.pid();
    program.wait_for_the_archive(&out);
    let cgroup = cgroups_of(pid).pop_first().expect("a memory cgroup was made");
    assert!(cgroup.join("memory.max").exists(), "{} is none of version 2", cgroup.display());
    assert_eq!(std::fs::read_to_string(cgroup.join("memory.max")).unwrap().trim().parse(), Ok(LIMIT_BYTES));
    let document = program.wait().expect_code(0).document();
    println!("{:#}", document["memory_cgroup"]);
    assert_eq!(number(&document, "/memory_cgroup/limit_bytes"), LIMIT_BYTES);
    let usage = number(&document, "/memory_cgroup/max_usage_bytes");
    assert!(usage > LIMIT_BYTES / 2.0 && usage <= LIMIT_BYTES, "{usage}");
    assert!(number(&document, "/memory_cgroup/reclaims_per_s") > 0.0);
    assert!(cgroups_of(pid).is_empty());
}

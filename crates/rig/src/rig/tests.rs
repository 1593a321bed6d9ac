//! Tests against a folder with a fake /proc, /sys and cgroup tree.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Rig, RigRequest};
use crate::{Register, RigError, Roots};

struct Machine {
    folder: tempfile::TempDir,
    register: Register,
}

const V1: &str =
    "31 1 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n32 1 0:35 / /cg/blkio rw - cgroup cgroup rw,blkio\n";
const V2: &str = "31 1 0:32 / /cg rw - cgroup2 cgroup2 rw\n";

/// `files`: path and text. The folder's device is called 8:0.
fn machine(mountinfo: &str, cgroup: &str, files: &[(&str, &str)]) -> Machine {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("proc/self/mountinfo", mountinfo);
    put("proc/self/cgroup", cgroup);
    put("proc/self/stat", &fs::read_to_string("/proc/self/stat").unwrap());
    put("proc/sys/kernel/random/boot_id", "boot\n");
    put("proc/meminfo", "MemTotal:        1048576 kB\nMemFree: 1 kB\n");
    let number = std::os::unix::fs::MetadataExt::dev(&fs::metadata(folder.path()).unwrap());
    let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    put(&format!("sys/dev/block/{number}/dev"), "8:0\n");
    files.iter().for_each(|(path, text)| put(path, text));
    let (register, _) = Register::open_in(&folder.path().join("register"), Roots::at(folder.path())).unwrap();
    Machine { folder, register }
}

impl Machine {
    fn build(&self, memory_bytes: Option<u64>, bps: Option<u64>, iops: Option<u64>) -> Result<Rig, RigError> {
        let directories = vec![self.folder.path().join("not/yet/made")];
        let request = RigRequest { memory_bytes, disk_bytes_per_s: bps, disk_operations_per_s: iops, directories };
        Rig::build(&request, &self.register)
    }

    fn text(&self, path: impl AsRef<Path>) -> String {
        fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

/// A cgroup's files go with its directory in the kernel only.
fn remove(rig: Rig, groups: &[&PathBuf]) {
    for group in groups {
        for file in fs::read_dir(group).unwrap().flatten() {
            fs::remove_file(file.path()).unwrap();
        }
    }
    let removed = rig.remove();
    assert!(removed.iter().all(|outcome| outcome.complete), "{removed:?}");
    assert!(!groups.iter().any(|group| group.exists()));
}

/// Whether the tests' folder is on a block device; a tmpfs is not.
fn on_a_device(result: &Result<Rig, RigError>) -> bool {
    let on = !matches!(result, Err(RigError::NoBlockDevice { .. }));
    if !on {
        println!("skipped: the temporary directory is not on a block device");
    }
    on
}

const V1_FILES: [(&str, &str); 8] = [
    ("cg/memory/slice/cgroup.procs", ""),
    ("cg/blkio/release_agent", ""),
    ("cg/blkio/cgroup.procs", ""),
    ("cg/blkio/blkio.throttle.read_bps_device", ""),
    ("cg/blkio/blkio.throttle.write_bps_device", ""),
    ("cg/blkio/blkio.throttle.read_iops_device", ""),
    ("cg/blkio/blkio.throttle.write_iops_device", ""),
    ("cg/blkio/slice/cgroup.procs", ""),
];

#[test]
fn version_1_limits_memory_below_us_and_the_device_at_the_root() {
    let machine = machine(V1, "4:memory:/slice\n5:blkio:/slice\n", &V1_FILES);
    let rig = machine.build(Some(64 << 20), Some(8 << 20), Some(100));
    if !on_a_device(&rig) {
        return;
    }
    let rig = rig.unwrap();
    let group = rig.memory_v1.clone().unwrap();
    let root = machine.folder.path().join("cg/blkio");
    assert_eq!(group.parent(), Some(machine.folder.path().join("cg/memory/slice").as_path()));
    assert_eq!(machine.text(group.join("memory.limit_in_bytes")), "67108864");
    assert_eq!(machine.text(group.join("memory.swappiness")), "0");
    assert_eq!(machine.text("cg/blkio/blkio.throttle.write_bps_device"), "8:0 8388608");
    assert_eq!(machine.text("cg/blkio/blkio.throttle.read_iops_device"), "8:0 100");
    assert_eq!(rig.cgroup_procs, [group.join("cgroup.procs"), root.join("cgroup.procs")]);
    assert_eq!((rig.blkio_v1.as_ref(), rig.limits.cgroup_version), (Some(&root), Some(1)));
    assert!(rig.limits.cgroup.as_ref().unwrap().starts_with("/slice/stallscope-"));
    remove(rig, &[&group]);
    assert_eq!(machine.text("cg/blkio/blkio.throttle.write_bps_device"), "8:0 0");
}

#[test]
fn another_program_s_rule_is_neither_overwritten_nor_lifted() {
    let mut files = V1_FILES;
    files[6].1 = "9:9 7\n8:0 55\n";
    let machine = machine(V1, "5:blkio:/\n", &files);
    let result = machine.build(None, None, Some(100));
    if !on_a_device(&result) {
        return;
    }
    let error = result.unwrap_err();
    assert!(error.to_string().contains("already has the rule '8:0 55'"), "{error}");
    assert_eq!(machine.text(files[6].0), files[6].1);
    assert_eq!(machine.text(files[5].0), "");
}

#[test]
fn a_rule_changed_by_another_program_is_left_alone() {
    let machine = machine(V1, "5:blkio:/\n", &V1_FILES);
    let result = machine.build(None, Some(1 << 20), None);
    if !on_a_device(&result) {
        return;
    }
    let file = machine.folder.path().join(V1_FILES[3].0);
    fs::write(&file, "8:0 777").unwrap();
    drop(result.unwrap());
    assert_eq!(fs::read_to_string(file).unwrap(), "8:0 777");
}

const V2_FILES: [(&str, &str); 5] = [
    ("cg/cgroup.controllers", "cpu io memory pids\n"),
    ("cg/cgroup.subtree_control", "cpu memory\n"),
    ("cg/user.slice/cgroup.controllers", "cpu memory\n"),
    ("cg/user.slice/cgroup.subtree_control", "memory\n"),
    ("cg/user.slice/me.scope/cgroup.procs", ""),
];

#[test]
fn version_2_limits_both_in_one_cgroup() {
    if !crate::tests::is_root("a cgroup at the root of the hierarchy") {
        return;
    }
    let machine = machine(V2, "0::/user.slice/me.scope\n", &V2_FILES);
    let rig = machine.build(Some(64 << 20), Some(8 << 20), Some(100));
    if !on_a_device(&rig) {
        return;
    }
    let rig = rig.unwrap();
    let group = rig.unified.clone().unwrap();
    assert_eq!(group.parent(), Some(machine.folder.path().join("cg").as_path()));
    assert_eq!(machine.text("cg/cgroup.subtree_control"), "+io");
    assert_eq!(machine.text(group.join("memory.max")), "67108864");
    assert_eq!(machine.text(group.join("memory.swap.max")), "0");
    assert_eq!(machine.text(group.join("io.max")), "8:0 rbps=8388608 wbps=8388608 riops=100 wiops=100");
    assert_eq!(rig.limits.cgroup_version, Some(2));
    assert_eq!(rig.cgroup_procs, [group.join("cgroup.procs")]);
    remove(rig, &[&group]);
    assert_eq!(machine.text("cg/cgroup.subtree_control"), "-io");
}

#[test]
fn a_missing_controller_is_named_with_its_remedy() {
    let lacking = machine(V2, "0::/\n", &[("cg/cgroup.controllers", "cpu pids\n")]);
    let error = lacking.build(Some(64 << 20), None, None).unwrap_err().to_string();
    assert!(error.starts_with("--memory needs the memory controller") && error.contains("CONFIG_MEMCG"), "{error}");
    let unmounted = machine("23 1 8:0 / / rw - ext4 /dev/sda rw\n", "0::/\n", &[]);
    let error = unmounted.build(Some(64 << 20), None, None).unwrap_err().to_string();
    assert!(error.contains("mount -t cgroup2"), "{error}");
}

#[test]
fn useless_limits_are_refused() {
    let machine = machine(V2, "0::/\n", &V2_FILES);
    for (memory, bps, expected) in [
        (Some(1 << 20), None, "--memory 1.00 MiB: the load needs at least 16.0 MiB"),
        (Some(2 << 30), None, "--memory 2.00 GiB: this machine has 1.00 GiB"),
        (None, Some(0), "--disk-bps 0 would stop all I/O"),
    ] {
        let error = machine.build(memory, bps, None).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn without_limits_nothing_is_made() {
    let machine = machine("", "", &[]);
    let rig = machine.build(None, None, None).unwrap();
    assert_eq!((rig.cgroup_procs.len(), rig.limits.cgroup_version), (0, None));
}

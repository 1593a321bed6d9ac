//! Names of the kernel are bytes: mounts, cgroups and processes whose names are not UTF-8 are recorded like others.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rig::{Hierarchies, Roots};

use crate::stage::{Ended, Running, SMALL, folder, is_root, run, shown};

/// Runs the program beside a mount with such a name, in a mount namespace of its own.
fn run_beside(point: &Path, words: &str) -> Ended {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]);
    command.arg("mount -t tmpfs /dev/odd \"$1\" && shift && exec \"$@\"").arg("sh").arg(point);
    command.arg(env!("CARGO_BIN_EXE_stallscope")).args(words.split_whitespace());
    Running::spawn(command).wait()
}

#[test]
fn a_mount_whose_name_is_not_utf8_ends_no_command() {
    if !is_root("mounts") {
        return;
    }
    let folder = folder();
    let point = folder.path().join(OsStr::from_bytes(b"odd \xff\xfe\n"));
    fs::create_dir(&point).unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let load = format!("run simoop {SMALL} -q --memory 64m --disk-bps 64m --out {} /var/tmp", path("load"));
    let loaded = run_beside(&point, &load);
    assert!(matches!(loaded.code, Some(0 | 1)), "{:?} {}", loaded.code, loaded.stderr);
    let recorded = run_beside(&point, &format!("record -q --runtime 1s --interval 100ms --out {}", path("run")));
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    for words in ["doctor", "top --once --window 1s"] {
        let ended = run_beside(&point, words);
        assert!(matches!(ended.code, Some(0 | 1)), "{words}: {:?} {}", ended.code, ended.stderr);
    }
    let text = fs::read_to_string(folder.path().join("run/run.json")).unwrap();
    assert!(text.contains(r"odd \\xff\\xfe\n"), "the mount is named by its bytes: {text}");
}

/// A cgroup, removed when dropped.
struct Cgroup(PathBuf);

impl Drop for Cgroup {
    fn drop(&mut self) {
        let began = std::time::Instant::now();
        while fs::remove_dir(&self.0).is_err() && began.elapsed() < std::time::Duration::from_secs(10) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn a_cgroup_and_a_process_whose_names_are_not_utf8_are_recorded_with_their_names() {
    if !is_root("cgroups") {
        return;
    }
    let found = Hierarchies::detect(&Roots::default()).unwrap();
    let Some(hierarchy) = found.memory.or(found.unified) else { return println!("skipped: no cgroups") };
    let name = [b"stallscope-odd-\xff-".as_slice(), std::process::id().to_string().as_bytes()].concat();
    let group = Cgroup(hierarchy.mount.join(OsStr::from_bytes(&name)));
    fs::create_dir(&group.0).unwrap();
    let folder = folder();
    // A load in that cgroup, and with a name such as that.
    let out = folder.path().join("run");
    let program = folder.path().join(OsStr::from_bytes(b"d\xffd"));
    fs::copy("/bin/dd", &program).unwrap();
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = Command::new("sh");
    command.arg("-c").arg("echo $$ > \"$1/cgroup.procs\" && shift && exec \"$@\"").arg("sh").arg(&group.0);
    command.arg(env!("CARGO_BIN_EXE_stallscope"));
    command
        .args(["record", "-q", "--interval", "100ms", "--slower-than", "10us", "--out"])
        .arg(&out)
        .arg("--")
        .arg(&program);
    command.args(["if=/dev/zero", "bs=64k", "count=16", "conv=fsync", "status=none"]);
    command.arg(OsStr::from_bytes(&[b"of=".as_slice(), data.path().as_os_str().as_bytes(), b"/\xfe"].concat()));
    let ended = Running::spawn(command).wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let explained = run(&format!("explain --json {}", out.display())).document().to_string();
    for part in [r"d\\xffd", r"stallscope-odd-\\xff-", r"/\\xfe"] {
        assert!(explained.contains(part), "{part} is not in {explained}");
    }
    assert!(shown(&out)["workload"].as_str().unwrap().contains(r"d\xffd"));
}

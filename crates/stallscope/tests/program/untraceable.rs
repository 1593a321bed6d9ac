//! A kernel that cannot be traced, as one without BTF: it is recorded all the same, and polls explain what was stuck.

use std::process::Command;
use std::time::Duration;

use crate::stage::{Disk, Frozen, Running, folder, is_root, run};

/// Long enough for several polls.
const FROZEN: Duration = Duration::from_secs(6);

#[test]
fn a_kernel_that_cannot_be_traced_is_explained_by_polls() {
    if !is_root("hiding the kernel's types") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(64 << 20));
    let (out, file) = (folder.path().join("run"), disk.path().join("victim"));
    // libbpf looks for the types there first, and elsewhere only where the kernel's own build is installed.
    let hide = "mount -t tmpfs none /sys/kernel/btf; for at in /boot /lib/modules /usr/lib/modules /usr/lib/debug; \
                do [ ! -d $at ] || mount -t tmpfs none $at; done";
    let record = format!(
        "exec {} record --slower-than 200ms --out {} -- dd if=/dev/zero of={} bs=4k count=1",
        env!("CARGO_BIN_EXE_stallscope"),
        out.display(),
        file.display()
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &format!("{hide}; {record}")]);
    let frozen = Frozen::new(disk.path());
    let mut program = Running::spawn(command);
    program.wait_for_the_archive(&out);
    std::thread::sleep(FROZEN);
    drop(frozen);
    let ended = program.wait().expect_code(0);
    assert!(ended.stderr.contains("BTF"), "it does not say why nothing is traced:\n{}", ended.stderr);

    // What polls did not find is unknown, and the exit code says so.
    let document = run(&format!("explain --json {}", out.display())).expect_code(1).document();
    assert!(document["traced"].is_null(), "{document:#}");
    assert_eq!((&document["complete"], &document["untraced"][0]["subject"]), (&false.into(), &"operations".into()));
    let stalls = document["stalls"].as_array().unwrap();
    let of_dd = stalls.iter().find(|stall| stall["task"].as_str().is_some_and(|task| task.starts_with("dd/")));
    let stuck = of_dd.unwrap_or_else(|| panic!("nothing is reported of dd: {document:#}"));
    assert!(stuck["duration_ns"].as_u64().unwrap() >= 1_000_000_000, "{stuck:#}");
    assert_eq!((&stuck["causes"][0]["cause"], &stuck["causes"][0]["evidence"]), (&"frozen".into(), &"stack".into()));
}

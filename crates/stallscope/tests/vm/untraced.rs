//! A kernel that cannot be traced at all: one without its types (BTF). Polls of blocked tasks are what is left, and
//! explain it.

use std::process::Command;

use serde_json::Value;

use crate::devices::SlowNull;
use crate::scenes::tool;
use crate::stacks::Mapped;
use crate::stage::{Disk, folder, number, run};

const TYPES: &str = "/sys/kernel/btf";
/// Polls may use a 200th of a CPU: in the emulator, one comes only each few seconds.
const READ_MS: u64 = 60_000;

/// An empty folder in place of the kernel's types; removed when dropped.
struct WithoutTypes;

impl WithoutTypes {
    fn new() -> WithoutTypes {
        tool("mount", &["-t", "tmpfs", "none", TYPES]);
        WithoutTypes
    }
}

impl Drop for WithoutTypes {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(TYPES).status();
    }
}

/// Says why, and what to do.
fn expect_doctor_to_name_it() {
    let document = run("doctor --json").expect_code(0).document();
    let is_it =
        |finding: &&Value| finding["capability"].as_str().is_some_and(|name| name.starts_with("kernel tracing"));
    let finding = document["findings"].as_array().unwrap().iter().find(is_it).expect("tracing is a finding");
    assert_eq!(finding["available"], false, "{finding}");
    assert!(finding["why"].as_str().unwrap().contains("BTF"), "{finding}");
    assert!(finding["remedy"].as_str().unwrap().contains("CONFIG_DEBUG_INFO_BTF"), "{finding}");
}

fn explained(script: &str) -> Value {
    let folder = folder();
    let (file, out) = (folder.path().join("script"), folder.path().join("run"));
    std::fs::write(&file, script).unwrap();
    run(&format!("record --slower-than 40ms -q --out {} -- sh {}", out.display(), file.display())).expect_code(0);
    run(&format!("explain --worst 1000 --json {}", out.display())).expect_code(1).document()
}

/// The longest stall of a system call of `dd`: at least that long, by this cause, known by its stack.
fn judge(document: &Value, (operation, cause): (&str, &str), at_least_ms: u64) {
    let is_it = |stall: &&Value| {
        stall["operation"] == operation && stall["task"].as_str().is_some_and(|task| task.starts_with("dd/"))
    };
    let found =
        document["stalls"].as_array().unwrap().iter().filter(is_it).max_by_key(|stall| stall["duration_ns"].as_u64());
    let stall = found.unwrap_or_else(|| panic!("no {operation} in {:#}", document["stalls"]));
    let all = number(stall, "/duration_ns");
    let causes = stall["causes"].as_array().unwrap().iter().filter(|found| found["cause"] == cause);
    let by_stack = causes.map(|found| number(found, "/evidence_ns/stack")).sum::<f64>();
    println!(
        "row: | `{operation}`, untraced | `{cause}` | {:.0} | {:.1} % | - | - |",
        all / 1e6,
        by_stack / all * 100.0
    );
    assert!(all >= at_least_ms as f64 * 1e6, "{stall:#}");
    assert!(by_stack >= 0.8 * all, "{stall:#}");
}

#[test]
fn stalls_on_a_kernel_that_cannot_be_traced_are_explained_by_polls() {
    let (disk, below) = (Disk::ext4(64 << 20), SlowNull::new("untraced", 0));
    // Not a slow disk: what the kernel itself reads from a new one would take as long.
    let _slow = Mapped::new("untraced", &format!("0 16384 delay {} 0 {READ_MS}", below.device().display()));
    let _without = WithoutTypes::new();
    expect_doctor_to_name_it();
    let frozen = disk.path().display();
    let read = "dd if=/dev/mapper/untraced of=/dev/null bs=4k count=1 iflag=direct";
    let script = format!(
        "fsfreeze --freeze {frozen}; (sleep 60; fsfreeze --unfreeze {frozen}) & \
         dd if=/dev/zero of={frozen}/frozen bs=4k count=1 & {read}; wait"
    );
    let document = explained(&script);
    assert!(document["traced"].is_null(), "{}", document["traced"]);
    judge(&document, ("openat", "frozen"), 5000);
    judge(&document, ("read", "device"), 5000);
}

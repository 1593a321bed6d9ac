//! System calls on the real kernel: their file, and the task that was running while they waited for a CPU.

mod trace_stage;

use model::stall::{StallKind, StallRecord};
use trace_stage::{Seen, Stage, all_of_it, most_of_it, trace};

fn paths(seen: &Seen, call: &str) -> Vec<String> {
    let of_call = |row: &&StallRecord| row.kind == StallKind::SystemCall && row.call.as_deref() == Some(call);
    seen.traced.stalls.iter().filter(of_call).filter_map(|row| row.path.clone()).collect()
}

/// The descriptor is closed, and the program gone, when its slow calls are emitted.
#[test]
fn a_file_is_named_from_the_machines_root_also_when_its_descriptor_is_gone() {
    let Some(stage) = Stage::ext4() else { return };
    let folder = stage.mounted();
    let long = "n".repeat(200);
    let command = format!(
        "mkdir -p {folder}/one/two; dd if=/dev/zero of={folder}/one/two/{long} bs=4k count=1 conv=fsync status=none; \
         sync -f {folder}"
    );
    let Some(seen) = trace(&all_of_it(false), &command) else { return };
    let file = format!("{folder}/one/two/{long}");
    for (call, path) in [("openat", &file), ("fsync", &file), ("syncfs", &folder)] {
        let paths = paths(&seen, call);
        assert!(paths.contains(path), "{call}: {paths:?}");
    }
    let programs = paths(&seen, "execve");
    assert!(programs.iter().any(|path| path.starts_with('/') && path.ends_with("/dd")), "{programs:?}");
}

#[test]
fn the_task_that_was_running_during_a_run_queue_wait_is_named() {
    // Ahead of whatever else runs there.
    let spin = "nice -n -15 taskset -c 0 timeout 0.6 sh -c 'while :; do :; done'";
    let Some(seen) = trace(&most_of_it(), &format!("{spin} & {spin}; wait")) else { return };
    let preempted = seen.traced.stalls.iter().filter(|row| row.kind == StallKind::OffCpu && row.state == Some(0));
    let behind: Vec<(u32, u32)> = preempted.filter_map(|row| Some((row.tid, row.behind_tid?))).collect();
    let name = |tid: u32| seen.traced.tasks.iter().rfind(|task| task.tid == tid).map(|task| task.name.as_str());
    let both = behind.iter().filter(|(tid, other)| name(*tid) == Some("sh") && name(*other) == Some("sh"));
    assert!(both.clone().count() > 0 && both.clone().all(|(tid, other)| tid != other), "{behind:?}");
}

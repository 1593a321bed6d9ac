//! What to collect next.

use crate::analysis::{Analysis, Root};
use crate::class::Class;
use crate::dump::Dump;

/// What to collect next, the most telling first.
pub fn advice(dump: &Dump, analysis: &Analysis) -> Vec<String> {
    let mut found = Vec::new();
    for root in analysis.roots.iter().take(2) {
        found.extend(of_root(root).iter().map(|line| (*line).to_owned()));
    }
    let has_all = dump.tasks.iter().any(|task| task.state.is_some_and(|state| state != 'D'));
    if !has_all {
        found.push(
            "all tasks, since a holder may run or sleep: echo t > /proc/sysrq-trigger; held locks (with lockdep): echo \
             d > \
             /proc/sysrq-trigger"
                .to_owned(),
        );
    }
    found.push(
        "before the next hang: stallscope record --ring 10m --on-stall 5s keeps what led to it (docs/FLIGHT.md)"
            .to_owned(),
    );
    let mut seen = Vec::new();
    found.retain(|line| {
        !seen.contains(line) && {
            seen.push(line.clone());
            true
        }
    });
    found
}

fn of_root(root: &Root) -> &'static [&'static str] {
    match root.class {
        Class::Device => &[
            "requests in flight: grep . /sys/block/*/inflight; cat /sys/kernel/debug/block/*/hctx*/busy",
            "the transport's messages and state: dmesg around the first report; cat /sys/block/*/device/state; \
             multipath -ll; \
             cat /proc/mdstat; dmsetup info",
        ],
        Class::Server => &[
            "whether the server answers: nfsstat -c or mountstats, ss -tno to its port, /sys/kernel/debug/ceph/*/osdc, \
             /proc/fs/cifs/DebugData",
        ],
        Class::Program => {
            &["what the serving program does: its threads' /proc/PID/task/*/stack and gdb; requests that wait for it: \
             /sys/fs/fuse/connections/*/waiting"]
        }
        Class::Memory => {
            &["memory: echo m > /proc/sysrq-trigger; cat /proc/pressure/memory; memory.events of the cgroups"]
        }
        Class::Halted => {
            &["who froze it: /proc/self/mountinfo and dmsetup info (suspended), cgroup.freeze and freezer.state, \
             snapshot and backup tools"]
        }
        Class::Throttled => {
            &["the limit: io.max and memory.high of the cgroup, vm.dirty_*, /sys/block/*/queue/wbt_lat_usec"]
        }
        Class::FileSystem => &[
            "the thread that commits or writes back is not in the dump: echo t > /proc/sysrq-trigger, and requests in \
             flight: \
             grep . /sys/block/*/inflight",
        ],
        Class::Lock => &["the holder's stack: cat /proc/TID/stack of the task that the kernel names, or all tasks"],
        Class::Other | Class::Unknown => {
            &["the stack of the worker or thread that it waits for: echo t > /proc/sysrq-trigger"]
        }
    }
}

//! A process and those that it and its children started.

use std::collections::HashSet;
use std::fs;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// By descriptors: a number may be another process's by the time a signal is sent.
pub struct ProcessTree {
    processes: Vec<OwnedFd>,
}

impl ProcessTree {
    /// As it is now: what has left it (a service whose parent ended) is nobody's.
    pub fn of(root: u32) -> ProcessTree {
        let (mut processes, mut seen, mut next) = (Vec::new(), HashSet::new(), vec![root]);
        while let Some(pid) = next.pop() {
            // Opened before its children are read: they are then of that process, or of none that is left.
            let opened =
                i32::try_from(pid).ok().and_then(Pid::from_raw).map(|pid| pidfd_open(pid, PidfdFlags::empty()));
            if let Some(Ok(process)) = opened
                && seen.insert(pid)
            {
                processes.push(process);
                next.extend(children(pid));
            }
        }
        ProcessTree { processes }
    }

    /// To those that are left.
    pub fn send(&self, signal: Signal) {
        for process in &self.processes {
            let _ = pidfd_send_signal(process, signal);
        }
    }

    /// Whether one of them runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let has_ended =
            |process| poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0);
        !self.processes.iter().all(has_ended)
    }
}

/// Of all threads; none where the kernel does not list them.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>()).collect()
}

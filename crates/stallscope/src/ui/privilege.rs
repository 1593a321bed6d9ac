//! Capabilities that are given up once they are not needed any more: a defect of a reader, a writer or a load is then
//! not one of all of root. docs/SECURITY.md has the table. Without root there is nothing to give up.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};

/// Files of other users: a run may be anybody's, and so may the directory that is worked in.
const FILES: CapabilitySet = CapabilitySet::DAC_OVERRIDE.union(CapabilitySet::DAC_READ_SEARCH);
/// The blocks that a file system reserves for root, and limits.
const ARCHIVE: CapabilitySet = FILES.union(CapabilitySet::FOWNER).union(CapabilitySet::SYS_RESOURCE);
/// Locked memory and priorities.
const LOAD: CapabilitySet = ARCHIVE.union(CapabilitySet::IPC_LOCK).union(CapabilitySet::SYS_NICE);
/// BPF, and /proc of other users' tasks. The kernel wants CAP_SYS_ADMIN for a task's stack.
const OBSERVER: CapabilitySet = ARCHIVE
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::SYSLOG);

/// For a process that reads runs, and at most listens: a run may come from a stranger.
pub fn keep_for_reading() {
    keep(FILES.union(CapabilitySet::NET_BIND_SERVICE));
}

/// For a load, once it is in its cgroups.
pub fn keep_for_load() {
    keep(LOAD);
}

/// For a thread of the recorder that writes the archive.
pub fn keep_for_archive() {
    keep(ARCHIVE);
}

/// For a thread of the recorder that reads what the kernel says, after the tracer was attached.
pub fn keep_for_observer() {
    keep(OBSERVER);
}

/// Gives up all others, for this thread, the threads that it starts, and what it executes. A container may forbid this
/// call; it has taken what matters already.
fn keep(kept: CapabilitySet) {
    let _ = set_no_new_privs(true);
    let Ok(held) = capabilities(None) else { return };
    let (effective, permitted) = (held.effective & kept, held.permitted & kept);
    let _ = set_capabilities(None, CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() });
}

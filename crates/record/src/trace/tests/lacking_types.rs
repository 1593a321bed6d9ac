//! Kernels that lack types of the programs: modules that are not loaded, older and newer versions.

use std::collections::HashSet;
use std::path::Path;

use super::super::kernel_types::KernelTypes;
use super::super::modules::Modules;
use super::super::programs::{self, Kernel, Missing};
use super::super::settings::ProgramSettings;
use super::super::symbols::Symbols;
use super::super::{TraceOptions, possible_cpus, tracepoints};

/// Modules with types or tracepoints that the programs or their settings know, and these types.
const MODULES: &[(&str, &[&str])] = &[
    ("loop", &["loop_cmd", "loop_device"]),
    ("scsi_mod", &["scsi_cmnd", "scsi_device"]),
    ("jbd2", &["journal_s", "transaction_run_stats_s"]),
    ("xfs", &["xfs_mount", "xlog", "xlog_ticket", "xlog_in_core", "xfs_buf"]),
    ("btrfs", &["btrfs_fs_info", "btrfs_commit_stats", "btrfs_trans_handle", "extent_buffer"]),
    ("fuse", &["fuse_req", "fuse_conn"]),
    ("nfs", &["nfs_page", "nfs_open_context", "nfs_server", "nfs_client"]),
    ("sunrpc", &["rpc_task", "rpc_clnt", "svc_rqst"]),
];

/// What a kernel that the full programs run on may lack: members of types, values of enumerations.
const OPTIONAL: &[(&str, &str)] = &[
    ("vm_fault", "real_address"),
    ("shrinker", "private_data"),
    ("bio", "bi_blkg"),
    ("page", "compound_head"),
    ("inet_sock", "pinet6"),
    ("task_struct", "frozen"),
    ("task_struct", "throttled"),
    ("cfs_rq", "throttle_count"),
    ("sched_info", "run_delay"),
    ("task_io_accounting", "read_bytes"),
    ("mutex", "owner"),
    ("rw_semaphore", "owner"),
    ("mm_struct", "rss_stat"),
    ("cgroup_subsys_id", "io_cgrp_id"),
];

/// Sources that this kernel lacks once its types are changed so, with the reason; `None` where nothing can be traced
/// here.
fn lacking(change: impl FnOnce(&mut KernelTypes)) -> Option<Vec<(&'static str, Missing)>> {
    let mut types = KernelTypes::read(Path::new("/sys/kernel/btf/vmlinux")).ok()?;
    change(&mut types);
    let options = TraceOptions::slower_than(1_000_000_000, true);
    let settings = ProgramSettings::new(&options, &Symbols::read(Path::new("/proc/kallsyms")), possible_cpus());
    let loaded = programs::load(&tracepoints::all(), &Kernel::of(&types, Modules::new()), &settings, None).ok()?;
    Some(loaded.missing.into_iter().collect())
}

/// What the kernel lacks as it is, without the types of its modules.
fn lacking_anyway() -> Option<HashSet<&'static str>> {
    let names = lacking(|_| ()).map(|lacking| lacking.into_iter().map(|(name, _)| name).collect());
    if names.is_none() {
        println!("skipped: the kernel's types or BPF are not available");
    }
    names
}

/// On Debian 13 module `loop` is not loaded, and block requests were not traced at all.
#[test]
fn without_a_module_only_its_own_sources_are_missing() {
    let Some(anyway) = lacking_anyway() else { return };
    let is_of = |name: &str, (module, types): &(&str, &[&str])| {
        let of_module = [format!("btf_trace_{module}_"), format!("{module}_")];
        types.contains(&name) || of_module.iter().any(|begin| name.starts_with(begin))
    };
    let each = MODULES.iter().map(std::slice::from_ref);
    for modules in each.chain([MODULES]) {
        let hides = |name: &str| modules.iter().any(|module| is_of(name, module));
        let lacking = lacking(|types| types.hide(hides)).expect("the others can be traced");
        for (source, missing) in lacking.iter().filter(|(source, _)| !anyway.contains(source)) {
            let named = modules.iter().any(|(module, _)| *missing == Missing::NotLoaded(module));
            assert!(named, "without {modules:?}: {source}: {missing:?}");
        }
    }
}

/// The kernel refuses a program for a relocation that it cannot resolve, unless that lies behind the check for it.
#[test]
fn a_member_that_a_kernel_may_lack_costs_no_source() {
    let Some(anyway) = lacking_anyway() else { return };
    for (name, member) in OPTIONAL {
        let lacking = lacking(|types| types.hide_member(name, member)).expect("all others can be traced");
        let more: Vec<_> = lacking.iter().filter(|(source, _)| !anyway.contains(source)).collect();
        assert!(more.is_empty(), "without {name}.{member}: {more:?}");
    }
}

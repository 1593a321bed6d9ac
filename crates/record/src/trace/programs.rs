//! The programs: which tracepoint each needs, what it is for, and how they get into the kernel.

use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{Btf, Error, ErrorKind, Link, Map, MapCore, Object, ObjectBuilder, PrintLevel};
use model::preflight::Finding;
use model::stall::TraceSettings;

use super::calls;

/// Compiled by `build.rs` from `bpf/stall.bpf.c`.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stall.bpf.o"));

/// The worker function that lets go of what a cgroup's limit held back (Linux 3.1 to 6.18).
pub(super) const THROTTLE_FUNCTION: &str = "blk_throtl_dispatch_work_fn";

const CAPABILITY: &str = "kernel tracing (BPF)";
const PURPOSE: &str = "sees what tasks wait for, so that stalls can be explained";

/// A group of programs that only work together.
struct Source {
    name: &'static str,
    purpose: &'static str,
    /// Program and tracepoint.
    programs: &'static [(&'static str, &'static str)],
}

const SOURCES: [Source; 6] = [
    Source {
        name: "tracing: scheduler",
        purpose: "tells how long tasks sleep and wait for a CPU, where, and who wakes them",
        programs: &[
            ("sched_switch", "sched_switch"),
            ("sched_waking", "sched_waking"),
            ("sched_process_exit", "sched_process_exit"),
        ],
    },
    Source {
        name: "tracing: system calls",
        purpose: "finds the slow operations of every program",
        programs: &[("sys_enter", "sys_enter"), ("sys_exit", "sys_exit")],
    },
    Source {
        name: "tracing: direct reclaim",
        purpose: "tells time that tasks spend looking for free memory",
        programs: &[
            ("direct_reclaim_begin", "mm_vmscan_direct_reclaim_begin"),
            ("direct_reclaim_end", "mm_vmscan_direct_reclaim_end"),
        ],
    },
    Source {
        name: "tracing: memcg reclaim",
        purpose: "tells time that tasks spend making room in their memory cgroup",
        programs: &[
            ("memcg_reclaim_begin", "mm_vmscan_memcg_reclaim_begin"),
            ("memcg_reclaim_end", "mm_vmscan_memcg_reclaim_end"),
        ],
    },
    Source {
        name: "tracing: reclaim throttling",
        purpose: "tells time that reclaim made tasks sleep",
        programs: &[("vmscan_throttled", "mm_vmscan_throttled")],
    },
    Source {
        name: "tracing: block requests",
        purpose: "tells which request a task waited for, and where that was",
        programs: &[
            ("block_insert", "block_rq_insert"),
            ("block_issue", "block_rq_issue"),
            ("block_complete", "block_rq_complete"),
        ],
    },
];

/// Loads the programs whose tracepoints this kernel has.
pub(super) fn load(findings: &mut Vec<Finding>) -> Result<Object, Error> {
    // libbpf would write to the terminal; what it has to say comes back as an error, too.
    libbpf_rs::set_print(None::<(PrintLevel, libbpf_rs::PrintCallback)>);
    let kernel = Btf::from_vmlinux()?;
    let mut object = ObjectBuilder::default().open_memory(OBJECT)?;
    for source in &SOURCES {
        let lacks =
            |tracepoint: &&str| kernel.type_by_name::<Typedef<'_>>(&format!("btf_trace_{tracepoint}")).is_none();
        let missing: Vec<&str> = source.programs.iter().map(|(_, tracepoint)| *tracepoint).filter(lacks).collect();
        if missing.is_empty() {
            findings.push(Finding::available(source.name, source.purpose));
            continue;
        }
        let why = format!("this kernel has no tracepoint {}", missing.join(", "));
        findings.push(Finding::missing(source.name, source.purpose, why, "a newer kernel has it"));
        for mut program in object.progs_mut() {
            if source.programs.iter().any(|(name, _)| program.name() == *name) {
                program.set_autoload(false);
            }
        }
    }
    object.load()
}

/// Attaches what was loaded. One that cannot be attached is told, and the others go on.
pub(super) fn attach(object: &Object, findings: &mut Vec<Finding>) -> Result<Vec<Link>, Error> {
    let mut links = Vec::new();
    for program in object.progs_mut().filter(|program| program.autoload()) {
        match program.attach_trace() {
            Ok(link) => links.push(link),
            Err(error) => {
                let name = format!("tracing: {}", program.name().to_string_lossy());
                findings.push(Finding::missing(
                    name,
                    PURPOSE,
                    error.to_string(),
                    "see the kernel's log for the reason",
                ));
            }
        }
    }
    if links.is_empty() {
        return Err(Error::from_raw_os_error(libc::ENOENT));
    }
    Ok(links)
}

/// A map of the object.
pub(super) fn map<'a>(object: &'a Object, name: &str) -> Result<Map<'a>, Error> {
    let found = object.maps().find(|map| map.name() == name);
    found.ok_or_else(|| Error::from_raw_os_error(libc::ENOENT))
}

/// `struct settings` of the programs.
pub(super) fn settings(options: &TraceSettings, throttle_function: Option<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(options.slow_ns.to_ne_bytes());
    bytes.extend(options.interval_ns.to_ne_bytes());
    bytes.extend(throttle_function.unwrap_or(0).to_ne_bytes());
    bytes.extend(std::process::id().to_ne_bytes());
    bytes.extend(0u32.to_ne_bytes());
    bytes.extend(calls::table());
    bytes
}

/// What it means that nothing could be loaded.
pub(super) fn refused(error: &Error) -> Finding {
    let (why, remedy) = match error.kind() {
        ErrorKind::PermissionDenied => (
            format!("the kernel refuses BPF programs: {error}"),
            "run as root, or with CAP_BPF and CAP_PERFMON (and kernel lockdown not 'confidentiality')",
        ),
        ErrorKind::NotFound => (
            format!("the kernel's types are not there: {error}"),
            "use a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_SYSCALL (/sys/kernel/btf/vmlinux)",
        ),
        _ => (format!("the BPF programs cannot be loaded: {error}"), "use Linux 5.15 or newer with BTF"),
    };
    Finding::missing(CAPABILITY, PURPOSE, why, remedy)
}

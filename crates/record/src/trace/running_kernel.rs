//! What of the running kernel decides which programs are loaded, and what they are adapted by.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;

use libbpf_rs::Error;
use model::signal::TracepointProgram;
use rustix::fs::MemfdFlags;

use super::kernel_types::{DriverLayout, KernelTypes, RequestFlags};
use super::modules::{self, Modules};
use super::tracepoints::{self, FUNCTION, TraceSource};
use crate::roots::Roots;

/// The newest member of `struct task_struct` that the full programs read.
const LATE_MEMBER: &str = "worker_private";
/// Names of the types of the programs.
const TYPES: &str = include_str!(concat!(env!("OUT_DIR"), "/stall.types"));
const EARLY_TYPES: &str = include_str!(concat!(env!("OUT_DIR"), "/early.types"));

/// Modules whose types say where the fields of drivers are.
const DRIVERS: [&str; 2] = ["loop", "scsi_mod"];

/// The running kernel.
pub(super) struct Kernel {
    /// Older than Linux 5.17: it lacks what the full programs need.
    pub(super) is_early: bool,
    /// Those of its types that the programs refer to; `None` if libbpf has to look through all.
    pub(super) types: Option<File>,
    pub(super) flags: RequestFlags,
    pub(super) drivers: DriverLayout,
    /// How many arguments the programs at each tracepoint have.
    tracepoints: HashMap<String, usize>,
    /// The same of functions that sources may have programs at.
    functions: HashMap<&'static str, usize>,
    modules: Modules,
}

impl Kernel {
    /// Reads its types, and those of loaded modules that sources name.
    pub(super) fn read(roots: &Roots, sources: &[TraceSource]) -> Result<Kernel, Error> {
        let folder = roots.sys.join("kernel/btf");
        let mut types = KernelTypes::read(&folder.join("vmlinux"))?;
        types.add_modules(&folder, &modules(sources));
        Ok(Kernel::of(&types, modules::loaded(&roots.proc)))
    }

    pub(super) fn of(types: &KernelTypes, modules: Modules) -> Kernel {
        let is_early = types.has_member("task_struct", LATE_MEMBER) == Some(false);
        let used = types.for_programs(if is_early { EARLY_TYPES } else { TYPES });
        let arguments = |name| types.function_arguments(name).map(|arguments| (name, arguments));
        let functions = tracepoints::functions().filter_map(arguments).collect();
        Kernel {
            is_early,
            types: in_memory(&used).ok(),
            flags: types.request_flags(),
            drivers: types.driver_layout(),
            tracepoints: types.tracepoints(),
            functions,
            modules,
        }
    }

    /// Whether a module is neither loaded nor built in. One that is built in has tracepoints, whose names begin with
    /// its own.
    pub(super) fn lacks_module(&self, module: &str) -> bool {
        !self.modules.contains(module) && !self.tracepoints.keys().any(|name| name.starts_with(module))
    }

    /// How many arguments the programs at a tracepoint have, or at a function ([`FUNCTION`]); `None` if there is none.
    pub(super) fn arguments(&self, tracepoint: &str) -> Option<usize> {
        match tracepoint.strip_prefix(FUNCTION) {
            Some(function) => self.functions.get(function),
            None => self.tracepoints.get(tracepoint),
        }
        .copied()
    }
}

/// The modules that sources or the layout of drivers come from.
fn modules(sources: &[TraceSource]) -> Vec<&'static str> {
    let mut names: Vec<&str> = sources.iter().filter_map(|source| source.module).chain(DRIVERS).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A file without a name: libbpf takes types from files.
fn in_memory(types: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("kernel-types", MemfdFlags::CLOEXEC)?);
    file.write_all(types)?;
    Ok(file)
}

/// Whether a program fits a tracepoint whose programs have that many arguments.
pub(super) fn fits(program: &TracepointProgram, arguments: usize) -> bool {
    (program.fewest_arguments..=program.most_arguments).contains(&arguments)
}

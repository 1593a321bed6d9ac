//! What of the running kernel decides which programs are loaded, and what they are adapted by.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use libbpf_rs::Error;
use model::signal::TracepointProgram;
use rustix::fs::MemfdFlags;

use super::kernel_types::{KernelTypes, RequestLayout};
use super::tracepoints::FUNCTION;

/// The newest member of `struct task_struct` that the full programs read.
const LATE_MEMBER: &str = "worker_private";
/// Names of the types of the programs.
const TYPES: &str = include_str!(concat!(env!("OUT_DIR"), "/stall.types"));
const EARLY_TYPES: &str = include_str!(concat!(env!("OUT_DIR"), "/early.types"));

/// The running kernel.
pub(super) struct Kernel {
    /// Older than Linux 5.17: it lacks what the full programs need.
    pub(super) is_early: bool,
    /// Those of its types that the programs refer to; `None` if libbpf has to look through all.
    pub(super) types: Option<File>,
    pub(super) request: RequestLayout,
    tracepoints: HashMap<String, usize>,
    /// The folder with the types of each module.
    modules: PathBuf,
}

impl Kernel {
    /// Reads its types in a folder of sysfs.
    pub(super) fn read(modules: &Path) -> Result<Kernel, Error> {
        let types = KernelTypes::read(&modules.join("vmlinux"))?;
        let is_early = types.has_member("task_struct", LATE_MEMBER) == Some(false);
        let names = if is_early { EARLY_TYPES } else { TYPES };
        let used = types.for_programs(names, modules).and_then(|used| in_memory(&used).ok());
        let (request, tracepoints) = (types.request_layout(modules), types.tracepoints());
        Ok(Kernel { is_early, types: used, request, tracepoints, modules: modules.to_owned() })
    }

    /// How many arguments a tracepoint has, or a function ([`FUNCTION`]), which a module may hold; `None` if there is none.
    pub(super) fn arguments(&self, module: Option<&str>, tracepoint: &str) -> Option<Arguments> {
        if let Some(count) = self.tracepoints.get(tracepoint) {
            return Some(Arguments::Count(*count));
        }
        let types = std::fs::read(self.modules.join(module?)).ok()?;
        let name = match tracepoint.strip_prefix(FUNCTION) {
            Some(function) => format!("\0{function}\0"),
            None => format!("\0btf_trace_{tracepoint}\0"),
        };
        types.windows(name.len()).any(|window| window == name.as_bytes()).then_some(Arguments::Unknown)
    }
}

/// A file without a name: libbpf takes types from files.
fn in_memory(types: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("kernel-types", MemfdFlags::CLOEXEC)?);
    file.write_all(types)?;
    Ok(file)
}

/// How many arguments a tracepoint has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    Count(usize),
    /// A tracepoint of a module, whose types are not parsed.
    Unknown,
}

impl Arguments {
    pub(super) fn fit(self, program: &TracepointProgram) -> bool {
        match self {
            Arguments::Count(count) => (program.fewest_arguments..=program.most_arguments).contains(&count),
            Arguments::Unknown => true,
        }
    }
}

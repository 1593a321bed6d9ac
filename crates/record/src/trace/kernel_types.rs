//! The kernel's types (BTF, Documentation/bpf/btf.rst), read in one pass: which tracepoints there are, and those types that the programs
//! refer to.
//!
//! To adapt the programs libbpf compares each of their types with every type of the kernel by name, some hundred thousand: most of the
//! time of a start. From the few types that can match at all it finds the same.

mod layout;
mod reader;
mod trimmed;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::bytes::shown;

pub(super) use layout::RequestLayout;
pub(super) use reader::KernelTypes;

/// Begin of the name of the type of a tracepoint's programs.
const TRACEPOINT: &str = "btf_trace_";

impl KernelTypes {
    /// How many arguments the programs of each tracepoint have.
    pub(super) fn tracepoints(&self) -> HashMap<String, usize> {
        let typedefs = self.ids().filter(|id| self.kind(*id) == reader::TYPEDEF);
        let tracepoint = |id| {
            let name = self.name(id).strip_prefix(TRACEPOINT.as_bytes())?;
            let pointer = self.referred(id)?;
            let function = self.referred(pointer).filter(|id| self.kind(*id) == reader::FUNCTION_TYPE)?;
            // The first argument is the attached program's private data.
            Some((shown(name), self.count(function).saturating_sub(1)))
        };
        typedefs.filter_map(tracepoint).collect()
    }

    /// Whether a structure has a member; `None` without such a structure.
    pub(super) fn has_member(&self, structure: &str, member: &str) -> Option<bool> {
        let is_it = |id: &u32| self.kind(*id) == reader::STRUCTURE && self.name(*id) == structure.as_bytes();
        let id = self.ids().find(is_it)?;
        Some(self.members(id).any(|(name, _)| self.text(name) == member.as_bytes()))
    }

    /// The types that programs refer to by these names, with what lies within them: types for libbpf to adapt the programs by. `None`
    /// if one of them may be in a module, whose types are not here.
    pub(super) fn for_programs(&self, names: &str, modules: &Path) -> Option<Vec<u8>> {
        let mut wanted: HashSet<&[u8]> = names.lines().map(|name| essential(name.as_bytes())).collect();
        let can_match = |id: &u32| {
            let kind = self.kind(*id);
            !matches!(kind, reader::FUNCTION | reader::VARIABLE | reader::SECTION | reader::DECLARATION_TAG)
        };
        let matching: Vec<u32> =
            self.ids().filter(can_match).filter(|id| wanted.contains(essential(self.name(*id)))).collect();
        matching.iter().for_each(|id| _ = wanted.remove(essential(self.name(*id))));
        let elsewhere = |types: Vec<u8>| types.split(|byte| *byte == 0).any(|text| wanted.contains(essential(text)));
        if !wanted.is_empty() && modules_of(modules).any(elsewhere) {
            return None;
        }
        Some(trimmed::trimmed(self, &matching))
    }
}

/// The types of each loaded module.
fn modules_of(folder: &Path) -> impl Iterator<Item = Vec<u8>> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let modules = entries.filter(|entry| entry.file_name() != "vmlinux");
    modules.filter_map(|entry| std::fs::read(entry.path()).ok())
}

/// `file_lock` of `file_lock___old`: what follows exactly three underscores distinguishes variants of a type in the programs.
fn essential(name: &[u8]) -> &[u8] {
    let separates = |part: &[u8]| part[0] != b'_' && &part[1..4] == b"___" && part[4] != b'_';
    name.windows(5).rposition(separates).map_or(name, |before| &name[..=before])
}

#[cfg(test)]
mod tests;

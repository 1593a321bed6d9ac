//! The kernel's types (BTF, Documentation/bpf/btf.rst), and those of modules, read in one pass: which tracepoints there
//! are, and those types that the programs refer to.
//!
//! To adapt the programs libbpf compares each of their types with every type of the kernel by name, some hundred
//! thousand: most of the time of a start. From the few types that can match at all it finds the same.

mod layout;
mod reader;
mod trimmed;

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::bytes::shown;

pub(super) use layout::{DriverLayout, RequestFlags};
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

    /// Adds the types of these modules, each as far as it is loaded; what is built in has no types of its own.
    pub(super) fn add_modules(&mut self, folder: &Path, names: &[&str]) {
        for name in names {
            let types = std::fs::read(folder.join(name)).ok();
            types.and_then(|types| self.add_module(types));
        }
    }

    /// How many arguments a function has; `None` if there is none of that name.
    pub(super) fn function_arguments(&self, name: &str) -> Option<usize> {
        let is_it = |id: &u32| self.kind(*id) == reader::FUNCTION && self.name(*id) == name.as_bytes();
        self.referred(self.ids().find(is_it)?).map(|arguments| self.count(arguments))
    }

    /// The types that programs refer to by these names, with what lies within them: types for libbpf to adapt the
    /// programs by. As libbpf does, it looks in modules for what the kernel proper lacks.
    pub(super) fn for_programs(&self, names: &str) -> Vec<u8> {
        let wanted: HashSet<&[u8]> = names.lines().map(|name| essential(name.as_bytes())).collect();
        let can_match = |id: &u32| {
            let kind = self.kind(*id);
            let is_type =
                !matches!(kind, reader::FUNCTION | reader::VARIABLE | reader::SECTION | reader::DECLARATION_TAG);
            is_type && wanted.contains(essential(self.name(*id)))
        };
        let (of_modules, mut matching): (Vec<u32>, Vec<u32>) =
            self.ids().filter(can_match).partition(|id| self.is_of_module(*id));
        let found: HashSet<&[u8]> = matching.iter().map(|id| essential(self.name(*id))).collect();
        matching.extend(of_modules.into_iter().filter(|id| !found.contains(essential(self.name(*id)))));
        trimmed::trimmed(self, &matching)
    }
}

/// `file_lock` of `file_lock___old`: what follows exactly three underscores distinguishes variants of a type in the
/// programs.
fn essential(name: &[u8]) -> &[u8] {
    let separates = |part: &[u8]| part[0] != b'_' && &part[1..4] == b"___" && part[4] != b'_';
    name.windows(5).rposition(separates).map_or(name, |before| &name[..=before])
}

#[cfg(test)]
mod tests;

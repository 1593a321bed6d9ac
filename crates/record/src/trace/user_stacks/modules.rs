//! The programs and libraries of processes, as their own mount namespaces show them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::user_stack::UserFrameRecord;
use symbols::Binary;

use super::super::bounded_cache::BoundedCache;
use super::memory_map::{self, Mapping};
use crate::bytes::below;

/// Processes whose memory maps are known at once, and files that are known.
const PROCESSES: usize = 1024;
const FILES: usize = 1024;
/// Tables for unwinding that are kept of all files: of those beyond, functions are unwound by frame pointers.
const UNWIND_BYTES: u64 = 512 << 20;

/// A program or library.
#[derive(Debug)]
pub(super) struct ModuleFile {
    /// As its process saw it.
    pub(super) path: String,
    /// Where to open it: below the root of a process that has it, else the path itself.
    pub(super) places: [PathBuf; 2],
    /// Absent where it cannot be read.
    pub(super) binary: Option<Binary>,
}

/// What a place lies in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Module {
    /// A file, by its number.
    File(usize),
    /// No file: `[vdso]`, `[anonymous]`.
    Named(String),
    /// The process had ended before its memory map was read.
    Unknown,
}

/// A place in the code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Spot {
    pub(super) module: Module,
    /// Offset in the file, or address.
    pub(super) offset: u64,
}

type Map = Arc<[(Mapping, Option<usize>)]>;

/// Programs and libraries.
pub(super) struct Modules {
    proc: PathBuf,
    /// By process and its `mm_struct`.
    maps: BoundedCache<(u32, u64), Map>,
    /// By device, inode and path.
    by_identity: HashMap<(String, String), usize>,
    files: Vec<Arc<ModuleFile>>,
    unwind_left: u64,
}

impl Modules {
    pub(super) fn new(proc: PathBuf) -> Modules {
        let maps = BoundedCache::new(PROCESSES);
        Modules { proc, maps, by_identity: HashMap::new(), files: Vec::new(), unwind_left: UNWIND_BYTES }
    }

    /// The memory map of a process in which that address is known, as far as it can be read.
    pub(super) fn map(&mut self, pid: u32, memory: u64, address: u64) -> Option<Map> {
        let known = self.maps.get(&(pid, memory)).cloned();
        if known.as_ref().is_some_and(|map| mapping(map, address).is_some()) {
            return known;
        }
        let text = std::fs::read(self.proc.join(format!("{pid}/maps"))).ok().filter(|text| !text.is_empty());
        let Some(text) = text else { return known };
        let map: Map = memory_map::parse(&text).into_iter().map(|mapping| self.with_file(pid, mapping)).collect();
        self.maps.insert((pid, memory), map.clone());
        Some(map)
    }

    fn with_file(&mut self, pid: u32, mapping: Mapping) -> (Mapping, Option<usize>) {
        if !mapping.path.starts_with('/') {
            return (mapping, None);
        }
        let key = (mapping.identity.clone(), mapping.path.clone());
        if let Some(file) = self.by_identity.get(&key) {
            return (mapping, Some(*file));
        }
        if self.files.len() >= FILES {
            return (mapping, None);
        }
        let below_root = below(&self.proc.join(format!("{pid}/root")), &mapping.path);
        let places = [below_root, below(Path::new("/"), &mapping.path)];
        // The link to a mapped file leads to it even if it was deleted; only a privileged process may follow it.
        let link = self.proc.join(format!("{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end));
        let opened = symbols::open(&link).or_else(|_| symbols::open(&places[0]));
        let binary = opened.and_then(|file| Binary::open(&file)).ok();
        let binary = binary.map(|binary| binary.within(&mut self.unwind_left));
        self.files.push(Arc::new(ModuleFile { path: mapping.path.clone(), places, binary }));
        self.by_identity.insert(key, self.files.len() - 1);
        (mapping, Some(self.files.len() - 1))
    }

    pub(super) fn file_of(&self, file: usize) -> &Arc<ModuleFile> {
        &self.files[file]
    }

    /// The file that a place lies in.
    pub(super) fn file(&self, spot: &Spot) -> Option<&Arc<ModuleFile>> {
        match spot.module {
            Module::File(file) => self.files.get(file),
            _ => None,
        }
    }

    /// A place without names.
    pub(super) fn record(&self, frame: u32, spot: &Spot, is_innermost: bool) -> UserFrameRecord {
        let file = self.file(spot);
        let named = match &spot.module {
            Module::Named(name) => Some(name.clone()),
            _ => None,
        };
        let build_id = file.and_then(|file| file.binary.as_ref()?.build_id()).map(str::to_owned);
        UserFrameRecord {
            frame,
            module: file.map(|file| file.path.clone()).or(named),
            build_id,
            offset: spot.offset,
            is_innermost,
            functions: Vec::new(),
            files: Vec::new(),
            lines: Vec::new(),
        }
    }
}

/// The part of a memory map that an address lies in.
pub(super) fn mapping(map: &[(Mapping, Option<usize>)], address: u64) -> Option<&(Mapping, Option<usize>)> {
    map.iter().find(|(mapping, _)| (mapping.start..mapping.end).contains(&address))
}

/// What an address is a place in.
pub(super) fn spot(map: Option<&Map>, address: u64) -> Spot {
    let Some(map) = map else { return Spot { module: Module::Unknown, offset: address } };
    match mapping(map, address) {
        Some((mapping, Some(file))) => {
            Spot { module: Module::File(*file), offset: address - mapping.start + mapping.offset }
        }
        Some((mapping, None)) if !mapping.path.is_empty() => {
            Spot { module: Module::Named(mapping.path.clone()), offset: address }
        }
        Some(_) => Spot { module: Module::Named("[anonymous]".to_owned()), offset: address },
        None => Spot { module: Module::Unknown, offset: address },
    }
}

//! Finds cgroups: a walk through the hierarchies that goes on at each sample, and begins again when it is done.

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::bytes::{below, shown_path};

/// Folders whose names are read at one step.
const READ: usize = 8;
/// Folders whose links are counted at one step: one without others within need not be read.
const COUNTED: usize = 128;
/// While a folder counts as many folders within it as before, its names are read at only one of so many visits: only
/// where one came as another one went they have changed.
const UNREAD: u32 = 8;
/// Cgroups known at most.
const MOST: usize = 16_384;

/// A cgroup that the walk came by.
pub(super) struct Found {
    pub(super) hierarchy: usize,
    /// From the hierarchy's root, with a `/` at its begin.
    pub(super) path: String,
}

/// Names as they were read.
struct Read {
    links: u64,
    visits: u32,
    below: Vec<String>,
}

/// The walk.
pub(super) struct Walk {
    mounts: Vec<PathBuf>,
    todo: VecDeque<(usize, String)>,
    known: HashSet<String>,
    /// Cgroups with others below them.
    parents: HashSet<String>,
    /// What was read of folders with others within.
    read: HashMap<(usize, String), Read>,
    refused: u64,
}

impl Walk {
    pub(super) fn new(mounts: Vec<PathBuf>) -> Walk {
        Walk {
            mounts,
            todo: VecDeque::new(),
            known: HashSet::new(),
            parents: HashSet::new(),
            read: HashMap::new(),
            refused: 0,
        }
    }

    /// Cgroups that were not taken because too many are known.
    pub(super) fn refused(&self) -> u64 {
        self.refused
    }

    /// A cgroup is gone.
    pub(super) fn forget(&mut self, path: &str) {
        self.known.remove(path);
        self.parents.remove(path);
        self.read.retain(|(_, read), _| read != path);
    }

    pub(super) fn is_parent(&self, path: &str) -> bool {
        self.parents.contains(path)
    }

    pub(super) fn knows(&self, path: &str) -> bool {
        self.known.contains(path)
    }

    /// The next folders.
    pub(super) fn step(&mut self) -> Vec<Found> {
        if self.todo.is_empty() {
            self.todo.extend((0..self.mounts.len()).map(|hierarchy| (hierarchy, String::new())));
        }
        let (mut found, mut read) = (Vec::new(), 0);
        for _ in 0..COUNTED {
            if read >= READ {
                break;
            }
            let Some((hierarchy, path)) = self.todo.pop_front() else { break };
            let folder = below(&self.mounts[hierarchy], &path);
            let Ok(about) = folder.metadata() else { continue };
            // Each folder within has a link to it, `..`. Some file systems do not count: 1.
            if about.nlink() != 2 && !self.is_as_read(hierarchy, &path, about.nlink()) {
                read += 1;
                self.look_into((hierarchy, &path), &folder, about.nlink(), &mut found);
            }
        }
        found
    }

    /// Whether the names within are those that were read; then the walk goes on to them.
    fn is_as_read(&mut self, hierarchy: usize, path: &str, links: u64) -> bool {
        let Some(read) = self.read.get_mut(&(hierarchy, path.to_owned())) else { return false };
        if links < 2 || links != read.links || read.visits >= UNREAD {
            return false;
        }
        read.visits += 1;
        self.todo.extend(read.below.iter().map(|below| (hierarchy, below.clone())));
        true
    }

    fn look_into(&mut self, (hierarchy, path): (usize, &str), folder: &Path, links: u64, found: &mut Vec<Found>) {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let below = format!("{path}/{}", shown_path(entry.file_name()));
                if !self.parents.contains(path) {
                    self.parents.insert(path.to_owned());
                }
                found.extend(self.take(hierarchy, &below));
                self.todo.push_back((hierarchy, below.clone()));
                names.push(below);
            }
        }
        // What is beyond the most that are known may be taken later.
        if names.iter().all(|below| self.known.contains(below)) {
            self.read.insert((hierarchy, path.to_owned()), Read { links, visits: 0, below: names });
        }
    }

    fn take(&mut self, hierarchy: usize, path: &str) -> Option<Found> {
        if self.known.contains(path) {
            return None;
        }
        if self.known.len() >= MOST {
            self.refused += 1;
            return None;
        }
        self.known.insert(path.to_owned());
        Some(Found { hierarchy, path: path.to_owned() })
    }
}

//! What may be on a disk that loses its power: any subset of what was not synced, in any order, and parts of writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::disk::record::Made;

const SECTOR: u64 = 512;

pub(super) type Bytes = Rc<Vec<u8>>;
/// Files by path.
pub(super) type State = BTreeMap<PathBuf, Bytes>;
type Names = BTreeMap<PathBuf, usize>;

#[derive(Debug, Clone)]
enum Edit {
    Write(Vec<u8>, u64),
    Length(u64),
}

/// One file.
#[derive(Debug, Clone)]
struct Contents {
    /// What may be on the disk without the edits.
    bases: BTreeSet<Bytes>,
    /// What the kernel has in memory.
    cached: Bytes,
    /// Not synced.
    edits: Vec<Edit>,
}

/// A disk with its cache.
#[derive(Debug, Default, Clone)]
pub(super) struct Disk {
    /// By a number of our own: inodes are used again.
    files: Vec<Contents>,
    numbers: BTreeMap<u64, usize>,
    directories: BTreeSet<PathBuf>,
    names: Names,
    /// Whether the last bytes of a write may be there without the first.
    has_holes: bool,
    /// Changes of names that were not synced.
    renames: Vec<Rename>,
}

#[derive(Debug, Clone)]
enum Rename {
    New(PathBuf, usize),
    Moved(PathBuf, PathBuf),
    Removed(PathBuf),
}

impl Disk {
    /// An empty one.
    pub(super) fn new(has_holes: bool) -> Disk {
        Disk { has_holes, ..Disk::default() }
    }

    /// Takes a change.
    pub(super) fn take(&mut self, made: &Made) {
        match made {
            Made::Created(path, file) => {
                self.numbers.insert(*file, self.files.len());
                self.renames.push(Rename::New(path.clone(), self.files.len()));
                self.files.push(Contents::empty());
            }
            Made::Renamed(from, to) => self.renames.push(Rename::Moved(from.clone(), to.clone())),
            Made::Removed(path) => self.renames.push(Rename::Removed(path.clone())),
            Made::Wrote(file, bytes, at) => self.contents(*file).edit(Edit::Write(bytes.clone(), *at)),
            Made::Length(file, length) => self.contents(*file).edit(Edit::Length(*length)),
            Made::Synced(file) => self.contents(*file).settle(),
            Made::NotSynced(file) => {
                let has_holes = self.has_holes;
                self.contents(*file).doubt(has_holes);
            }
            Made::SyncedDirectory(dir) => self.sync_names(dir),
            Made::Directory(path) => self.make_directories(path),
            Made::Promised(_) => {}
        }
    }

    /// Whether a change makes fewer states possible than before.
    pub(super) fn settles(made: &Made) -> bool {
        matches!(made, Made::Synced(_) | Made::NotSynced(_) | Made::SyncedDirectory(_) | Made::Promised(_))
    }

    /// Each state that may be found, but for files that no reader opens.
    pub(super) fn states(&self, is_read: impl Fn(&Path) -> bool) -> BTreeSet<State> {
        let mut states = BTreeSet::new();
        for names in self.possible_names() {
            let mut partial = vec![State::new()];
            for (path, file) in self.files_of(&names, &is_read) {
                let possible = self.files[file].possible(self.has_holes);
                let with = |state: &State, bytes: &Bytes| {
                    let mut state = state.clone();
                    state.insert(path.clone(), Rc::clone(bytes));
                    state
                };
                partial =
                    partial.iter().flat_map(|state| possible.iter().map(move |bytes| with(state, bytes))).collect();
            }
            states.extend(partial);
        }
        states
    }

    /// The state that is found if only the program dies.
    pub(super) fn cached(&self, is_read: impl Fn(&Path) -> bool) -> State {
        let mut names = self.names.clone();
        self.renames.iter().for_each(|rename| rename.apply(&mut names));
        let read = self.files_of(&names, is_read);
        read.into_iter().map(|(path, file)| (path, Rc::clone(&self.files[file].cached))).collect()
    }

    fn contents(&mut self, file: u64) -> &mut Contents {
        &mut self.files[self.numbers[&file]]
    }

    fn make_directories(&mut self, path: &Path) {
        let all = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        let mut missing: Vec<&Path> = all.filter(|path| !self.directories.contains(*path)).collect();
        missing.reverse();
        for path in missing {
            self.directories.insert(path.to_owned());
            self.renames.push(Rename::New(path.to_owned(), self.files.len()));
            self.files.push(Contents::empty());
        }
    }

    /// The files of some names: a directory whose name was lost has none.
    fn files_of(&self, names: &Names, is_read: impl Fn(&Path) -> bool) -> Names {
        let is_lost = |dir: &Path| self.directories.contains(dir) && !names.contains_key(dir);
        let is_file = |path: &PathBuf| !self.directories.contains(path) && !path.ancestors().any(is_lost);
        names
            .iter()
            .filter(|(path, _)| is_file(path) && is_read(path))
            .map(|(path, file)| (path.clone(), *file))
            .collect()
    }

    fn sync_names(&mut self, dir: &Path) {
        let is_of = |rename: &Rename| rename.path().parent() == Some(dir);
        let (synced, others): (Vec<Rename>, Vec<Rename>) =
            std::mem::take(&mut self.renames).into_iter().partition(is_of);
        synced.iter().for_each(|rename| rename.apply(&mut self.names));
        self.renames = others;
    }

    fn possible_names(&self) -> BTreeSet<Names> {
        self.renames.iter().fold(BTreeSet::from([self.names.clone()]), |mut possible, rename| {
            let with: Vec<Names> = possible.iter().cloned().collect();
            possible.extend(with.into_iter().map(|mut names| {
                rename.apply(&mut names);
                names
            }));
            possible
        })
    }
}

impl Contents {
    fn empty() -> Contents {
        Contents { bases: BTreeSet::from([Bytes::default()]), cached: Bytes::default(), edits: Vec::new() }
    }

    fn edit(&mut self, edit: Edit) {
        self.cached = edit.whole(&self.cached);
        self.edits.push(edit);
    }

    fn settle(&mut self) {
        let edits = std::mem::take(&mut self.edits);
        let edited = |base: &Bytes| edits.iter().fold(Rc::clone(base), |bytes, edit| edit.whole(&bytes));
        self.bases = self.bases.iter().map(edited).collect();
    }

    fn doubt(&mut self, has_holes: bool) {
        self.bases = self.possible(has_holes);
        self.edits.clear();
    }

    fn possible(&self, has_holes: bool) -> BTreeSet<Bytes> {
        self.edits.iter().fold(self.bases.clone(), |possible, edit| {
            let edited: Vec<Bytes> = possible.iter().flat_map(|bytes| edit.parts(bytes, has_holes)).collect();
            possible.into_iter().chain(edited).collect()
        })
    }
}

impl Edit {
    fn whole(&self, bytes: &Bytes) -> Bytes {
        match self {
            Edit::Write(new, at) => overwrite(bytes, new, *at),
            Edit::Length(length) => {
                let mut bytes = (**bytes).clone();
                bytes.resize(*length as usize, 0);
                Rc::new(bytes)
            }
        }
    }

    /// The edit as a whole, and what a cut in the middle of it leaves: the sectors before the cut, or with holes those
    /// after it.
    fn parts(&self, bytes: &Bytes, has_holes: bool) -> Vec<Bytes> {
        let mut parts = vec![self.whole(bytes)];
        if let Edit::Write(new, at) = self {
            let end = at + new.len() as u64;
            let cut = (at.midpoint(end) / SECTOR * SECTOR).max((at + 1).next_multiple_of(SECTOR));
            if cut < end {
                let (before, after) = new.split_at((cut - at) as usize);
                parts.push(overwrite(bytes, before, *at));
                parts.extend(has_holes.then(|| overwrite(bytes, after, cut)));
            }
        }
        parts
    }
}

fn overwrite(bytes: &Bytes, new: &[u8], at: u64) -> Bytes {
    let mut bytes = (**bytes).clone();
    let (at, end) = (at as usize, at as usize + new.len());
    bytes.resize(bytes.len().max(end), 0);
    bytes[at..end].copy_from_slice(new);
    Rc::new(bytes)
}

impl Rename {
    fn path(&self) -> &Path {
        match self {
            Rename::New(path, _) | Rename::Moved(_, path) | Rename::Removed(path) => path,
        }
    }

    fn apply(&self, names: &mut Names) {
        match self {
            Rename::New(path, file) => drop(names.insert(path.clone(), *file)),
            Rename::Removed(path) => drop(names.remove(path)),
            Rename::Moved(from, to) => {
                if let Some(file) = names.remove(from) {
                    names.insert(to.clone(), file);
                }
            }
        }
    }
}

//! A machine of files: /proc, a cgroup hierarchy, a setting, a place for directories, and another program that lives.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::cgroup::make_v1;
use crate::{Hierarchies, MARKER, Owner, Register, Removed, Resource, Roots, Setting, TemporaryFileSystem};

/// Of digits, as the names of the register's files are compared without their numbers.
const BOOT: &str = "00000000";
const EARLIER: &str = "10";
const OURS: &str = "20";
const THEIRS: &str = "30";
const PRECIOUS: &str = "precious";
/// A program that lives.
const LIVING: u32 = 4242;

/// Files by path, and directories, which have no contents.
pub(super) type Snapshot = BTreeMap<PathBuf, Option<String>>;

pub(super) struct World {
    folder: TempDir,
    /// Its register is locked.
    _living: File,
}

impl World {
    pub(super) fn new() -> World {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
        let root = folder.path();
        for dir in ["proc/self", "proc/sys/kernel/random", "proc/4242", "cg", "sys", "place/theirs", "run"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        for (file, text) in [
            ("proc/sys/kernel/random/boot_id", BOOT.to_owned()),
            ("proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup cgroup rw,memory\n".into()),
            ("proc/self/cgroup", "4:memory:/\n".into()),
            ("proc/4242/stat", stat(LIVING, 7)),
            ("place/theirs/precious", "".into()),
            ("sys/vm", EARLIER.into()),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        let living = living(root);
        World { folder, _living: living }
    }

    /// As it was before the program.
    pub(super) fn begin(&self) {
        self.restore(&Snapshot::from([("sys/vm".into(), Some(EARLIER.into()))]));
        fs::write(self.path("proc/self/stat"), stat(std::process::id(), 1)).unwrap();
    }

    /// Makes the resources, uses them, and removes them.
    pub(super) fn program(&self) {
        let (register, _) = self.register();
        let setting = Setting::at(&self.path("sys/vm"), "vm", OURS).unwrap();
        let mut entries = setting.change(&register).unwrap();
        let memory = Hierarchies::detect(register.roots()).unwrap().memory.unwrap();
        make_v1("--memory", &memory, &register, &mut entries).unwrap();
        let directory = TemporaryFileSystem::directory(0, &self.path("place"), &register).unwrap();
        fs::write(directory.path().join("data"), "").unwrap();
        let left = directory.remove().into_iter().chain(register.undo_all(entries)).filter(|removed| !removed.complete);
        assert_eq!(left.collect::<Vec<_>>(), []);
    }

    /// The next start.
    pub(super) fn start(&self) -> Vec<Removed> {
        fs::write(self.path("proc/self/stat"), stat(std::process::id(), 2)).unwrap();
        self.register().1
    }

    fn register(&self) -> (Register, Vec<Removed>) {
        Register::open_in(&self.path("run"), Roots::at(self.folder.path())).unwrap()
    }

    /// What belongs to nobody that lives, with names whose numbers are left out.
    pub(super) fn snapshot(&self) -> Snapshot {
        let mut found = Snapshot::new();
        for part in ["cg", "sys", "place", "run"] {
            self.walk(Path::new(part), &mut found);
        }
        found
    }

    fn walk(&self, folder: &Path, found: &mut Snapshot) {
        for entry in fs::read_dir(self.path(folder)).unwrap().flatten() {
            let path = folder.join(entry.file_name());
            if is_foreign(&path) {
                continue;
            }
            let is_dir = entry.path().is_dir();
            let contents = (!is_dir).then(|| unnumbered(&fs::read_to_string(entry.path()).unwrap()));
            let mut name = unnumbered(path.to_str().unwrap());
            while found.contains_key(Path::new(&name)) {
                // Another that differs by its numbers only.
                name = name.replacen("-N", "-NN", 1);
            }
            found.insert(name.into(), contents);
            if is_dir {
                self.walk(&path, found);
            }
        }
    }

    /// Makes a state again.
    pub(super) fn restore(&self, state: &Snapshot) {
        for part in ["cg", "sys", "place", "run"] {
            for entry in fs::read_dir(self.path(part)).unwrap().flatten() {
                let path = Path::new(part).join(entry.file_name());
                match entry.path().is_dir() {
                    _ if is_foreign(&path) => {}
                    true => fs::remove_dir_all(entry.path()).unwrap(),
                    false => fs::remove_file(entry.path()).unwrap(),
                }
            }
        }
        for (path, contents) in state {
            match contents {
                Some(text) => fs::write(self.path(path), text).unwrap(),
                None => fs::create_dir_all(self.path(path)).unwrap(),
            }
        }
    }

    /// The state in which another has set the setting.
    pub(super) fn with_other_setting(&self, state: &Snapshot) -> Snapshot {
        let mut state = state.clone();
        state.insert("sys/vm".into(), Some(THEIRS.into()));
        state
    }

    /// The state in which the directory of ours, if nothing proves that it is, has a file of another.
    pub(super) fn with_foreign_file(&self, state: &Snapshot) -> Option<Snapshot> {
        let directory = PathBuf::from(format!("place/stallscope-{}-N", std::process::id()));
        let is_named =
            state.values().flatten().any(|text| text.contains(directory.to_str().unwrap()) && text.ends_with('\n'));
        let is_marked = state.contains_key(&directory.join(MARKER));
        (is_named && !is_marked).then(|| {
            let mut state = state.clone();
            state.insert(directory.clone(), None);
            state.insert(directory.join(PRECIOUS), Some(String::new()));
            state
        })
    }

    /// Whatever happened, what belongs to others is there.
    pub(super) fn assert_foreign_untouched(&self, sets_it: bool, state: &Snapshot) {
        assert!(self.path("place/theirs/precious").exists());
        for path in [format!("cg/stallscope-{LIVING}-0"), format!("place/stallscope-{LIVING}-7-0/{MARKER}")] {
            assert!(self.path(&path).exists(), "{path} of a living program is gone: {state:#?}");
        }
        assert!(self.path(living_file()).exists(), "the register of a living program is gone: {state:#?}");
        let setting = fs::read_to_string(self.path("sys/vm")).unwrap();
        assert!(!sets_it || setting == THEIRS, "the setting of another was changed to {setting}: {state:#?}");
    }

    /// A start that ended has left nothing but what is foreign.
    pub(super) fn assert_clean(&self, is_filled: bool, left: &Snapshot, before: &str) {
        let pid = std::process::id().to_string();
        let ours: Vec<&PathBuf> = left.keys().filter(|path| path.to_string_lossy().contains(&pid)).collect();
        let setting = left[Path::new("sys/vm")].as_deref();
        assert!(setting == Some(EARLIER) || setting == Some(THEIRS), "the setting is {setting:?} after {before}");
        if is_filled {
            assert!(ours.iter().any(|path| path.ends_with(PRECIOUS)), "a foreign file was removed: {before}");
            assert!(ours.iter().all(|path| !path.starts_with("cg")), "{ours:?} is left of {before}");
        } else {
            assert!(ours.is_empty(), "{ours:?} is left of {before}");
        }
    }

    fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }
}

/// The register and the resources of a program that lives.
fn living(root: &Path) -> File {
    let [cgroup, directory] = [format!("cg/stallscope-{LIVING}-0"), format!("place/stallscope-{LIVING}-7-0")];
    for path in [&cgroup, &directory] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join(&directory).join(MARKER), "").unwrap();
    let owner = Owner { pid: LIVING, start_ticks: 7, boot_id: BOOT.into() };
    let mut text = format!("{{\"line\":\"owner\",\"owner\":{}}}\n", serde_json::to_string(&owner).unwrap());
    let resources = [
        Resource::Cgroup { path: root.join(cgroup) },
        Resource::Directory { path: root.join(directory), marker: MARKER.into() },
    ];
    for (id, resource) in resources.iter().enumerate() {
        text += &format!("{{\"line\":\"made\",\"id\":{id},\"made\":{}}}\n", serde_json::to_string(resource).unwrap());
    }
    fs::write(root.join(living_file()), text).unwrap();
    let file = File::open(root.join(living_file())).unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    file
}

fn living_file() -> String {
    format!("run/{LIVING}-7-{BOOT}-0.json")
}

fn is_foreign(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy();
    name == "theirs" || name.contains(&LIVING.to_string())
}

fn stat(pid: u32, start_ticks: u64) -> String {
    format!("{pid} (program) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 {start_ticks} 1 1\n")
}

/// A text without the numbers after this process's id: they count what it makes.
fn unnumbered(text: &str) -> String {
    let mark = format!("{}-", std::process::id());
    let mut parts = text.split(&mark);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + &mark + "N" + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-' || c == 'N')
    })
}

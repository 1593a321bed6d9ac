//! The register's folder: its location, its permissions, and sweeping it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::journal::{Journal, UNBORN};
use crate::effect;
use crate::outcome::{Removed, Undone};
use crate::remove::undo;
use crate::{Owner, RigError, Roots};

const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long a start waits for the files of dead owners: for a tool that outlives its program, and for the kernel, which
/// closes the files of a program one after another.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);
const REMEDY: &str = "remove it, or make it a directory of your own with mode 0700";

/// A checked folder.
#[derive(Debug)]
pub(super) struct RegisterFolder {
    path: PathBuf,
}

/// The machine's folder for this user.
pub(super) fn default_folder() -> PathBuf {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        return "/run/stallscope".into();
    }
    match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_dir()) {
        Some(folder) => Path::new(&folder).join("stallscope"),
        None => format!("/tmp/stallscope-{}", uid.as_raw()).into(),
    }
}

impl RegisterFolder {
    /// Opens the folder, or creates it. A folder that another user owns or can write to is refused: its files decide
    /// what we delete.
    pub(super) fn open(folder: &Path) -> Result<RegisterFolder, RigError> {
        let refused = |why: String| RigError::Register { path: folder.to_owned(), why, remedy: REMEDY };
        match effect::create_directory(folder, 0o700) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(refused(error.to_string())),
            _ => {}
        }
        let metadata = fs::symlink_metadata(folder).map_err(|error| refused(error.to_string()))?;
        if !metadata.is_dir() {
            return Err(refused("it is not a directory".into()));
        }
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused(format!("it belongs to user {}", metadata.uid())));
        }
        if metadata.mode() & 0o022 != 0 {
            return Err(refused(format!("others can write to it (mode {:04o})", metadata.mode() & 0o7777)));
        }
        Ok(RegisterFolder { path: folder.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The lock that excludes other programs. Held until the file is dropped.
    pub(super) fn lock(&self) -> Result<File, RigError> {
        let path = self.path.join("lock");
        let file =
            effect::open_or_create(OpenOptions::new().write(true).create(true).truncate(false).mode(0o600), &path);
        let file = file.map_err(RigError::io("open", &path))?;
        let started = Instant::now();
        while let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            if started.elapsed() > LOCK_WAIT {
                return Err(RigError::io("lock", &path)(error.into()));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(file)
    }

    /// Whether programs other than `owner` are alive and have registers here.
    pub(super) fn has_others(&self, owner: &Owner) -> bool {
        let own = format!("{}-{}-", owner.pid, owner.start_ticks);
        self.has_living(|name| !name.starts_with(&own))
    }

    fn has_living(&self, is_meant: impl Fn(&str) -> bool) -> bool {
        let files = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let meant = files.filter(|entry| is_meant(&entry.file_name().to_string_lossy()));
        let mut journals = meant.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
        // A file that cannot be taken is locked by its living owner.
        journals.any(|path| matches!(Journal::take(&path), Ok(None)))
    }

    /// Removes what that dead owner left. Does not wait for the lock of its file: the kernel frees it only after it has
    /// closed the owner's files, which takes seconds where BPF programs are among them.
    pub(super) fn sweep_dead(&self, roots: &Roots, owner: &Owner) -> Result<Vec<Removed>, RigError> {
        let mut removed = Vec::new();
        let own = format!("{}-{}-", owner.pid, owner.start_ticks);
        for entry in fs::read_dir(&self.path).map_err(RigError::io("list", &self.path))?.flatten() {
            let path = entry.path();
            let is_journal = path.extension().is_some_and(|extension| extension == "json");
            // The files of the living must not be touched.
            if !is_journal || !entry.file_name().to_string_lossy().starts_with(&own) {
                continue;
            }
            if let Some(journal) = Journal::take_from_dead(&path)?.filter(|journal| journal.owner() == Some(owner)) {
                sweep_one(journal, roots, true, &mut removed);
            }
        }
        Ok(removed)
    }

    /// Removes what dead owners left.
    pub(super) fn sweep(&self, roots: &Roots) -> Result<Vec<Removed>, RigError> {
        let mut removed = Vec::new();
        let others_live = self.has_living(|_| true);
        let until = Instant::now() + PATIENCE;
        for entry in fs::read_dir(&self.path).map_err(RigError::io("list", &self.path))?.flatten() {
            let path = entry.path();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("json") => {}
                Some(UNBORN) => {
                    // Taking it shows that no program is about to rename it; dropping it removes it.
                    if named_owner_is_dead(&path, roots) {
                        Journal::take(&path)?;
                    }
                    continue;
                }
                _ => continue,
            }
            if let Some(journal) = take_from_dying(&path, roots, until)?
                && journal.owner().is_some_and(|owner| !owner.is_alive(roots))
            {
                sweep_one(journal, roots, others_live, &mut removed);
            }
        }
        Ok(removed)
    }
}

/// Another program's file, or `None` if its owner lives, or if it is still locked then.
fn take_from_dying(path: &Path, roots: &Roots, until: Instant) -> Result<Option<Journal>, RigError> {
    loop {
        let taken = Journal::take(path)?;
        if taken.is_some() || !path.exists() || !named_owner_is_dead(path, roots) || Instant::now() > until {
            return Ok(taken);
        }
        std::thread::sleep(PAUSE);
    }
}

/// By the file's name alone, which also a file that is locked or not complete has.
fn named_owner_is_dead(path: &Path, roots: &Roots) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('-').next().is_some_and(|pid| !roots.path("/proc").join(pid).exists())
}

fn sweep_one(mut journal: Journal, roots: &Roots, others_live: bool, removed: &mut Vec<Removed>) {
    let pid = journal.owner().map_or(0, |owner| owner.pid);
    for (id, resource) in journal.present() {
        // A resource shared with a living program is left to that program. Else each start would wait for it.
        let is_left = others_live && resource.is_shared();
        let undone = if is_left { Undone::Gone } else { undo(&resource, roots, Duration::MAX) };
        // A resource still in use is used by threads of the dead program that are stuck in the kernel.
        if let Undone::Left(sentence) | Undone::InUse(sentence) = undone {
            removed.push(Removed::left(format!("{sentence} (left by process {pid})")));
            continue;
        }
        if let Undone::Removed(sentence) = undone {
            removed.push(Removed::done(format!("{sentence}, left by process {pid}, which is dead")));
        }
        if let Err(error) = journal.gone(id) {
            removed.push(Removed::left(error.to_string()));
        }
    }
}

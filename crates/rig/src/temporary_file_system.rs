//! A file system that exists for one run.
//!
//! It is a sparse image on a loop device. The loop device uses direct I/O if the backing file system supports it:
//! otherwise each block is cached twice, the second copy hides reads from the device, and a memory cgroup is charged
//! for it as well. Direct I/O was also faster where it was measured (32 MiB written and synced: 0.05 s against 0.20 s).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::child::{find_tool, run};
use crate::effect;
use crate::remove::mount::loops_of;
use crate::resource::{MARKER, PREFIX};
use crate::{Entry, Owner, Register, Removed, Resource, RigError, Roots, devices_under};

const MKFS_DEADLINE: Duration = Duration::from_secs(120);
const TOOL_DEADLINE: Duration = Duration::from_secs(30);
const SECTOR: u64 = 4096;

/// The supported file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FsKind {
    /// XFS; its tools refuse less than 300 MiB.
    Xfs,
    /// ext4.
    Ext4,
    /// btrfs; its tools refuse less than about 110 MiB.
    Btrfs,
}

impl FsKind {
    /// The file system of that name.
    pub fn from_name(name: &str) -> Option<FsKind> {
        [FsKind::Xfs, FsKind::Ext4, FsKind::Btrfs].into_iter().find(|kind| kind.name() == name)
    }

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            FsKind::Xfs => "xfs",
            FsKind::Ext4 => "ext4",
            FsKind::Btrfs => "btrfs",
        }
    }

    /// The tool, its arguments, and its Debian package. ext4's lazy initialisation is off: it would write in the
    /// background during the run.
    fn mkfs(self) -> (&'static str, &'static [&'static str], &'static str) {
        match self {
            FsKind::Xfs => ("mkfs.xfs", &["-q"], "xfsprogs"),
            FsKind::Ext4 => ("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"], "e2fsprogs"),
            FsKind::Btrfs => ("mkfs.btrfs", &["-q"], "btrfs-progs"),
        }
    }
}

/// A file system to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Which.
    pub kind: FsKind,
    /// Size of its image.
    pub size_bytes: u64,
    /// Additional arguments for mkfs.
    pub mkfs: Vec<String>,
    /// Mount options, in addition to `nosuid,nodev`.
    pub mount: Vec<String>,
}

/// A mounted temporary file system, or the plain directory that stands in for it. Dropping it removes it as
/// [`TemporaryFileSystem::remove`] does, but without a report.
#[derive(Debug)]
pub struct TemporaryFileSystem {
    path: PathBuf,
    kind: Option<FsKind>,
    device: Option<String>,
    notes: Vec<String>,
    register: Register,
    entries: Vec<Entry>,
}

impl TemporaryFileSystem {
    /// Makes a file system of this size, with its image in the directory `place`. An error leaves nothing behind.
    pub fn make(
        kind: FsKind,
        size_bytes: u64,
        place: &Path,
        register: &Register,
    ) -> Result<TemporaryFileSystem, RigError> {
        TemporaryFileSystem::make_as(&FileSystem { kind, size_bytes, mkfs: vec![], mount: vec![] }, place, register)
    }

    /// Like [`TemporaryFileSystem::make`], with options for mkfs and mount.
    pub fn make_as(wanted: &FileSystem, place: &Path, register: &Register) -> Result<TemporaryFileSystem, RigError> {
        let FileSystem { kind, size_bytes, .. } = *wanted;
        let (mkfs, mkfs_arguments, package) = kind.mkfs();
        if !rustix::process::geteuid().is_root() {
            return Err(RigError::NotRoot);
        }
        let mkfs = find_tool(mkfs).ok_or(RigError::MissingTool { tool: mkfs, package })?;
        let mut made = TemporaryFileSystem::directory(size_bytes, place, register)?;
        let folder = made.path.clone();
        let image = folder.join("image");
        let size_bytes = size_bytes.next_multiple_of(SECTOR);
        let file = fs::File::create_new(&image).map_err(RigError::io("make", &image))?;
        file.set_len(size_bytes).map_err(RigError::io("enlarge", &image))?;
        drop(file);
        register.run(Command::new(mkfs).args(mkfs_arguments).args(&wanted.mkfs).arg(&image), MKFS_DEADLINE)?;
        let device = made.attach(&image)?;
        made.mount(wanted, &device, folder.join("mount"))?;
        Ok(made)
    }

    /// Makes an empty directory in the directory `place`, which must have this much free space.
    pub fn directory(size_bytes: u64, place: &Path, register: &Register) -> Result<TemporaryFileSystem, RigError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let place = fs::canonicalize(place).map_err(RigError::io("find", place))?;
        let notes = remove_of_earlier_boots(&place, register);
        let free = free_bytes(&place)?;
        if free < size_bytes {
            return Err(RigError::NoSpace { path: place, free, needed: size_bytes });
        }
        let owner = register.owner();
        let ordinal = MADE.fetch_add(1, Ordering::Relaxed);
        let path = place.join(format!("{PREFIX}{}-{}-{ordinal}", owner.pid, owner.start_ticks));
        let mut made = TemporaryFileSystem {
            path: path.clone(),
            kind: None,
            device: None,
            notes,
            register: register.clone(),
            entries: Vec::new(),
        };
        made.enter(Resource::Directory { path: path.clone(), marker: MARKER.into() })?;
        effect::create_directory(&path, 0o700).map_err(RigError::io("make", &path))?;
        let marker = path.join(MARKER);
        let text = serde_json::to_string(owner).expect("an owner is plain data");
        effect::write(&marker, text).map_err(RigError::io("write", &marker))?;
        Ok(made)
    }

    /// The best that this machine supports: XFS, else ext4, else a plain directory. [`TemporaryFileSystem::notes`]
    /// reports each step down.
    pub fn best_available(size_bytes: u64, place: &Path, register: &Register) -> Result<TemporaryFileSystem, RigError> {
        let mut notes = Vec::new();
        for (kind, instead) in [(FsKind::Xfs, "trying ext4"), (FsKind::Ext4, "using a plain directory")] {
            match TemporaryFileSystem::make(kind, size_bytes, place, register) {
                Ok(made) => return Ok(made.with_notes(notes)),
                Err(error @ RigError::NoSpace { .. }) => return Err(error),
                Err(error @ RigError::NotRoot) => {
                    notes.push(format!("using a plain directory: {error}"));
                    break;
                }
                Err(error) => notes.push(format!("no {} file system ({error}): {instead}", kind.name())),
            }
        }
        Ok(TemporaryFileSystem::directory(size_bytes, place, register)?.with_notes(notes))
    }

    /// The directory to work in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which file system it is; `None` for a plain directory.
    pub fn kind(&self) -> Option<FsKind> {
        self.kind
    }

    /// `major:minor` of the loop device; `None` for a plain directory.
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// What was not supported, and what was found and removed, one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Unmounts, detaches and deletes. Returns what was removed and what was left.
    pub fn remove(mut self) -> Vec<Removed> {
        self.register.undo_all(std::mem::take(&mut self.entries))
    }

    fn with_notes(mut self, earlier: Vec<String>) -> TemporaryFileSystem {
        self.notes.splice(0..0, earlier);
        self
    }

    fn enter(&mut self, resource: Resource) -> Result<(), RigError> {
        self.entries.push(self.register.enter(resource)?);
        Ok(())
    }

    fn attach(&mut self, image: &Path) -> Result<String, RigError> {
        let tool = find_tool("losetup").ok_or(RigError::MissingTool { tool: "losetup", package: "mount" })?;
        self.enter(Resource::LoopDevice { backing: image.to_owned() })?;
        let register = self.register.clone();
        let attach = |direct: &str| {
            register.run(Command::new(&tool).args(["--find", "--show", direct]).arg(image), TOOL_DEADLINE)
        };
        let device = match attach("--direct-io=on") {
            Ok(device) => device,
            Err(_) => {
                // losetup attaches first and sets direct I/O afterwards.
                for device in loops_of(image, self.register.roots()) {
                    run(Command::new(&tool).arg("-d").arg(Path::new("/dev").join(device)), TOOL_DEADLINE)?;
                }
                self.notes.push("the loop device works without direct I/O, so its data is cached twice".into());
                attach("--direct-io=off")?
            }
        };
        let device = device.trim().to_owned();
        set_default_queue(&device, self.register.roots());
        Ok(device)
    }

    fn mount(&mut self, wanted: &FileSystem, device: &str, point: PathBuf) -> Result<(), RigError> {
        let tool = find_tool("mount").ok_or(RigError::MissingTool { tool: "mount", package: "mount" })?;
        fs::create_dir(&point).map_err(RigError::io("make", &point))?;
        let kind = wanted.kind;
        let fs_type = kind.name().to_owned();
        let options = ["nosuid,nodev".to_owned()].into_iter().chain(wanted.mount.iter().cloned());
        let options = options.collect::<Vec<_>>().join(",");
        self.enter(Resource::Mount { point: point.clone(), source: device.to_owned(), fs_type })?;
        let arguments = ["-t", kind.name(), "-o", &options, device];
        self.register.run(Command::new(tool).args(arguments).arg(&point), TOOL_DEADLINE)?;
        self.device = devices_under(&point, self.register.roots())?.into_iter().next().map(|device| device.number);
        self.kind = Some(kind);
        self.path = point;
        Ok(())
    }
}

impl Drop for TemporaryFileSystem {
    fn drop(&mut self) {
        self.register.undo_all(std::mem::take(&mut self.entries));
    }
}

/// Gives a loop device (`loop0` or `/dev/loop0`) the queue of a new one. It keeps what its last user set, which would
/// change what a load measures. After a change of scheduler Linux 6.18 says the default number of requests while the
/// tags are still those that were set (hctx0/tags in debugfs), and ignores a number that it already says: hence two.
pub fn set_default_queue(device: &str, roots: &Roots) {
    let depth = fs::read_to_string(roots.path("/sys/module/loop/parameters/hw_queue_depth"));
    let Some(depth) = depth.ok().and_then(|text| text.trim().parse::<u32>().ok()) else { return };
    let queue = roots.path(Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("queue"));
    let numbers = [depth.saturating_sub(1), depth].map(|number| ("nr_requests", number.to_string()));
    for (name, value) in [("scheduler", "none".to_owned())].into_iter().chain(numbers) {
        // A kernel without one of these has nothing to reset.
        let _ = fs::write(queue.join(name), value);
    }
}

fn free_bytes(place: &Path) -> Result<u64, RigError> {
    let space = rustix::fs::statvfs(place).map_err(|error| RigError::io("look at", place)(error.into()))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

/// Removes images of earlier boots: the register does not survive a reboot, but an image on disk does. Its marker holds
/// the boot's id.
fn remove_of_earlier_boots(place: &Path, register: &Register) -> Vec<String> {
    let mut removed = Vec::new();
    for child in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = child.path();
        // In a shared directory another user may make one that looks like ours.
        let uid = child.metadata().map(|metadata| metadata.uid()).ok();
        let is_ours =
            child.file_name().to_string_lossy().starts_with(PREFIX) && uid == Some(rustix::process::geteuid().as_raw());
        let marker = fs::read_to_string(path.join(MARKER)).ok().filter(|_| is_ours);
        let owner: Option<Owner> = marker.and_then(|text| serde_json::from_str(&text).ok());
        if owner.is_some_and(|owner| owner.boot_id != register.owner().boot_id)
            && let Ok(entry) = register.enter(Resource::Directory { path, marker: MARKER.into() })
            && let Some(outcome) = register.undo(entry)
        {
            removed.push(format!("{outcome}, left from before the last boot"));
        }
    }
    removed
}

//! Temporary disks, and ways in which they fail.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rig::{FsKind, Register, TemporaryFileSystem};

/// A mounted file system on a loop device; unmounted and deleted when dropped.
pub struct Disk {
    made: TemporaryFileSystem,
    // Dropped after the file system whose image it holds.
    home: tempfile::TempDir,
}

impl Disk {
    pub fn xfs() -> Disk {
        Disk::make(FsKind::Xfs, 320 << 20)
    }

    pub fn ext4(bytes: u64) -> Disk {
        Disk::make(FsKind::Ext4, bytes)
    }

    /// On an image in that directory.
    pub fn ext4_in(home: &Path, bytes: u64) -> Disk {
        Disk::make_in(FsKind::Ext4, bytes, tempfile::tempdir_in(home).unwrap())
    }

    fn make(kind: FsKind, bytes: u64) -> Disk {
        Disk::make_in(kind, bytes, tempfile::tempdir().unwrap())
    }

    fn make_in(kind: FsKind, bytes: u64, home: tempfile::TempDir) -> Disk {
        let (register, _) = Register::open().unwrap();
        Disk { made: TemporaryFileSystem::make(kind, bytes, home.path(), &register).unwrap(), home }
    }

    pub fn path(&self) -> &Path {
        self.made.path()
    }

    /// `major:minor`.
    pub fn number(&self) -> &str {
        self.made.device().unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).filter(|name| name != "lost+found").collect()
    }

    /// Shuts XFS down, as after a failed log write.
    pub fn shut_down(&self) {
        tool("xfs_io", &["-x", "-c", "shutdown", &text(self.path())]).unwrap();
    }

    /// Triggers an ext4 error, after which it is read-only.
    pub fn find_an_error(&self) {
        tool("mount", &["-o", "remount,errors=remount-ro", &text(self.path())]).unwrap();
        let device = fs::canonicalize(format!("/sys/dev/block/{}", self.number())).unwrap();
        let name = device.file_name().unwrap().to_str().unwrap();
        fs::write(format!("/sys/fs/ext4/{name}/trigger_fs_error"), "1").unwrap();
    }

    /// Truncates the disk: I/O beyond `bytes` fails.
    pub fn fail_beyond(&self, bytes: u64) {
        let inside = fs::read_dir(self.home.path()).unwrap().next().unwrap().unwrap().path();
        File::options().write(true).open(inside.join("image")).unwrap().set_len(bytes).unwrap();
    }
}

/// Writes a file that takes all free space. Called again, it takes the space freed since.
pub fn fill_up(directory: &Path) -> PathBuf {
    let path = directory.join("ballast");
    let mut file = File::options().create(true).append(true).open(&path).unwrap();
    for block in [vec![1; 1 << 20], vec![1; 4 << 10]] {
        while file.write_all(&block).and_then(|()| file.sync_data()).is_ok() {}
    }
    path
}

/// A tmpfs, unmounted when dropped.
pub struct Tmpfs {
    home: tempfile::TempDir,
}

impl Tmpfs {
    pub fn new(megabytes: u64) -> Tmpfs {
        let tmpfs = Tmpfs { home: tempfile::tempdir().unwrap() };
        tool("mount", &["-t", "tmpfs", "-o", &format!("size={megabytes}m"), "none", &text(tmpfs.path())]).unwrap();
        tmpfs
    }

    pub fn path(&self) -> &Path {
        self.home.path()
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = tool("umount", &["-l", &text(self.path())]);
    }
}

/// A file system frozen for as long as this lives.
pub struct Frozen(PathBuf);

impl Frozen {
    pub fn new(mount: &Path) -> Frozen {
        let frozen = Frozen(mount.to_owned());
        tool("fsfreeze", &["-f", &text(mount)]).unwrap();
        frozen
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = tool("fsfreeze", &["-u", &text(&self.0)]);
    }
}

pub fn text(path: &Path) -> String {
    path.display().to_string()
}

fn tool(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let complaint = || format!("{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(()) } else { Err(complaint()) }
}

//! File systems on loop devices, taken away again.
#![allow(dead_code, unreachable_pub)]

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A file system on a loop device, taken away again when dropped.
pub struct Disk {
    pub home: tempfile::TempDir,
    pub mount: PathBuf,
}

impl Disk {
    fn new(mkfs: &[&str], bytes: u64) -> Result<Disk, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("not root".to_owned());
        }
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        let (image, mount) = (home.path().join("image"), home.path().join("mount"));
        File::create(&image).and_then(|file| file.set_len(bytes)).map_err(|error| error.to_string())?;
        std::fs::create_dir(&mount).map_err(|error| error.to_string())?;
        run(mkfs[0], &[&mkfs[1..], &[&image.display().to_string()]].concat())?;
        run("mount", &["-o", "loop", &image.display().to_string(), &mount.display().to_string()])?;
        Ok(Disk { home, mount })
    }

    fn freeze(&self, flag: &str) {
        run("fsfreeze", &[flag, &self.mount.display().to_string()]).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let mount = self.mount.display().to_string();
        let _ = run("fsfreeze", &["-u", &mount]);
        if run("umount", &[&mount]).is_err() {
            let _ = run("umount", &["-l", &mount]);
        }
        assert!(self.home.path().exists());
    }
}

pub fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new(program);
    let status = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} {arguments:?}: {status}")),
        Err(error) => Err(format!("{program}: {error}")),
    }
}

pub fn disk(mkfs: &[&str], bytes: u64) -> Option<Disk> {
    Disk::new(mkfs, bytes).inspect_err(|why| println!("skipped: {why}")).ok()
}

/// Freezes the file system while it lives.
pub struct Frozen<'a>(&'a Disk);

impl<'a> Frozen<'a> {
    pub fn new(disk: &'a Disk) -> Frozen<'a> {
        disk.freeze("-f");
        Frozen(disk)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        let _ = run("fsfreeze", &["-u", &self.0.mount.display().to_string()]);
    }
}

//! Runs for a lake in S3: they are written to a lake in a temporary directory, whose files `stallscope-fleet` puts into
//! the bucket. This program has no client of such a store: that alone compiles 138 crates (docs/FLEET.md).

use std::fs::{self, DirBuilder, DirEntry, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{FlockOperation, flock};

use crate::ui::companion::{FLEET, fleet_program};
use crate::ui::failure::Failure;
use crate::ui::screen::Screen;

/// How names of such directories begin; a process id follows.
const PREFIX: &str = "stallscope-lake-";

/// A lake on its way into a bucket; removed when dropped.
pub(super) struct Aside {
    url: String,
    program: PathBuf,
    directory: PathBuf,
}

impl Aside {
    /// For `s3://BUCKET/PREFIX`; `None`: a directory.
    pub(super) fn of(to: &Path) -> Result<Option<Aside>, Failure> {
        let Some(url) = to.to_str().filter(|text| text.starts_with("s3://")) else { return Ok(None) };
        let program = fleet_program("lake add --to s3://")?;
        remove_stale();
        let directory = std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&directory);
        made.map_err(|error| Failure::path(&error, format_args!("{}: cannot create: {error}", directory.display())))?;
        Ok(Some(Aside { url: url.to_owned(), program, directory }))
    }

    /// Where the lake is.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Puts the runs into the bucket.
    pub(super) fn put(&self, screen: &Screen) -> Result<(), Failure> {
        // Not the URL as an error shows it: the program refuses one with a secret without repeating it.
        let busy = screen.busy("uploading the runs");
        let ended = Command::new(&self.program).arg("put").arg(&self.directory).arg("--to").arg(&self.url).output();
        let ended = ended.map_err(|error| {
            Failure::path(&error, format_args!("{}: cannot be run: {error}", self.program.display()))
        })?;
        drop(busy);
        String::from_utf8_lossy(&ended.stdout).lines().for_each(|line| screen.remark(line));
        if ended.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ended.stderr).trim().replace('\n', "; ");
        let said = said.strip_prefix(&format!("{FLEET}: ")).unwrap_or(&said);
        Err(Failure::like(
            ended.status.code(),
            if said.is_empty() { "the upload failed: the bucket may lack some of the runs" } else { said },
        ))
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Removes what interrupted processes of this user left: lakes that nobody holds locked.
fn remove_stale() {
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().filter_map(Result::ok);
    entries.filter(is_stale).for_each(|entry| drop(fs::remove_dir_all(entry.path())));
}

fn is_stale(entry: &DirEntry) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX))
        && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own);
    // One without a lake yet is about to get it.
    is_ours
        && File::open(entry.path().join("stallscope-lake.json"))
            .is_ok_and(|marker| flock(&marker, FlockOperation::NonBlockingLockExclusive).is_ok())
}

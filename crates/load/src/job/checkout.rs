//! `checkout`: revisions of a source tree, each checked out over the previous one as git does.
//!
//! A checkout stats every expected file (`lstat`), removes those that the new revision does not have, and writes those
//! that differ: it reads the contents from the pack, unlinks the old file and creates a new one. Unchanged files are
//! not touched.

use std::fs::File;
use std::io;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::cold::ColdMethod;
use super::home::HomeDirectory;
use super::tree::{SourceTree, Version};
use super::values::JobValues;
use crate::block;
use crate::board::{FinishedOperation, OperationLevel};
use crate::clock;
use crate::data::{FileId, FilePlace};
use crate::error::LoadError;
use crate::io_failure::IoFailure;
use crate::random::Random;
use crate::sys;
use crate::work::Worker;

/// Compression ratio of a pack.
const COMPRESSED: u64 = 4;
/// Maximum bytes per write.
const PIECE_BYTES: u64 = 1 << 20;

/// The job, resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckoutJob {
    set: usize,
    pack: usize,
    pack_bytes: u64,
    tree: SourceTree,
    /// Iterations over all revisions; 0: only create the last one.
    times: u64,
    /// Whether to drop caches before each checkout, or once per iteration.
    before_each: bool,
    cold: ColdMethod,
    classes: CheckoutClasses,
}

/// CheckoutClasses of its operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct CheckoutClasses {
    sync: usize,
    drop: usize,
    stat: usize,
    unlink: usize,
    read: usize,
    create: usize,
    checkout: usize,
}

/// A checkout in progress.
struct Step<'w, 'a> {
    job: &'w CheckoutJob,
    worker: &'w mut Worker<'a>,
    home: HomeDirectory,
    seed: u64,
    pack: Option<File>,
    buffer: Vec<u8>,
    /// `None`: no tree exists yet.
    from: Option<u64>,
    to: u64,
}

impl CheckoutJob {
    pub(super) fn resolve(values: &mut JobValues<'_, '_>) -> Result<CheckoutJob, LoadError> {
        let (set, pack) = (values.set("set").unwrap_or(0), values.set("pack").unwrap_or(0));
        let share = |key: &str| values.number(key).map(|share| share.unwrap_or(0.0));
        let (changed, added) = (share("changed")?, share("added")?);
        let (described, pack_bytes) = (&values.sets()[set], values.sets()[pack].size_bytes);
        let (files, mean_bytes) = (described.files, described.size_bytes);
        let tree = SourceTree { files, revisions: values.whole_or("revisions", 2, 2)?, changed, added, mean_bytes };
        let times = values.whole_or("times", 1, 0)?;
        let before_each = values.word("cold")?.as_deref() != Some("iteration");
        // Creating the first tree needs no system-wide sync or drop.
        let cold = if times == 0 { ColdMethod::None } else { ColdMethod::resolve(values)? };
        let mut class = |name: &str| values.class(name);
        let classes = CheckoutClasses {
            checkout: class("checkout")?,
            sync: class("sync")?,
            drop: class("drop")?,
            stat: class("stat")?,
            unlink: class("unlink")?,
            read: class("read")?,
            create: class("create")?,
        };
        Ok(CheckoutJob { set, pack, pack_bytes, tree, times, before_each, cold, classes })
    }

    /// The class whose operations consist of others.
    pub(super) fn whole(&self) -> usize {
        self.classes.checkout
    }

    pub(super) fn remark(&self) -> Option<&'static str> {
        self.cold.remark()
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        PIECE_BYTES
    }

    pub(super) fn longest_write(&self) -> u64 {
        PIECE_BYTES
    }

    pub(super) fn perform(&self, worker: &mut Worker<'_>) {
        let last = self.tree.revisions - 1;
        if self.times == 0 {
            self.check_out(worker, None, last);
            self.write_back(worker);
            return;
        }
        let mut from = last;
        for _ in 0..self.times {
            for to in 0..self.tree.revisions {
                if worker.is_over() {
                    return;
                }
                if self.before_each || to == 0 {
                    self.write_back(worker);
                    self.make_cold(worker);
                }
                self.check_out(worker, Some(from), to);
                worker.done(1);
                from = to;
            }
        }
    }

    fn write_back(&self, worker: &mut Worker<'_>) {
        let directory = HomeDirectory::of(worker).directory(worker);
        let _ = worker.time(self.classes.sync, None, || Ok(self.cold.write_back(directory).map(|()| 0)?));
    }

    fn make_cold(&self, worker: &mut Worker<'_>) {
        let pack = self.pack(HomeDirectory::of(worker));
        let place = worker.place(pack);
        let _ = worker.time(self.classes.drop, None, || {
            self.cold.drop_caches()?;
            if self.cold.by_file() {
                self.cold.drop_pages(&place?.read()?);
            }
            Ok(0)
        });
    }

    fn pack(&self, home: HomeDirectory) -> FileId {
        FileId::new(home.directory, self.pack, 0)
    }

    /// One checkout, from one revision to another.
    fn check_out(&self, worker: &mut Worker<'_>, from: Option<u64>, to: u64) {
        let start_ns = clock::now_ns();
        let class = self.classes.checkout;
        worker.recorder.begin(OperationLevel::Round, class, start_ns);
        let (home, seed) = (HomeDirectory::of(worker), worker.load.seed);
        let pack = worker.place(self.pack(home)).and_then(|place| place.read()).ok();
        let mut step = Step { job: self, worker, home, seed, pack, buffer: Vec::new(), from, to };
        let done = step.stat().and_then(|()| step.remove()).and_then(|()| step.write());
        match done {
            Some(()) => {
                let end_ns = clock::now_ns();
                let done = FinishedOperation { class, start_ns, end_ns, bytes: 0, file: None, failure: None };
                worker.recorder.finish(OperationLevel::Round, done);
            }
            None => worker.recorder.abandon(OperationLevel::Round),
        }
    }
}

/// Each of these returns `None` when the job is over.
impl Step<'_, '_> {
    /// Stats all expected files.
    fn stat(&mut self) -> Option<()> {
        let class = self.job.classes.stat;
        for file in 0..self.job.tree.files {
            if self.had(file).is_some() {
                self.act(class, file, |place| Ok(place.directory.status(&place.name).map(|_| 0)?))?;
            }
        }
        Some(())
    }

    /// Removes the files that the new revision does not have, and directories that become empty.
    fn remove(&mut self) -> Option<()> {
        let class = self.job.classes.unlink;
        for file in 0..self.job.tree.files {
            if self.had(file).is_some() && self.wanted(file).is_none() {
                self.act(class, file, |place| {
                    remove(place)?;
                    // Fails unless the directory is empty.
                    let _ = place.name.parent().map(|parent| place.directory.remove_directory(parent));
                    Ok(0)
                })?;
            }
        }
        Some(())
    }

    /// Writes the files that differ.
    fn write(&mut self) -> Option<()> {
        for file in 0..self.job.tree.files {
            let Some(version) = self.wanted(file) else { continue };
            let had = self.had(file);
            if had == Some(version) {
                continue;
            }
            let size = self.job.tree.size_bytes(self.seed, file, version);
            self.read_object(file, version, size)?;
            if had.is_some() {
                self.act(self.job.classes.unlink, file, |place| Ok(remove(place).map(|()| 0)?))?;
            }
            let bytes = &self.worker.load.bytes;
            self.act(self.job.classes.create, file, |place| {
                let made = create(place, size, |length, done| bytes.slice(file ^ (version << 40) ^ done, length));
                if made.is_err() {
                    // The next checkout would mistake a partial file for a complete one.
                    let _ = remove(place);
                }
                made
            })?;
        }
        Some(())
    }

    fn had(&self, file: u64) -> Option<Version> {
        self.job.tree.version(self.seed, file, self.from?)
    }

    fn wanted(&self, file: u64) -> Option<Version> {
        self.job.tree.version(self.seed, file, self.to)
    }

    /// Reads the compressed contents of a file at a random offset of the pack.
    fn read_object(&mut self, file: u64, version: Version, size_bytes: u64) -> Option<()> {
        let length = (size_bytes / COMPRESSED).clamp(1, PIECE_BYTES).min(self.job.pack_bytes);
        let offset = Random::new(self.seed ^ version, file).below(self.job.pack_bytes - length + 1);
        self.buffer.resize(length as usize, 0);
        let (pack, buffer, id) = (&self.pack, &mut self.buffer, self.job.pack(self.home));
        let read = || match pack {
            Some(pack) => block::read(pack, buffer, offset).map(|()| length),
            None => Err(io::Error::from(io::ErrorKind::NotFound).into()),
        };
        if self.worker.time(self.job.classes.read, Some(id), read).is_err() {
            self.worker.back_off();
        }
        (!self.worker.is_over()).then_some(())
    }

    fn act(
        &mut self,
        class: usize,
        file: u64,
        act: impl FnOnce(&FilePlace<'_>) -> Result<u64, IoFailure>,
    ) -> Option<()> {
        let id = FileId::new(self.home.directory, self.job.set, file);
        let place = self.worker.place(id);
        if self.worker.time(class, Some(id), || act(&place?)).is_err() {
            self.worker.back_off();
        }
        (!self.worker.is_over()).then_some(())
    }
}

fn remove(place: &FilePlace<'_>) -> io::Result<()> {
    place.directory.remove_file(&place.name)
}

/// Creates a file that must not exist, and its parent directories.
fn create<'b>(
    place: &FilePlace<'_>,
    size_bytes: u64,
    bytes: impl Fn(usize, u64) -> &'b [u8],
) -> Result<u64, IoFailure> {
    let file = place.create(OFlags::WRONLY | OFlags::EXCL)?;
    let mut done = 0;
    while done < size_bytes {
        let length = PIECE_BYTES.min(size_bytes - done);
        block::write(&file, bytes(length as usize, done), done)?;
        done += length;
    }
    sys::close(file.into())?;
    Ok(size_bytes)
}

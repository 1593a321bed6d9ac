//! Sources with a directory for each device or mount, which come and go.

use std::path::PathBuf;

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, RawDir, SeekFrom};

use crate::last_values::SampleWriter;
use crate::source_error::SourceError;

const LISTING_BYTES: usize = 4096;
/// While a folder counts as many folders within it as before, it is listed only at every so many samples: only where
/// one came as another one went its list has changed, and that one can no longer be read.
const UNLISTED: u32 = 5;

/// A source for one of them.
pub(crate) trait Instance {
    /// Reads it. On failure it counts as gone, and is opened again at the next sample.
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError>;

    /// Makes its metrics absent.
    fn vanish(&mut self, writer: &mut SampleWriter<'_>);
}

struct Entry<I> {
    name: Vec<u8>,
    seen: bool,
    /// `None`: ignored.
    instance: Option<I>,
}

/// The entries of a folder, followed from sample to sample. The folder stays open and is listed into one buffer.
pub(crate) struct Instances<I> {
    path: PathBuf,
    folder: Option<OwnedFd>,
    listing: Vec<u8>,
    entries: Vec<Entry<I>>,
    /// Links to the folder when it was listed, and samples since.
    links: u64,
    unlisted: u32,
}

impl<I: Instance> Instances<I> {
    /// Not opened until the first sample.
    pub(crate) fn new(path: PathBuf) -> Instances<I> {
        let listing = Vec::with_capacity(LISTING_BYTES);
        Instances { path, folder: None, listing, entries: Vec::new(), links: 0, unlisted: 0 }
    }

    /// Lists the folder, opens new entries, drops removed ones, and reads all. A missing folder has no
    /// entries: the file system's module may not be loaded yet. The first error is returned, except for files that
    /// disappeared between the listing and the reading.
    pub(crate) fn sample(
        &mut self,
        writer: &mut SampleWriter<'_>,
        mut make: impl FnMut(&str, &mut SampleWriter<'_>) -> Option<I>,
    ) -> Result<(), SourceError> {
        let scanned = self.scan(writer, &mut make);
        let mut first_error = None;
        if !matches!(scanned, Ok(true)) {
            // Unmounted, or its module unloaded: the next folder of that name is another one.
            self.folder = None;
        }
        self.entries.retain_mut(|entry| {
            if !entry.seen {
                if let Some(instance) = &mut entry.instance {
                    instance.vanish(writer);
                }
                return false;
            }
            let Some(instance) = &mut entry.instance else { return true };
            let Err(error) = instance.sample(writer) else { return true };
            instance.vanish(writer);
            self.links = 0;
            if !error.means_gone() {
                first_error.get_or_insert(error);
            }
            false
        });
        scanned.and(first_error.map_or(Ok(()), Err))
    }

    /// Makes the next sample decide again which entries to read.
    pub(crate) fn reconsider(&mut self) {
        self.entries.retain(|entry| entry.instance.is_some());
        self.links = 0;
    }

    /// Whether there are entries.
    fn scan(
        &mut self,
        writer: &mut SampleWriter<'_>,
        make: &mut impl FnMut(&str, &mut SampleWriter<'_>) -> Option<I>,
    ) -> Result<bool, SourceError> {
        if self.is_as_listed() {
            return Ok(true);
        }
        for entry in &mut self.entries {
            entry.seen = false;
        }
        let folder = match &self.folder {
            Some(folder) => {
                rustix::fs::seek(folder, SeekFrom::Start(0)).map_err(|errno| self.failed(errno))?;
                folder
            }
            None => match open_folder(&self.path) {
                Ok(folder) => self.folder.insert(folder),
                Err(rustix::io::Errno::NOENT) => return Ok(false),
                Err(errno) => return Err(self.failed(errno)),
            },
        };
        // Counted first: what comes in between is seen at the next sample.
        (self.links, self.unlisted) = (links_of(folder), 0);
        let mut listing = RawDir::new(folder, self.listing.spare_capacity_mut());
        while let Some(entry) = listing.next() {
            let entry = entry.map_err(|errno| SourceError::Read { path: self.path.clone(), errno })?;
            let name = entry.file_name().to_bytes();
            if name.starts_with(b".") {
                continue;
            }
            if let Some(entry) = self.entries.iter_mut().find(|entry| entry.name == name) {
                entry.seen = true;
            } else if let Ok(text) = std::str::from_utf8(name) {
                let instance = make(text, writer);
                self.entries.push(Entry { name: name.to_vec(), seen: true, instance });
            }
        }
        Ok(self.entries.iter().any(|entry| entry.seen))
    }

    /// Whether the list of the last listing still holds. Each folder within has a link to the folder, `..`; some file
    /// systems do not count them, and one without any may have been removed.
    fn is_as_listed(&mut self) -> bool {
        let Some(folder) = self.folder.as_ref().filter(|_| self.links > 2 && self.unlisted < UNLISTED) else {
            return false;
        };
        self.unlisted += 1;
        links_of(folder) == self.links
    }

    fn failed(&self, errno: rustix::io::Errno) -> SourceError {
        SourceError::Read { path: self.path.clone(), errno }
    }
}

/// 0 where it cannot be asked.
fn links_of(folder: &OwnedFd) -> u64 {
    rustix::fs::fstat(folder).map_or(0, |about| about.st_nlink as _)
}

fn open_folder(path: &std::path::Path) -> Result<OwnedFd, rustix::io::Errno> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

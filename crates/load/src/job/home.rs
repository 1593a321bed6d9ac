//! The directory of a thread, and its share of the work there.

use access::Directory;

use crate::work::Worker;

/// A thread's directory, and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HomeDirectory {
    /// Index of the directory.
    pub(super) directory: usize,
    /// Index among the actor's threads in that directory.
    pub(super) first: u64,
    /// Number of the actor's threads there.
    pub(super) threads: u64,
}

impl HomeDirectory {
    /// The directory of a worker's thread.
    pub(super) fn of(worker: &Worker<'_>) -> HomeDirectory {
        HomeDirectory::assigned(worker.thread.ordinal, worker.group.threads, worker.group.directories as u64)
    }

    fn assigned(ordinal: u64, threads: u64, directories: u64) -> HomeDirectory {
        let directories = directories.max(1);
        let directory = ordinal % directories;
        let threads = threads.saturating_sub(directory).div_ceil(directories).max(1);
        HomeDirectory { directory: directory as usize, first: ordinal / directories, threads }
    }

    /// This thread's share of the items in its directory.
    pub(super) fn share(self, items: u64) -> impl Iterator<Item = u64> {
        (self.first..items).step_by(self.threads as usize)
    }

    /// The data directory.
    pub(super) fn directory<'a>(self, worker: &Worker<'a>) -> &'a Directory {
        worker.load.directories()[self.directory].directory()
    }
}

#[cfg(test)]
mod tests {
    use super::HomeDirectory;

    #[test]
    fn each_item_of_each_directory_belongs_to_one_thread() {
        for (threads, directories) in [(1, 1), (3, 2), (5, 3), (4, 4), (2, 3)] {
            let mut seen = vec![0; 7 * directories];
            for ordinal in 0..threads {
                let home = HomeDirectory::assigned(ordinal, threads, directories as u64);
                home.share(7).for_each(|thing| seen[home.directory * 7 + thing as usize] += 1);
            }
            let with_threads = directories.min(threads as usize) * 7;
            assert!(seen[..with_threads].iter().all(|count| *count == 1), "{threads} {directories}: {seen:?}");
        }
    }
}

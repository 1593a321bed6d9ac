//! The directory that a thread works in, and how many others do.

use std::path::Path;

use crate::work::Worker;

/// A thread's place in its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HomeDirectory {
    /// Which of the directories.
    pub(super) directory: usize,
    /// Which of the actor's threads in that directory.
    pub(super) first: u64,
    /// How many of the actor's threads work there.
    pub(super) threads: u64,
}

impl HomeDirectory {
    /// Threads are dealt out to the directories one by one.
    pub(super) fn of(worker: &Worker<'_>) -> HomeDirectory {
        HomeDirectory::dealt(worker.thread.ordinal, worker.group.threads, worker.group.directories as u64)
    }

    fn dealt(ordinal: u64, threads: u64, directories: u64) -> HomeDirectory {
        let directories = directories.max(1);
        let directory = ordinal % directories;
        let threads = threads.saturating_sub(directory).div_ceil(directories).max(1);
        HomeDirectory { directory: directory as usize, first: ordinal / directories, threads }
    }

    /// This thread's share of so many things in its directory.
    pub(super) fn share(self, things: u64) -> impl Iterator<Item = u64> {
        (self.first..things).step_by(self.threads as usize)
    }

    /// Our directory there.
    pub(super) fn path<'a>(self, worker: &Worker<'a>) -> &'a Path {
        &worker.load.data_directories[self.directory]
    }
}

#[cfg(test)]
mod tests {
    use super::HomeDirectory;

    #[test]
    fn each_thing_of_each_directory_falls_to_one_thread() {
        for (threads, directories) in [(1, 1), (3, 2), (5, 3), (4, 4), (2, 3)] {
            let mut seen = vec![0; 7 * directories];
            for ordinal in 0..threads {
                let home = HomeDirectory::dealt(ordinal, threads, directories as u64);
                home.share(7).for_each(|thing| seen[home.directory * 7 + thing as usize] += 1);
            }
            let with_threads = directories.min(threads as usize) * 7;
            assert!(seen[..with_threads].iter().all(|count| *count == 1), "{threads} {directories}: {seen:?}");
        }
    }
}

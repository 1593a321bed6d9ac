//! The cgroups with which tasks are frozen.

use std::path::PathBuf;

use super::bounded_cache::BoundedCache;
use super::cgroup_path::freezer_words;
use crate::bytes::read_text;

/// Tasks that are remembered.
const KEPT: usize = 1024;

/// What was seen while a task was frozen: it may be gone when its wait has ended.
pub(super) struct Freezers {
    proc: PathBuf,
    seen: BoundedCache<u32, String>,
}

impl Freezers {
    pub(super) fn new(proc: PathBuf) -> Freezers {
        Freezers { proc, seen: BoundedCache::new(KEPT) }
    }

    /// `freezer cgroup /batch`, of a task that is or was frozen.
    pub(super) fn of_task(&mut self, tid: u32) -> Option<String> {
        let text = read_text(self.proc.join(format!("{tid}/cgroup"))).ok();
        if let Some(words) = text.as_deref().and_then(freezer_words) {
            self.seen.insert(tid, words);
        }
        self.seen.get(&tid).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::Freezers;

    #[test]
    fn a_task_that_is_gone_was_frozen_with_the_cgroup_that_was_seen() {
        let proc = tempfile::tempdir().unwrap();
        let folder = proc.path().join("7");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("cgroup"), "5:freezer:/batch\n").unwrap();
        let mut freezers = Freezers::new(proc.path().to_owned());
        assert_eq!(freezers.of_task(7).as_deref(), Some("freezer cgroup /batch"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((freezers.of_task(7).as_deref(), freezers.of_task(8)), (Some("freezer cgroup /batch"), None));
    }
}

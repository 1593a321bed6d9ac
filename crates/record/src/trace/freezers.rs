//! The cgroups with which tasks are frozen.

use std::path::{Path, PathBuf};

use model::detail::Freezer;

use super::bounded_cache::BoundedCache;
use super::cgroup_path::{freezer_of_v1, freezer_of_v2};
use crate::bytes::read_text;

/// Tasks that are remembered.
const KEPT: usize = 1024;
/// Cgroups above one another that are looked at.
const DEPTH: usize = 64;

/// What was seen while a task was frozen: it may be gone when its wait has ended.
pub(super) struct Freezers {
    proc: PathBuf,
    /// Where cgroups are mounted.
    cgroup: PathBuf,
    seen: BoundedCache<u32, Seen>,
}

#[derive(Clone)]
struct Seen {
    freezer: Freezer,
    /// It was frozen when it was looked at: a later look may come after the thaw.
    is_frozen: bool,
}

impl Freezers {
    pub(super) fn new(proc: PathBuf, cgroup: &Path) -> Freezers {
        Freezers { proc, cgroup: cgroup.to_owned(), seen: BoundedCache::new(KEPT) }
    }

    /// Of a task that is or was frozen: the cgroup that is to be thawed, which may be one above that of the task. Where
    /// none is frozen any more, the cgroup of the task.
    pub(super) fn of_task(&mut self, tid: u32) -> Option<Freezer> {
        let text = read_text(self.proc.join(format!("{tid}/cgroup"))).ok();
        if let Some(found) = text.as_deref().and_then(|text| self.look(text)) {
            let known = self.seen.get(&tid).is_some_and(|known| known.is_frozen);
            if found.is_frozen || !known {
                self.seen.insert(tid, found);
            }
        }
        self.seen.get(&tid).map(|seen| seen.freezer.clone())
    }

    fn look(&self, text: &str) -> Option<Seen> {
        let of_v1 = freezer_of_v1(text).map(|path| (path, false));
        let of_v2 = freezer_of_v2(text).map(|path| (path, true));
        let places = [
            (of_v2, self.cgroup.clone(), "cgroup.freeze"),
            (of_v2, self.cgroup.join("unified"), "cgroup.freeze"),
            (of_v1, self.cgroup.join("freezer"), "freezer.self_freezing"),
        ];
        let frozen = places.iter().find_map(|(freezer, mount, file)| {
            let (path, is_v2) = (*freezer)?;
            let above = Path::new(path).ancestors().take(DEPTH);
            let path = above.map(|path| path.to_str().unwrap_or_default()).find(|path| is_set(mount, path, file))?;
            Some(Seen { freezer: Freezer { cgroup: path.to_owned(), is_v2, through: 0 }, is_frozen: true })
        });
        let own = || {
            let (path, is_v2) = of_v1.or(of_v2).filter(|(path, _)| *path != "/")?;
            Some(Seen { freezer: Freezer { cgroup: path.to_owned(), is_v2, through: 0 }, is_frozen: false })
        };
        frozen.or_else(own)
    }
}

/// Whether a cgroup itself is frozen, not one above it.
fn is_set(mount: &Path, cgroup: &str, file: &str) -> bool {
    let path = mount.join(cgroup.trim_start_matches('/')).join(file);
    std::fs::read_to_string(path).is_ok_and(|text| text.trim() == "1")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Freezer, Freezers};

    fn v1(cgroup: &str) -> Option<Freezer> {
        Some(Freezer { cgroup: cgroup.to_owned(), is_v2: false, through: 0 })
    }

    fn v2(cgroup: &str) -> Option<Freezer> {
        Some(Freezer { cgroup: cgroup.to_owned(), is_v2: true, through: 0 })
    }

    fn put(folder: &Path, file: &str, text: &str) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join(file), text).unwrap();
    }

    #[test]
    fn a_task_that_is_gone_was_frozen_with_the_cgroup_that_was_seen() {
        let (proc, cgroup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = proc.path().join("7");
        put(&folder, "cgroup", "5:freezer:/batch\n");
        let mut freezers = Freezers::new(proc.path().to_owned(), cgroup.path());
        assert_eq!(freezers.of_task(7), v1("/batch"));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!((freezers.of_task(7), freezers.of_task(8)), (v1("/batch"), None));
    }

    #[test]
    fn the_cgroup_to_thaw_is_the_one_that_is_frozen() {
        let (proc, cgroup) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(&proc.path().join("7"), "cgroup", "0::/app.slice/web.service/worker\n");
        let file = "cgroup.freeze";
        put(&cgroup.path().join("app.slice/web.service/worker"), file, "0\n");
        put(&cgroup.path().join("app.slice/web.service"), file, "1\n");
        let mut freezers = Freezers::new(proc.path().to_owned(), cgroup.path());
        assert_eq!(freezers.of_task(7), v2("/app.slice/web.service"));
        // It was thawed before a later look.
        put(&cgroup.path().join("app.slice/web.service"), file, "0\n");
        assert_eq!(freezers.of_task(7), v2("/app.slice/web.service"));
        // Version 1: a cgroup above it; both versions are mounted.
        put(&proc.path().join("8"), "cgroup", "5:freezer:/batch/one\n0::/user.slice\n");
        put(&cgroup.path().join("freezer/batch/one"), "freezer.self_freezing", "0\n");
        put(&cgroup.path().join("freezer/batch"), "freezer.self_freezing", "1\n");
        assert_eq!(freezers.of_task(8), v1("/batch"));
        put(&cgroup.path().join("unified/user.slice"), file, "1\n");
        assert_eq!(freezers.of_task(8), v2("/user.slice"));
    }
}

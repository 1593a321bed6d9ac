//! A source tree that nobody wrote, in several revisions: which files there are in each, and which of them differ.
//!
//! Nothing is kept in memory: what a file is in a revision follows from the seed and its number.

use serde::{Deserialize, Serialize};

use super::sizes::size_of;
use crate::random::Random;

/// The tree and its history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct SourceTree {
    /// Files that there are in any revision.
    pub(super) files: u64,
    pub(super) revisions: u64,
    /// ThreadShare of the files, of those that are in two revisions, that differ between them.
    pub(super) changed: f64,
    /// ThreadShare of the files that only every second revision has.
    pub(super) added: f64,
    /// Mean size of a file.
    pub(super) mean_bytes: u64,
}

/// What a file holds: two revisions with the same version of a file have the same file.
pub(super) type Version = u64;

impl SourceTree {
    /// The version of a file in a revision; `None`: the revision does not have it.
    ///
    /// Revisions are old and new by turns, far apart: the new ones have files that the old ones do not have yet.
    pub(super) fn version(&self, seed: u64, file: u64, revision: u64) -> Option<Version> {
        let mut random = Random::new(seed ^ TREE, file);
        if share(&mut random) < self.added && revision.is_multiple_of(2) {
            return None;
        }
        // Two revisions have the same file where neither has one of its own.
        let own = 1.0 - (1.0 - self.changed).sqrt();
        let mut of_revision = Random::new(random.bits(), revision);
        Some(if share(&mut of_revision) < own { revision + 1 } else { 0 })
    }

    /// Size of a version of a file.
    pub(super) fn size_bytes(&self, seed: u64, file: u64, version: Version) -> u64 {
        // Versions of a file are of like size, a tenth more or less.
        let size = size_of(seed, file, self.mean_bytes);
        let part = Random::new(seed ^ TREE ^ version, file).below(size / 5 + 1);
        size - size / 10 + part
    }
}

/// Keeps the choices of a tree from being those of others with the same seed.
const TREE: u64 = 0x7472_6565;

fn share(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::SourceTree;

    const TREE: SourceTree = SourceTree { files: 20_000, revisions: 5, changed: 0.7, added: 0.4, mean_bytes: 10_000 };

    #[test]
    fn revisions_differ_in_as_many_files_as_is_said() {
        let count = |holds: &dyn Fn(u64) -> bool| (0..TREE.files).filter(|file| holds(*file)).count() as f64 / 20_000.0;
        let version = |file, revision| TREE.version(1, file, revision);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.02, "{a} {b}");
        near(count(&|file| version(file, 0).is_some()), 0.6);
        near(count(&|file| version(file, 1).is_some()), 1.0);
        let common = count(&|file| version(file, 0).is_some());
        for (a, b) in [(0, 1), (0, 4), (2, 3)] {
            near(count(&|file| version(file, a).is_some() && version(file, a) != version(file, b)) / common, 0.7);
        }
        assert!((0..5).all(|revision| version(7, revision) == version(7, revision)));
    }

    #[test]
    fn versions_have_sizes_of_their_own() {
        let sizes: Vec<u64> = (0..5).map(|version| TREE.size_bytes(1, 11, version)).collect();
        assert!(sizes.windows(2).any(|pair| pair[0] != pair[1]), "{sizes:?}");
        assert!(sizes.iter().all(|size| size * 10 <= sizes[0] * 13 && sizes[0] * 10 <= size * 13), "{sizes:?}");
    }
}

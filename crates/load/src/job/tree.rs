//! A synthetic source tree in several revisions: the files of each, and which of them differ.
//!
//! Nothing is kept in memory: a file's version in a revision derives from the seed and its number.

use serde::{Deserialize, Serialize};

use super::sizes::size_of;
use crate::random::Random;

/// The tree and its history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct SourceTree {
    /// Files of all revisions together.
    pub(super) files: u64,
    pub(super) revisions: u64,
    /// ThreadShare of the files, of those that are in two revisions, that differ between them.
    pub(super) changed: f64,
    /// ThreadShare of the files that only every second revision has.
    pub(super) added: f64,
    /// Mean size of a file.
    pub(super) mean_bytes: u64,
}

/// The version of a file's contents.
pub(super) type Version = u64;

impl SourceTree {
    /// The version of a file in a revision; `None`: the revision does not have it.
    ///
    /// Revisions alternate between old and new: the new ones have files that the old ones lack.
    pub(super) fn version(&self, seed: u64, file: u64, revision: u64) -> Option<Version> {
        let mut random = Random::new(seed ^ TREE, file);
        if share(&mut random) < self.added && revision.is_multiple_of(2) {
            return None;
        }
        // Two revisions have the same file if neither has a unique version.
        let unique = 1.0 - (1.0 - self.changed).sqrt();
        let mut of_revision = Random::new(random.bits(), revision);
        Some(if share(&mut of_revision) < unique { revision + 1 } else { 0 })
    }

    /// Size of a version of a file.
    pub(super) fn size_bytes(&self, seed: u64, file: u64, version: Version) -> u64 {
        // Sizes of a file's versions differ by up to a tenth.
        let size = size_of(seed, file, self.mean_bytes);
        let part = Random::new(seed ^ TREE ^ version, file).below(size / 5 + 1);
        size - size / 10 + part
    }
}

/// Separates the choices of a tree from others with the same seed.
const TREE: u64 = 0x7472_6565;

fn share(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::SourceTree;

    const TREE: SourceTree = SourceTree { files: 20_000, revisions: 5, changed: 0.7, added: 0.4, mean_bytes: 10_000 };

    #[test]
    fn revisions_differ_in_the_given_share_of_files() {
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
    fn versions_differ_in_size() {
        let sizes: Vec<u64> = (0..5).map(|version| TREE.size_bytes(1, 11, version)).collect();
        assert!(sizes.windows(2).any(|pair| pair[0] != pair[1]), "{sizes:?}");
        assert!(sizes.iter().all(|size| size * 10 <= sizes[0] * 13 && sizes[0] * 10 <= size * 13), "{sizes:?}");
    }
}

//! Names as in mdtest: each rank's files and directories, in a tree of directories.
//!
//! ```text
//! depth 1, branch 2, one tree for all ranks        a tree for each rank
//! test-dir.0-0/mdtest_tree.0/                      test-dir.0-0/mdtest_tree.RANK.0/
//!     file.mdtest.RANK.ITEM
//!     mdtest_tree.1/file.mdtest.RANK.ITEM              mdtest_tree.RANK.1/file.mdtest.RANK.ITEM
//!     mdtest_tree.2/file.mdtest.RANK.ITEM              mdtest_tree.RANK.2/file.mdtest.RANK.ITEM
//! ```

use serde::{Deserialize, Serialize};

use super::FileName;

/// The tree, and how many items each rank has in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemTree {
    /// Ranks.
    pub ranks: u64,
    /// Items of a rank in each directory that holds items, of each kind.
    pub per_directory: u64,
    /// Whether each rank has a tree of its own.
    pub unique: bool,
    /// Levels below the top directory.
    pub depth: u64,
    /// Directories in each directory above the lowest level.
    pub branch: u64,
    /// Whether only directories of the lowest level hold items.
    pub leaves: bool,
}

impl ItemTree {
    /// Most directories of a tree.
    pub(crate) const MOST_DIRECTORIES: u64 = 1 << 24;

    /// Directories of a tree; more than [`ItemTree::MOST_DIRECTORIES`]: too many.
    pub(crate) fn directories(&self) -> u64 {
        let levels = 0..=self.depth.min(64);
        levels.map(|level| self.of_level(level)).fold(0, u64::saturating_add)
    }

    fn of_level(&self, level: u64) -> u64 {
        self.branch.saturating_pow(level as u32)
    }

    /// The first directory that holds items, by number: level by level.
    fn first_holder(&self) -> u64 {
        if self.leaves { self.directories() - self.of_level(self.depth) } else { 0 }
    }

    /// Directories that hold items.
    pub(crate) fn holders(&self) -> u64 {
        self.directories() - self.first_holder()
    }

    /// Items of a rank, of each kind.
    pub(crate) fn items(&self) -> u64 {
        self.per_directory.saturating_mul(self.holders())
    }

    /// Items of all ranks, where each has `times` of each of its own.
    pub(crate) fn all(&self, times: u64) -> u64 {
        times.saturating_mul(self.ranks).saturating_mul(self.items())
    }

    /// The number of an item: that of a file of the set.
    pub(crate) fn number(&self, iteration: u64, is_file: bool, rank: u64, index: u64) -> u64 {
        ((iteration * 2 + u64::from(is_file)) * self.ranks + rank) * self.items() + index
    }

    /// The greatest number that items of that many iterations have, plus one.
    pub(crate) fn numbers(&self, iterations: u64) -> u64 {
        iterations.saturating_mul(2).saturating_mul(self.ranks).saturating_mul(self.items())
    }

    /// Writes the path of an item.
    pub(super) fn write(&self, number: u64, name: &mut FileName) {
        let items = self.items().max(1);
        let (index, rest) = (number % items, number / items);
        let (rank, rest) = (rest % self.ranks.max(1), rest / self.ranks.max(1));
        let per_directory = self.per_directory.max(1);
        let directory = self.first_holder() + index / per_directory;
        self.write_directory(rest / 2, rank, directory, name);
        let kind: &[u8] = if rest % 2 == 1 { b"/file.mdtest." } else { b"/dir.mdtest." };
        kind.iter().for_each(|byte| name.push(*byte));
        name.push_number(rank, 10, 1);
        name.push(b'.');
        name.push_number(directory * per_directory + index % per_directory, 10, 1);
    }

    /// Writes the path of the test's directory, which holds the trees of an iteration.
    pub(crate) fn write_top(&self, iteration: u64, name: &mut FileName) {
        name.clear();
        b"test-dir.0-".iter().for_each(|byte| name.push(*byte));
        name.push_number(iteration, 10, 1);
    }

    /// Writes the path of a directory of the tree.
    pub(crate) fn write_directory(&self, iteration: u64, rank: u64, directory: u64, name: &mut FileName) {
        self.write_top(iteration, name);
        let mut path = [0; 65];
        let (mut at, mut length) = (directory, 0);
        loop {
            path[length] = at;
            length += 1;
            if at == 0 || length == path.len() {
                break;
            }
            at = (at - 1) / self.branch.max(1);
        }
        for step in path[..length].iter().rev() {
            b"/mdtest_tree.".iter().for_each(|byte| name.push(*byte));
            if self.unique {
                name.push_number(rank, 10, 1);
                name.push(b'.');
            }
            name.push_number(*step, 10, 1);
        }
    }

    /// Bytes of the longest path.
    pub(crate) fn longest(&self, iterations: u64) -> u64 {
        let digits = |number: u64| u64::from(number.max(1).ilog10()) + 1;
        let rank = digits(self.ranks.saturating_sub(1));
        let step = 13 + digits(self.directories()) + if self.unique { rank + 1 } else { 0 };
        let item = 13 + rank + 1 + digits(self.directories().saturating_mul(self.per_directory));
        11 + digits(iterations) + step.saturating_mul(self.depth + 1) + item
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::{FileName, FileNames};
    use super::ItemTree;

    fn tree(unique: bool, leaves: bool) -> ItemTree {
        ItemTree { ranks: 3, per_directory: 4, unique, depth: 2, branch: 2, leaves }
    }

    fn path(tree: ItemTree, number: u64) -> String {
        let mut name = FileName::new();
        FileNames::Items(tree).write(number, &mut name);
        String::from_utf8(name.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn paths_are_those_of_mdtest() {
        let shared = tree(false, false);
        assert_eq!((shared.directories(), shared.items()), (7, 28));
        assert_eq!(path(shared, shared.number(0, true, 2, 0)), "test-dir.0-0/mdtest_tree.0/file.mdtest.2.0");
        assert_eq!(
            path(shared, shared.number(1, false, 0, 27)),
            "test-dir.0-1/mdtest_tree.0/mdtest_tree.2/mdtest_tree.6/dir.mdtest.0.27"
        );
        let own = tree(true, true);
        assert_eq!((own.holders(), own.items()), (4, 16));
        assert_eq!(
            path(own, own.number(0, true, 1, 0)),
            "test-dir.0-0/mdtest_tree.1.0/mdtest_tree.1.1/mdtest_tree.1.3/file.mdtest.1.12"
        );
    }

    #[test]
    fn items_of_all_ranks_kinds_and_iterations_have_paths_of_their_own() {
        for tree in [tree(false, false), tree(true, false), tree(false, true)] {
            let numbers = tree.numbers(2);
            let paths: HashSet<String> = (0..numbers).map(|number| path(tree, number)).collect();
            assert_eq!(paths.len() as u64, numbers);
            assert!(paths.iter().all(|path| path.len() as u64 <= tree.longest(2)));
        }
    }
}

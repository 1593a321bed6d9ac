//! Paths distributed as in a kernel's source tree: files per directory and depth.

use super::name::FileName;
use crate::random::Random;

/// Files in twenty directories, at the medians of twenty equal quantiles of the 4,788 directories of Linux 6.1 that
/// have files; the last value adjusts the mean to 16.4.
const FILES: [u64; 20] = [1, 44, 3, 8, 2, 18, 5, 3, 11, 128, 4, 30, 6, 2, 14, 4, 23, 7, 5, 10];
const FILES_OF_ALL: u64 = {
    let (mut sum, mut at) = (0, 0);
    while at < FILES.len() {
        sum += FILES[at];
        at += 1;
    }
    sum
};

/// Cumulative distribution of depth, in files per thousand: at the first level, at most the second, ...
const NOT_DEEPER: [u64; 9] = [14, 189, 506, 771, 920, 959, 991, 998, 1000];

/// Directories share upper levels with neighbors: bits of the directory's number that each level drops.
const SHARED_BITS: [u32; 4] = [8, 6, 4, 2];

pub(super) fn write(file: u64, name: &mut FileName) {
    let (round, mut rest) = (file / FILES_OF_ALL, file % FILES_OF_ALL);
    let mut within = 0;
    while rest >= FILES[within] {
        rest -= FILES[within];
        within += 1;
    }
    let directory = round * FILES.len() as u64 + within as u64;
    let share = Random::new(directory, 0).below(1000);
    let depth = NOT_DEEPER.iter().position(|upto| share < *upto).unwrap_or(0) + 1;
    for level in 0..depth {
        let last = level + 1 == depth;
        let bits = if last { 0 } else { SHARED_BITS.get(level).copied().unwrap_or(0) };
        // A directory with files is never a parent.
        name.push(if last { b'd' } else { b'p' });
        name.push_number(directory >> bits, 16, 1);
        name.push(b'/');
    }
    name.push(b'f');
    name.push_number(rest, 10, 1);
    name.push(b'.');
    name.push(b'c');
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::super::{FileName, FileNames};

    #[test]
    fn a_tree_has_the_width_and_depth_of_a_kernel_tree() {
        let path = |file| {
            let mut name = FileName::new();
            FileNames::Tree.write(file, &mut name);
            String::from_utf8(name.as_bytes().to_vec()).unwrap()
        };
        let paths: Vec<String> = (0..78_579).map(path).collect();
        assert_eq!(paths.iter().collect::<HashSet<_>>().len(), paths.len());
        let mut in_directory: HashMap<&str, u64> = HashMap::new();
        paths.iter().for_each(|path| *in_directory.entry(path.rsplit_once('/').unwrap().0).or_default() += 1);
        assert!((4_700..4_900).contains(&in_directory.len()), "{}", in_directory.len());
        let deep = |depth| paths.iter().filter(|path| path.matches('/').count() == depth).count() as f64 / 785.79;
        for (depth, percent) in [(2, 17.5), (3, 31.7), (4, 26.5), (5, 14.9)] {
            assert!((deep(depth) - percent).abs() < 4.0, "{} % at depth {depth}", deep(depth));
        }
    }
}

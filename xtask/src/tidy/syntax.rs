//! A source that cannot be parsed cannot be checked.

use super::finding::Finding;
use super::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let broken = |file: &File| match &file.rust {
        Some(Err(why)) => Some(Finding::new(&file.path, 1, format!("cannot be parsed ({why}); fix its syntax"))),
        _ => None,
    };
    tree.files().iter().filter_map(broken).collect()
}

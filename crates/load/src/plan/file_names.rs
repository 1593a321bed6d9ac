//! The file names of a set, resolved from a recipe.

use super::scope::Scope;
use crate::data::{FileId, FileName, FileNames, ItemTree};
use crate::error::LoadError;
use crate::recipe::{FileSetRecipe, Formula, ItemTreeRecipe, Scheme};

/// The names of a set with `files` files; random letters come from `seed`.
pub(super) fn resolve(scope: &Scope<'_>, set: &FileSetRecipe, files: u64, seed: u64) -> Result<FileNames, LoadError> {
    let subdirectories = whole(scope, set, &set.names.subdirectories, "subdirectories", 0)?;
    match set.names.scheme {
        Scheme::Numbers => Ok(FileNames::Numbers),
        Scheme::Tree => Ok(FileNames::Tree),
        Scheme::Maildir => Ok(FileNames::Maildir),
        Scheme::Items => {
            let described = set.names.items.as_ref().expect("read with the scheme");
            item_tree(scope, set, described).map(FileNames::Items)
        }
        Scheme::Bonnie { letters_first } => {
            let per_subdirectory = if subdirectories == 0 { 0 } else { files.div_ceil(subdirectories) };
            Ok(FileNames::Bonnie { letters_first, per_subdirectory, seed })
        }
        Scheme::FsMark => {
            let random_bytes = whole(scope, set, &set.names.random_bytes, "random bytes in the names", 24)?;
            let bytes = whole(scope, set, &set.names.name_bytes, "length of the names", 40)?.max(random_bytes);
            let names = FileNames::FsMark { bytes, random_bytes, subdirectories, seed };
            check_fs_mark(scope, set, files, &names).map(|()| names)
        }
    }
}

fn whole(
    scope: &Scope<'_>,
    set: &FileSetRecipe,
    formula: &Option<Formula>,
    what: &str,
    usual: u64,
) -> Result<u64, LoadError> {
    let what = format!("{what} of '{}'", set.name);
    formula.as_ref().map_or(Ok(usual), |formula| scope.whole(formula, &what, 0))
}

/// The tree of a set with names as in mdtest, which has no room for more items than it is said to.
fn item_tree(scope: &Scope<'_>, set: &FileSetRecipe, recipe: &ItemTreeRecipe) -> Result<ItemTree, LoadError> {
    let part = |formula: &Option<Formula>, what: &str, usual: u64| whole(scope, set, formula, what, usual);
    let mut tree = ItemTree {
        ranks: scope.whole(&recipe.ranks, "ranks", 1)?,
        per_directory: part(&recipe.per_directory, "items per directory", 0)?,
        unique: part(&recipe.unique, "'unique'", 0)? != 0,
        depth: part(&recipe.depth, "depth", 0)?,
        branch: part(&recipe.branch, "branch", 1)?.max(1),
        leaves: part(&recipe.leaves, "'leaves'", 0)? != 0,
    };
    let at = |formula: &Option<Formula>, why: String| Err(scope.refuse(formula.as_ref().unwrap_or(&recipe.items), why));
    if tree.depth > 64 || tree.directories() > ItemTree::MOST_DIRECTORIES {
        return at(&recipe.depth, format!("a tree has at most {} directories", ItemTree::MOST_DIRECTORIES));
    }
    if tree.per_directory == 0 {
        let items = scope.whole(&recipe.items, "items of a rank", 1)?;
        tree.per_directory = items / tree.holders();
        if tree.per_directory == 0 {
            let why = format!("{items} items are fewer than the {} directories that hold them", tree.holders());
            return Err(scope.refuse(&recipe.items, why));
        }
    }
    let iterations = part(&recipe.iterations, "iterations", 1)?;
    if tree.longest(iterations) > FileName::CAPACITY as u64 {
        return at(&recipe.depth, format!("paths would be longer than {} bytes", FileName::CAPACITY));
    }
    match tree.numbers(iterations) > FileId::MAX_FILES {
        true => at(&recipe.per_directory, "more items than supported".to_owned()),
        false => Ok(tree),
    }
}

/// Refuses names that are too long, too many, or not unique.
fn check_fs_mark(scope: &Scope<'_>, set: &FileSetRecipe, files: u64, names: &FileNames) -> Result<(), LoadError> {
    let FileNames::FsMark { bytes, random_bytes, subdirectories, .. } = *names else { return Ok(()) };
    let refuse =
        |formula: &Option<Formula>, why: String| Err(scope.refuse(formula.as_ref().unwrap_or(&set.count), why));
    if !(1..=FileNames::LONGEST).contains(&bytes) {
        let why = format!("a file name has 1 to {} bytes, not {bytes}", FileNames::LONGEST);
        return refuse(&set.names.name_bytes, why);
    }
    if subdirectories > FileNames::MOST_SUBDIRECTORIES || files > FileNames::MOST_FS_MARK_FILES {
        let (most, files) = (FileNames::MOST_SUBDIRECTORIES, FileNames::MOST_FS_MARK_FILES);
        let why = format!("at most {most} subdirectories and {files} files per directory are supported");
        return refuse(&set.names.subdirectories, why);
    }
    if !names.are_unique(files) {
        let why = format!(
            "names of {bytes} bytes with {random_bytes} random bytes are not unique for {files} files: use more \
             random bytes, or leave 8 bytes for a number"
        );
        return refuse(&set.names.random_bytes, why);
    }
    Ok(())
}

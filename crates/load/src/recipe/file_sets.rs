//! The file sets of a recipe file.

use super::items::{FileSetRecipe, ItemTreeRecipe, NamesRecipe, Scheme};
use super::plain_name::plain_name;
use super::section::{LocatedText, Section};
use crate::error::LoadError;
use crate::suggestion::nearest;
use crate::value::ValueKind;

const FILE_SET: [&str; 16] = [
    "count",
    "size",
    "fill",
    "stamped",
    "names",
    "name_bytes",
    "random_bytes",
    "subdirectories",
    "ranks",
    "items",
    "per_directory",
    "iterations",
    "unique",
    "depth",
    "branch",
    "leaves",
];
const SCHEMES: [(&str, Scheme); 7] = [
    ("numbers", Scheme::Numbers),
    ("tree", Scheme::Tree),
    ("maildir", Scheme::Maildir),
    ("fs_mark", Scheme::FsMark),
    ("mdtest", Scheme::Items),
    ("bonnie", Scheme::Bonnie { letters_first: false }),
    ("bonnie_random", Scheme::Bonnie { letters_first: true }),
];

pub(super) fn file_sets(top: &Section<'_>) -> Result<Vec<FileSetRecipe>, LoadError> {
    let read = |(name, section): (LocatedText<String>, Section<'_>)| {
        let section = section.only(&FILE_SET)?;
        let filled = section.formula("fill", ValueKind::Flag)?.is_none_or(|formula| formula.text != "0");
        let count = section.required_formula("count", ValueKind::Count)?;
        let size = section.required_formula("size", ValueKind::Size)?;
        let names = names(&section, filled)?;
        let stamped = section.formula("stamped", ValueKind::Flag)?;
        Ok(FileSetRecipe { name: plain_name(&section, name)?, count, size, filled, stamped, names })
    };
    top.named_tables("files", "file set")?.into_iter().map(read).collect()
}

fn names(section: &Section<'_>, filled: bool) -> Result<NamesRecipe, LoadError> {
    let scheme = section.word("names", &SCHEMES)?.unwrap_or(Scheme::Numbers);
    let refuse = |why: &str| Err(section.error(section.span.clone(), format!("{}: {why}", section.what)));
    if filled && scheme != Scheme::Numbers {
        return refuse("the fill names its files by number; 'names' needs 'fill = false'");
    }
    let names = NamesRecipe {
        scheme,
        name_bytes: section.formula("name_bytes", ValueKind::Count)?,
        random_bytes: section.formula("random_bytes", ValueKind::Count)?,
        subdirectories: section.formula("subdirectories", ValueKind::Count)?,
        items: if scheme == Scheme::Items { Some(item_tree(section)?) } else { None },
    };
    let lengths = names.name_bytes.is_some() || names.random_bytes.is_some();
    match scheme {
        Scheme::FsMark => Ok(names),
        _ if lengths => refuse("'name_bytes' and 'random_bytes' need 'names = \"fs_mark\"'"),
        Scheme::Numbers if names.subdirectories.is_some() => refuse("'subdirectories' needs 'names'"),
        _ => Ok(names),
    }
}

/// The tree of a set with names as in mdtest.
fn item_tree(section: &Section<'_>) -> Result<ItemTreeRecipe, LoadError> {
    Ok(ItemTreeRecipe {
        ranks: section.required_formula("ranks", ValueKind::Count)?,
        items: section.required_formula("items", ValueKind::Count)?,
        per_directory: section.formula("per_directory", ValueKind::Count)?,
        iterations: section.formula("iterations", ValueKind::Count)?,
        unique: section.formula("unique", ValueKind::Flag)?,
        depth: section.formula("depth", ValueKind::Count)?,
        branch: section.formula("branch", ValueKind::Count)?,
        leaves: section.formula("leaves", ValueKind::Flag)?,
    })
}

/// Index of the file set that a key names.
pub(super) fn set_number(
    section: &Section<'_>,
    key: &str,
    file_sets: &[FileSetRecipe],
) -> Result<Option<usize>, LoadError> {
    let Some(name) = section.text(key)? else { return Ok(None) };
    let found = file_sets.iter().position(|set| set.name == name.value);
    let remedy = || match nearest(&name.value, file_sets.iter().map(|set| set.name.as_str())) {
        Some(near) => format!("; did you mean '{near}'?"),
        None => format!("; define it under [files.{}]", name.value),
    };
    found
        .map(Some)
        .ok_or_else(|| section.error(name.span.clone(), format!("there is no file set '{}'{}", name.value, remedy())))
}

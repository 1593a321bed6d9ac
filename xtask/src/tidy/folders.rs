//! A folder of sources has at most 25 files: more are several subjects.

use std::collections::BTreeMap;
use std::path::Path;

use super::finding::Finding;
use super::tree::Tree;

const MOST: usize = 25;
const SOURCES: [&str; 6] = ["rs", "c", "h", "ts", "py", "sh"];

/// Folders that are still larger, with their number of files, which may only fall.
const LARGER: [(&str, usize); 7] = [
    ("bench", 26),
    ("crates/explain/src/blame/facts", 26),
    ("crates/load/src", 28),
    ("crates/model/src", 34),
    ("crates/record/src/trace", 43),
    ("crates/stallscope/src/recording", 27),
    ("crates/stallscope/tests/program", 64),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut sizes: BTreeMap<&Path, usize> = BTreeMap::new();
    for file in tree.files().iter().filter(|file| SOURCES.iter().any(|extension| file.has_extension(extension))) {
        *sizes.entry(file.path.parent().unwrap_or(Path::new(""))).or_default() += 1;
    }
    let limit =
        |folder: &Path| LARGER.iter().find(|(name, _)| folder == Path::new(name)).map_or(MOST, |(_, most)| *most);
    let too_large = sizes.into_iter().filter(|(folder, size)| *size > limit(folder));
    too_large
        .map(|(folder, size)| {
            Finding::new(
                folder,
                1,
                format!("{size} sources, {} are the limit; lay out folders by subject", limit(folder)),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    #[test]
    fn folders_with_too_many_sources_are_found() {
        let files: Vec<(String, &str)> = (0..26).map(|number| (format!("crates/a/src/f{number}.rs"), "")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        assert_eq!(findings(check, &files[..25]), [""; 0]);
        let found = findings(check, &files);
        assert_eq!(found, ["crates/a/src:1: 26 sources, 25 are the limit; lay out folders by subject"]);
    }
}

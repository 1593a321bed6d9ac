//! Which file of a crate imports which other.
//!
//! An import counts towards the file that defines the item: what a parent only re-exports is followed to where it comes
//! from. `mod x;` and `pub use` say how files are laid out, not what they need, and do not count.

mod resolve;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use resolve::Modules;

use super::rust::{RustFile, Scope};
use super::tree::{File, Tree};

/// The files of one crate and their imports.
#[derive(Debug)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) files: Vec<Node>,
    /// From file to file, by index, with the line of the first import.
    pub(super) imports: BTreeMap<(usize, usize), usize>,
    /// Modules that the crate's root declares, without those for tests.
    pub(super) top: BTreeSet<String>,
}

/// A file in the graph.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) path: PathBuf,
    /// Names from the crate's root; empty for the root itself.
    pub(super) module: Vec<String>,
}

impl Node {
    pub(super) fn name(&self) -> String {
        if self.module.is_empty() { "crate".into() } else { self.module.join("::") }
    }
}

impl Crate {
    /// The files that a file imports, by index.
    pub(super) fn imported_by(&self, file: usize) -> impl Iterator<Item = usize> {
        self.imports.range((file, 0)..(file + 1, 0)).map(|((_, to), _)| *to)
    }
}

/// Every crate in `crates/`, and xtask.
pub(super) fn crates(tree: &Tree) -> Vec<Crate> {
    let mut sources: BTreeMap<PathBuf, Vec<(&File, &RustFile)>> = BTreeMap::new();
    for (file, rust) in tree.rust_files().filter(|(file, _)| !file.is_test()) {
        if let Some(source) = source_folder(&file.path) {
            sources.entry(source).or_default().push((file, rust));
        }
    }
    sources.into_iter().map(|(source, files)| read(&source, &files)).collect()
}

/// `crates/NAME/src` or `xtask/src`.
fn source_folder(path: &Path) -> Option<PathBuf> {
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["crates", name, "src", _, ..] => Some(["crates", name, "src"].iter().collect()),
        ["xtask", "src", _, ..] => Some(["xtask", "src"].iter().collect()),
        _ => None,
    }
}

fn read(source: &Path, files: &[(&File, &RustFile)]) -> Crate {
    let name = source.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    let files = files.iter().filter_map(|(file, rust)| Some((module_of(&file.path, source)?, *file, &rust.scopes)));
    let files = without_test_modules(files.collect());
    let modules = Modules::of(files.iter().map(|(module, _, scopes)| (module.clone(), scopes.as_slice())));
    let top = modules.children_of_root();
    let imports = modules.imports();
    let files = files.into_iter().map(|(module, file, _)| Node { path: file.path.clone(), module }).collect();
    Crate { name, files, imports, top }
}

type Source<'a> = (Vec<String>, &'a File, &'a Vec<Scope>);

/// Leaves out the files of modules that are declared under `#[cfg(test)]`.
fn without_test_modules(files: Vec<Source<'_>>) -> Vec<Source<'_>> {
    let mut tests = BTreeSet::new();
    for (module, _, scopes) in &files {
        for scope in *scopes {
            let parent = || module.iter().chain(&scope.inline).cloned();
            tests.extend(scope.test_modules.iter().map(|test| parent().chain([test.clone()]).collect::<Vec<_>>()));
        }
    }
    let is_test = |module: &[String]| (1..=module.len()).any(|length| tests.contains(&module[..length]));
    files.into_iter().filter(|(module, _, _)| !is_test(module)).collect()
}

/// `a/b.rs` is `a::b`, `a/mod.rs` is `a`; the root is empty. `None` for another program in `bin/`.
fn module_of(path: &Path, source: &Path) -> Option<Vec<String>> {
    let inside = path.strip_prefix(source).ok()?.with_extension("");
    let mut module: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.first()? == "bin" {
        return None;
    }
    let is_root = module.len() == 1 && (module[0] == "lib" || module[0] == "main");
    if is_root || module.last()? == "mod" {
        module.pop();
    }
    Some(module)
}

#[cfg(test)]
mod tests;

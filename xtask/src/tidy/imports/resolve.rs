//! From a path in the code to the file that defines what it names.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::rust::{Import, Path, Scope};

/// Longer chains of re-exports are taken for circles of names.
const DEPTH: usize = 16;

/// All modules of a crate by their path from its root.
pub(super) struct Modules<'a> {
    modules: BTreeMap<Path, (usize, &'a Scope)>,
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Named {
    Module(Path),
    /// An item, by the index of the file that defines it.
    Item(usize),
}

impl<'a> Modules<'a> {
    /// Of the files' module paths and scopes, in the files' order.
    pub(super) fn of(files: impl Iterator<Item = (Path, &'a [Scope])>) -> Modules<'a> {
        let mut modules = BTreeMap::new();
        for (file, (module, scopes)) in files.enumerate() {
            for scope in scopes {
                modules.insert([module.as_slice(), &scope.inline].concat(), (file, scope));
            }
        }
        Modules { modules }
    }

    pub(super) fn children_of_root(&self) -> BTreeSet<String> {
        self.modules.get(&Vec::new()).map(|(_, root)| root.modules.clone()).unwrap_or_default()
    }

    /// Pairs of files, by index, with the first line that makes one import the other.
    pub(super) fn imports(&self) -> BTreeMap<(usize, usize), usize> {
        let mut found = BTreeMap::new();
        for (module, (file, scope)) in &self.modules {
            let imports = scope.imports.iter().filter(|import| !import.is_reexport);
            let imports = imports.map(|import| (self.imported(module, import), import.line));
            let mentions = scope.mentions.iter().map(|mention| (self.mentioned(module, &mention.path), mention.line));
            for (to, line) in imports.chain(mentions) {
                if let Some(to) = to.filter(|to| to != file) {
                    let first: &mut usize = found.entry((*file, to)).or_insert(line);
                    *first = line.min(*first);
                }
            }
        }
        found
    }

    fn imported(&self, module: &Path, import: &Import) -> Option<usize> {
        match (self.relative(module, &import.path, 0)?, &import.name) {
            (Named::Item(file), _) => Some(file),
            // A glob takes what the module itself holds.
            (Named::Module(path), None) => self.modules.get(&path).map(|(file, _)| *file),
            // What is taken from the module shows where it is mentioned; a function may bear the module's name, too.
            (Named::Module(path), Some(_)) => self.namesake(&path),
        }
    }

    fn mentioned(&self, module: &Path, path: &Path) -> Option<usize> {
        match self.relative(module, path, 0)? {
            Named::Item(file) => Some(file),
            Named::Module(_) => None,
        }
    }

    /// The item that its parent offers under the same name as a module.
    fn namesake(&self, module: &Path) -> Option<usize> {
        let (name, parent) = module.split_last()?;
        let (file, scope) = self.modules.get(parent)?;
        if scope.definitions.contains(name) {
            return Some(*file);
        }
        let import = scope.imports.iter().find(|import| import.name.as_ref() == Some(name))?;
        match self.relative(&parent.to_vec(), &import.path, 1)? {
            Named::Item(file) => Some(file),
            Named::Module(_) => None,
        }
    }

    /// What a path as written in a module names; `None` where it leads out of the crate or to something local.
    fn relative(&self, module: &Path, path: &[String], depth: usize) -> Option<Named> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.absolute(Vec::new(), rest, depth),
            "self" => self.absolute(module.clone(), rest, depth),
            "super" => {
                let mut from = module.clone();
                let ups = path.iter().take_while(|name| *name == "super").count();
                from.truncate(from.len().checked_sub(ups)?);
                self.absolute(from, &path[ups..], depth)
            }
            _ => self.lookup(module, path, depth),
        }
    }

    /// What names from a module downwards lead to. What no file seems to define comes from a macro there.
    fn absolute(&self, from: Path, names: &[String], depth: usize) -> Option<Named> {
        let (file, _) = self.modules.get(&from)?;
        if names.is_empty() {
            return Some(Named::Module(from));
        }
        self.lookup(&from, names, depth).or_else(|| {
            let is_from_elsewhere =
                self.modules[&from].1.imports.iter().any(|import| import.name.as_ref() == names.first());
            (!is_from_elsewhere).then_some(Named::Item(*file))
        })
    }

    /// The name in a module's scope: a child module, an import, a definition, or something from a glob.
    fn lookup(&self, module: &Path, names: &[String], depth: usize) -> Option<Named> {
        let (first, rest) = names.split_first()?;
        let (file, scope) = self.modules.get(module)?;
        if depth > DEPTH {
            return None;
        }
        let child: Path = module.iter().chain([first]).cloned().collect();
        if self.modules.contains_key(&child) {
            return self.absolute(child, rest, depth + 1);
        }
        let named = scope.imports.iter().filter(|import| import.name.as_ref() == Some(first));
        if let Some(found) = named.filter_map(|import| self.beyond(module, &import.path, rest, depth)).next() {
            return Some(found);
        }
        if scope.definitions.contains(first) {
            return Some(Named::Item(*file));
        }
        let globs = scope.imports.iter().filter(|import| import.name.is_none());
        globs.filter_map(|glob| self.beyond_glob(module, &glob.path, names, depth)).next()
    }

    fn beyond(&self, module: &Path, path: &Path, rest: &[String], depth: usize) -> Option<Named> {
        match self.relative(module, path, depth + 1)? {
            Named::Module(inner) => self.absolute(inner, rest, depth + 1),
            item @ Named::Item(_) => Some(item),
        }
    }

    fn beyond_glob(&self, module: &Path, path: &Path, names: &[String], depth: usize) -> Option<Named> {
        match self.relative(module, path, depth + 1)? {
            Named::Module(inner) => self.lookup(&inner, names, depth + 1),
            Named::Item(_) => None,
        }
    }
}

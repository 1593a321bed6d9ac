//! docs/ARCHITECTURE.md has a table of crates; it sets which crate may depend on which.

use std::collections::BTreeMap;
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

use super::finding::Finding;
use super::tree::Tree;

const PAGE: &str = "docs/ARCHITECTURE.md";

/// A workspace member in `crates/` and the workspace members it depends on, test dependencies excluded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) needs: Vec<String>,
}

/// What a crate may depend on.
#[derive(Debug, PartialEq, Eq)]
enum May {
    All,
    Only(Vec<String>),
}

/// The packages as cargo sees them.
pub(super) fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let mut command = MetadataCommand::new();
    command.manifest_path(root.join("Cargo.toml")).no_deps().other_options(["--offline".to_owned()]);
    let metadata = command.exec().map_err(|error| format!("cargo metadata failed: {error}"))?;
    let in_crates = |path: &Path| path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "crates");
    let mut packages = Vec::new();
    for package in &metadata.packages {
        let folder = package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned()).unwrap_or_default();
        if !in_crates(&folder) {
            continue;
        }
        let ours = package.dependencies.iter().filter(|needed| needed.kind != DependencyKind::Development);
        let ours = ours.filter_map(|needed| Some(needed.path.as_ref()?.file_name()?.to_owned()));
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        packages.push(Package { name, needs: ours.collect() });
    }
    Ok(packages)
}

pub(super) fn check(tree: &Tree, packages: &[Package]) -> Vec<Finding> {
    let Some(page) = tree.file(PAGE) else {
        return vec![Finding::new(PAGE, 1, "is missing; it holds the table of crates and what they may depend on")];
    };
    let charters = table(&page.text);
    let mut findings = Vec::new();
    for package in packages {
        let manifest = format!("crates/{}/Cargo.toml", package.name);
        let Some((_, may)) = charters.get(&package.name) else {
            findings.push(Finding::new(manifest, 1, format!("is not in the table of {PAGE}; add its charter there")));
            continue;
        };
        let May::Only(allowed) = may else { continue };
        for needed in package.needs.iter().filter(|needed| !allowed.contains(needed)) {
            let line = tree.file(&manifest).map_or(1, |file| line_naming(&file.text, needed));
            let what = format!("{} may not depend on {needed} ({PAGE}); join them in the program", package.name);
            findings.push(Finding::new(&manifest, line, what));
        }
    }
    for (name, (line, _)) in &charters {
        if !packages.iter().any(|package| package.name == *name) {
            findings.push(Finding::new(PAGE, *line, format!("there is no crates/{name}; remove its row or make it")));
        }
    }
    findings
}

fn line_naming(manifest: &str, needed: &str) -> usize {
    manifest.lines().position(|line| line.starts_with(needed)).map_or(1, |at| at + 1)
}

/// Rows such as ``| `crates/rig` | charter | model |``: crate name to line and permission.
fn table(page: &str) -> BTreeMap<String, (usize, May)> {
    let row = |(at, line): (usize, &str)| {
        let cells: Vec<&str> = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
        let name = cells.first()?.trim_matches('`').strip_prefix("crates/")?;
        let may = match *cells.last()? {
            "all" => May::All,
            "nothing of ours" => May::Only(Vec::new()),
            list => May::Only(list.split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect()),
        };
        Some((name.to_owned(), (at + 1, may)))
    };
    page.lines().enumerate().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::{PAGE, Package, check};
    use crate::tidy::tree::Tree;

    const TABLE: &str = "# Crates\n\n| crate | charter | may depend on |\n|---|---|---|\n\
        | `crates/model` | nouns | nothing of ours |\n| `crates/load` | pressure | model |\n\
        | `crates/program` | wiring | all |\n| `recipes/` | workloads | - |\n";

    fn package(name: &str, needs: &[&str]) -> Package {
        Package { name: name.into(), needs: needs.iter().map(|name| (*name).into()).collect() }
    }

    fn findings(packages: &[Package]) -> Vec<String> {
        let manifest = ("crates/load/Cargo.toml", "[dependencies]\nmodel.workspace = true\nrig.workspace = true\n");
        check(&Tree::of(&[(PAGE, TABLE), manifest]), packages).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_table_allows_what_it_says() {
        let packages = [package("model", &[]), package("load", &["model"]), package("program", &["load", "model"])];
        assert_eq!(findings(&packages), [""; 0]);
    }

    #[test]
    fn another_dependency_a_missing_crate_and_a_missing_row_are_found() {
        let packages = [package("model", &[]), package("load", &["model", "rig"]), package("extra", &[])];
        assert_eq!(
            findings(&packages),
            [
                "crates/load/Cargo.toml:3: load may not depend on rig (docs/ARCHITECTURE.md); join them in the program",
                "crates/extra/Cargo.toml:1: is not in the table of docs/ARCHITECTURE.md; add its charter there",
                "docs/ARCHITECTURE.md:7: there is no crates/program; remove its row or make it",
            ]
        );
    }
}

//! A crate declares the order of its top-level modules, lowest first, and its files import downwards only:
//!
//! ```toml
//! [package.metadata.layers]
//! order = [["recipe", "data"], ["board"], ["work"]]
//! ```
//!
//! Modules of one layer do not import each other. In the program, no command imports another.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::finding::Finding;
use super::imports::{self, Crate, Node};
use super::tree::Tree;

/// A crate with no more top-level modules than this needs no declaration.
const FEW: usize = 3;

/// The folder of the program's commands.
const COMMANDS: [&str; 2] = ["stallscope", "commands"];

/// Commands that may import another: importer and imported.
const COMMAND_PAIRS: [(&str, &str); 2] = [("demo", "run"), ("demo", "explain")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for graph in imports::crates(tree) {
        findings.extend(check_crate(tree, &graph));
        if graph.name == COMMANDS[0] {
            findings.extend(check_commands(&graph));
        }
    }
    findings
}

fn check_crate(tree: &Tree, graph: &Crate) -> Vec<Finding> {
    let manifest = manifest(graph);
    let text = tree.file(&manifest).map_or("", |file| file.text.as_str());
    match order(text) {
        Ok(None) if graph.top.len() > FEW => {
            let what = format!("has {} modules and no [package.metadata.layers]; declare their order", graph.top.len());
            vec![Finding::new(manifest, 1, what)]
        }
        Ok(None) => Vec::new(),
        Ok(Some(order)) => {
            let line = text.lines().position(|line| line.trim() == "[package.metadata.layers]").map_or(1, |at| at + 1);
            let listed = check_list(graph, &order);
            let mut findings: Vec<Finding> =
                listed.into_iter().map(|what| Finding::new(&manifest, line, what)).collect();
            findings.extend(check_imports(graph, &order));
            findings
        }
        Err(why) => vec![Finding::new(manifest, 1, format!("layers cannot be read: {why}"))],
    }
}

fn manifest(graph: &Crate) -> PathBuf {
    if graph.name == "xtask" { "xtask/Cargo.toml".into() } else { format!("crates/{}/Cargo.toml", graph.name).into() }
}

/// The declared layers, lowest first.
fn order(manifest: &str) -> Result<Option<Vec<Vec<String>>>, String> {
    let table: toml::Table = manifest.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let keys = ["package", "metadata", "layers", "order"];
    let mut value = toml::Value::Table(table);
    for key in keys {
        match value.as_table_mut().and_then(|table| table.remove(key)) {
            Some(inner) => value = inner,
            None => return Ok(None),
        }
    }
    value.try_into().map(Some).map_err(|error: toml::de::Error| error.message().to_owned())
}

/// Every top-level module is listed, once, and nothing else is.
fn check_list(graph: &Crate, order: &[Vec<String>]) -> Vec<String> {
    let listed: Vec<&String> = order.iter().flatten().collect();
    let set: BTreeSet<&String> = listed.iter().copied().collect();
    let missing = graph.top.iter().filter(|module| !set.contains(module));
    let unknown = set.iter().filter(|module| !graph.top.contains(**module));
    let twice = set.iter().filter(|module| listed.iter().filter(|other| other == module).count() > 1);
    let missing = missing.map(|module| format!("module {module} has no layer; add it to the order"));
    let unknown = unknown.map(|module| format!("there is no module {module}; remove it from the order"));
    let twice = twice.map(|module| format!("module {module} has two layers; keep one"));
    missing.chain(unknown).chain(twice).collect()
}

fn check_imports(graph: &Crate, order: &[Vec<String>]) -> Vec<Finding> {
    let layer = |node: &Node| match node.module.first() {
        Some(top) => order.iter().position(|layer| layer.contains(top)),
        // The root joins all modules.
        None => Some(order.len()),
    };
    let mut findings = Vec::new();
    for ((from, to), line) in &graph.imports {
        let (from, to) = (&graph.files[*from], &graph.files[*to]);
        let is_within = from.module.first() == to.module.first();
        if let (false, Some(lower), Some(upper)) = (is_within, layer(to), layer(from))
            && lower >= upper
        {
            let place = if lower == upper { "in the same layer" } else { "in a layer above" };
            let what = format!("{} may not import {}, which is {place}", from.name(), to.name());
            findings.push(Finding::new(&from.path, *line, what));
        }
    }
    findings
}

fn check_commands(graph: &Crate) -> Vec<Finding> {
    let command = |node: &Node| (node.module.first()? == COMMANDS[1]).then(|| node.module.get(1).cloned()).flatten();
    let mut findings = Vec::new();
    for ((from, to), line) in &graph.imports {
        let (from, to) = (&graph.files[*from], &graph.files[*to]);
        if let (Some(importer), Some(imported)) = (command(from), command(to))
            && importer != imported
            && !COMMAND_PAIRS.contains(&(importer.as_str(), imported.as_str()))
        {
            let what = format!("command {importer} may not import command {imported}; move what they share out");
            findings.push(Finding::new(&from.path, *line, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    const ROOT: (&str, &str) = ("crates/x/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nuse d::D;\n");

    fn found(order: &str, b: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"x\"\n{order}\n");
        let d = ("crates/x/src/d.rs", "pub struct D;\n#[cfg(test)]\nmod tests { use crate::c::C; }\n");
        let files = [ROOT, ("crates/x/Cargo.toml", &manifest), ("crates/x/src/a.rs", ""), ("crates/x/src/b.rs", b)];
        findings(check, &[files.as_slice(), &[d, ("crates/x/src/c.rs", "")]].concat())
    }

    #[test]
    fn imports_go_downwards() {
        let order = "[package.metadata.layers]\norder = [[\"d\"], [\"a\", \"b\"], [\"c\"]]";
        assert_eq!(found(order, "use crate::d::D;\n"), [""; 0]);
        assert_eq!(
            found(order, "use crate::a::A;\nuse crate::c::C;\n"),
            [
                "crates/x/src/b.rs:1: b may not import a, which is in the same layer",
                "crates/x/src/b.rs:2: b may not import c, which is in a layer above",
            ]
        );
        assert_eq!(
            found(order, "fn f(_: super::E) {}"),
            ["crates/x/src/b.rs:1: b may not import crate, which is in a layer above",]
        );
    }

    #[test]
    fn the_list_is_complete() {
        assert_eq!(
            found("[package.metadata.layers]\norder = [[\"d\", \"b\"], [\"e\", \"c\", \"c\"]]", ""),
            [
                "crates/x/Cargo.toml:3: module a has no layer; add it to the order",
                "crates/x/Cargo.toml:3: module c has two layers; keep one",
                "crates/x/Cargo.toml:3: there is no module e; remove it from the order",
            ]
        );
        let missing = "crates/x/Cargo.toml:1: has 4 modules and no [package.metadata.layers]; declare their order";
        assert_eq!(found("", ""), [missing]);
    }

    #[test]
    fn commands_are_apart_except_for_the_demo() {
        let files = [
            ("crates/stallscope/src/main.rs", "mod commands;\n"),
            ("crates/stallscope/src/commands.rs", "pub mod demo;\npub mod run;\npub mod show;\n"),
            ("crates/stallscope/src/commands/demo.rs", "use super::run::start;\n"),
            ("crates/stallscope/src/commands/run.rs", "mod drive;\nuse drive::Drive;\n"),
            ("crates/stallscope/src/commands/run/drive.rs", "use crate::commands::show::print;\n"),
            ("crates/stallscope/src/commands/show.rs", ""),
        ];
        let what = "command run may not import command show; move what they share out";
        assert_eq!(findings(check, &files), [format!("crates/stallscope/src/commands/run/drive.rs:1: {what}")]);
    }
}

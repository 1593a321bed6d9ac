//! A crate declares the order of its top-level modules, lowest first, and its files import downwards only:
//!
//! ```toml
//! [package.metadata.layers]
//! order = [["recipe", "data"], ["board"], ["work"]]
//! ```
//!
//! Modules of one layer do not import each other. The modules within one may have an order, too, under its name:
//!
//! ```toml
//! [package.metadata.layers.work]
//! order = [["plan"], ["crew"]]
//! ```
//!
//! In the program, no command imports another.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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
    match orders(text) {
        Ok(orders) if orders.is_empty() && graph.top.len() > FEW => {
            let what = format!("has {} modules and no [package.metadata.layers]; declare their order", graph.top.len());
            vec![Finding::new(manifest, 1, what)]
        }
        Ok(orders) => orders.iter().flat_map(|order| check_order(graph, &manifest, text, order)).collect(),
        Err(why) => vec![Finding::new(manifest, 1, format!("layers cannot be read: {why}"))],
    }
}

fn check_order(graph: &Crate, manifest: &Path, text: &str, order: &Order) -> Vec<Finding> {
    let table = ["package.metadata.layers"].into_iter().chain(order.within.iter().map(String::as_str));
    let heading = format!("[{}]", table.collect::<Vec<_>>().join("."));
    let line = text.lines().position(|line| line.trim() == heading).map_or(1, |at| at + 1);
    let listed = check_list(graph, order);
    let mut findings: Vec<Finding> = listed.into_iter().map(|what| Finding::new(manifest, line, what)).collect();
    findings.extend(check_imports(graph, order));
    findings
}

fn manifest(graph: &Crate) -> PathBuf {
    if graph.name == "xtask" { "xtask/Cargo.toml".into() } else { format!("crates/{}/Cargo.toml", graph.name).into() }
}

/// The order of the modules within one, or of the crate's own.
#[derive(Debug)]
struct Order {
    /// Names from the crate's root; empty for the root itself.
    within: Vec<String>,
    /// Lowest first.
    layers: Vec<Vec<String>>,
}

impl Order {
    /// The module of a file of which the order says something.
    fn module<'a>(&self, node: &'a Node) -> Option<&'a String> {
        node.module.strip_prefix(self.within.as_slice())?.first()
    }

    /// The layer of a file; `None` for one that is not within, or that is not listed.
    fn layer(&self, node: &Node) -> Option<usize> {
        match self.module(node) {
            Some(module) => self.layers.iter().position(|layer| layer.contains(module)),
            // Its root joins all modules.
            None => (node.module == self.within).then_some(self.layers.len()),
        }
    }
}

/// The declared orders, that of the crate first.
fn orders(manifest: &str) -> Result<Vec<Order>, String> {
    let mut value = toml::Value::Table(manifest.parse().map_err(why)?);
    for key in ["package", "metadata", "layers"] {
        match value.as_table_mut().and_then(|table| table.remove(key)) {
            Some(inner) => value = inner,
            None => return Ok(Vec::new()),
        }
    }
    let mut orders = Vec::new();
    add_orders(&mut Vec::new(), value, &mut orders)?;
    Ok(orders)
}

fn add_orders(within: &mut Vec<String>, table: toml::Value, orders: &mut Vec<Order>) -> Result<(), String> {
    let toml::Value::Table(mut table) = table else { return Err("layers are no table".to_owned()) };
    if let Some(order) = table.remove("order") {
        orders.push(Order { within: within.clone(), layers: order.try_into().map_err(why)? });
    }
    for (module, inner) in table {
        within.push(module);
        add_orders(within, inner, orders)?;
        within.pop();
    }
    Ok(())
}

fn why(error: toml::de::Error) -> String {
    error.message().to_owned()
}

/// Every module that is meant is listed, once, and nothing else is.
fn check_list(graph: &Crate, order: &Order) -> Vec<String> {
    let inner = || graph.files.iter().filter_map(|file| order.module(file)).cloned().collect();
    let there: BTreeSet<String> = if order.within.is_empty() { graph.top.clone() } else { inner() };
    let path = |module: &String| order.within.iter().chain([module]).cloned().collect::<Vec<_>>().join("::");
    let listed: Vec<&String> = order.layers.iter().flatten().collect();
    let set: BTreeSet<&String> = listed.iter().copied().collect();
    let missing = there.iter().filter(|module| !set.contains(module));
    let unknown = set.iter().filter(|module| !there.contains(**module));
    let twice = set.iter().filter(|module| listed.iter().filter(|other| other == module).count() > 1);
    let missing = missing.map(|module| format!("module {} has no layer; add it to the order", path(module)));
    let unknown = unknown.map(|module| format!("there is no module {}; remove it from the order", path(module)));
    let twice = twice.map(|module| format!("module {} has two layers; keep one", path(module)));
    missing.chain(unknown).chain(twice).collect()
}

fn check_imports(graph: &Crate, order: &Order) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ((from, to), line) in &graph.imports {
        let (from, to) = (&graph.files[*from], &graph.files[*to]);
        let is_within = order.module(from) == order.module(to);
        if let (false, Some(lower), Some(upper)) = (is_within, order.layer(to), order.layer(from))
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
    fn modules_within_one_have_an_order() {
        let manifest = "[package]\nname = \"x\"\n[package.metadata.layers]\norder = [[\"b\"], [\"a\"]]\n\
            [package.metadata.layers.a]\norder = [[\"low\"], [\"high\", \"gone\"]]\n";
        let files = [
            ("crates/x/Cargo.toml", manifest),
            ("crates/x/src/lib.rs", "mod a;\nmod b;\n"),
            ("crates/x/src/a.rs", "mod high;\nmod low;\nmod new;\nuse high::H;\n"),
            ("crates/x/src/a/high.rs", "use crate::a::low::L;\nuse crate::b::B;\n"),
            ("crates/x/src/a/low.rs", "mod part;\nuse part::P;\n"),
            ("crates/x/src/a/low/part.rs", "use crate::b::B;\nuse crate::a::high::H;\n"),
            ("crates/x/src/a/new.rs", ""),
            ("crates/x/src/b.rs", ""),
        ];
        assert_eq!(
            findings(check, &files),
            [
                "crates/x/Cargo.toml:5: module a::new has no layer; add it to the order",
                "crates/x/Cargo.toml:5: there is no module a::gone; remove it from the order",
                "crates/x/src/a/low/part.rs:2: a::low::part may not import a::high, which is in a layer above",
            ]
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

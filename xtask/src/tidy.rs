//! The house rules, one module each. A rule reads a [`Tree`] and returns findings.

mod attribute;
mod circles;
mod columns;
mod crates;
mod display_words;
mod finding;
mod folders;
mod hosts;
mod imports;
mod layers;
mod ledger;
mod length;
mod links;
mod names;
mod phrases;
mod purity;
mod recipes;

mod rust;
mod syntax;
mod tree;
mod unsafety;

use std::path::Path;

#[cfg(test)]
use finding::Finding;
use tree::Tree;

/// Checks every rule and prints the findings; `Ok(true)` where there are none.
pub(crate) fn run(root: &Path) -> Result<bool, String> {
    let tree = Tree::read(root)?;
    let packages = crates::packages(root)?;
    let mut findings = crates::check(&tree, &packages);
    for rule in [
        circles::check,
        layers::check,
        ledger::check,
        unsafety::check,
        names::check,
        length::check,
        phrases::check,
        display_words::check,
        purity::check,
        hosts::check,
        recipes::check,
        links::check,
        folders::check,
        columns::check,
        syntax::check,
    ] {
        findings.extend(rule(&tree));
    }
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: {} files, no findings", tree.files().len()),
        1 => println!("tidy: 1 finding"),
        many => println!("tidy: {many} findings"),
    }
    Ok(findings.is_empty())
}

/// Writes the sum of the campaigns' ledger into the page about them.
pub(crate) fn sum_campaigns(root: &Path) -> Result<bool, String> {
    ledger::update(root)
}

/// Prints the circles of imports of every crate.
pub(crate) fn list_circles(root: &Path) -> Result<bool, String> {
    print!("{}", circles::list(&Tree::read(root)?));
    Ok(true)
}

/// Findings of a rule on files given as path and text, one per line.
#[cfg(test)]
fn findings(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    let mut findings = rule(&Tree::of(files));
    findings.sort();
    findings.iter().map(Finding::to_string).collect()
}

//! The house rules, one module each. A rule reads a [`Tree`] and gives findings.

mod hosts;
mod length;
mod links;
mod names;
mod purity;
mod recipes;
mod rooms;
mod rust;
mod tree;
mod unsafety;

use std::fmt;
use std::path::{Path, PathBuf};

use tree::Tree;

/// Something against the rules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: PathBuf,
    line: usize,
    /// What it is, and what to do.
    what: String,
}

impl Finding {
    fn new(path: impl AsRef<Path>, line: usize, what: impl Into<String>) -> Finding {
        Finding { path: path.as_ref().to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

/// Checks every rule and prints the findings; `Ok(true)` where there are none.
pub(crate) fn run(root: &Path) -> Result<bool, String> {
    let tree = Tree::read(root)?;
    let packages = rooms::packages(root)?;
    let mut findings = rooms::check(&tree, &packages);
    for rule in [
        unsafety::check,
        names::check,
        length::check,
        purity::check,
        hosts::check,
        recipes::check,
        links::check,
        rust::check,
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

/// Findings of a rule on files given as path and text, one per line.
#[cfg(test)]
fn findings(rule: fn(&Tree) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    let mut findings = rule(&Tree::of(files));
    findings.sort();
    findings.iter().map(Finding::to_string).collect()
}

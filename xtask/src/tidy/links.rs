//! Relative links in Markdown pages lead somewhere.

use std::path::{Component, Path, PathBuf};

use super::finding::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.has_extension("md")) {
        let folder = file.path.parent().unwrap_or(Path::new(""));
        for (line, target) in links(&file.text) {
            let path = target.split(['#', '?']).next().unwrap_or_default();
            let is_elsewhere = path.is_empty() || path.contains(':');
            if !is_elsewhere && !resolve(folder, path).is_some_and(|path| tree.has(&path)) {
                let what = format!("the link to {target} leads nowhere; fix it or write the page");
                findings.push(Finding::new(&file.path, line, what));
            }
        }
    }
    findings
}

/// Targets of `[text](target)` with their lines, code left out.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        // An indented block is code, too.
        if in_code || line.starts_with("    ") {
            continue;
        }
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        found.extend(targets.map(|(target, _)| (at + 1, target.split(' ').next().unwrap_or_default())));
    }
    found
}

fn resolve(folder: &Path, target: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => path.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    #[test]
    fn links_are_resolved_from_their_page() {
        let page = "[a](../README.md#part) [b](B.md) [c](../crates/) [d](https://example.net/x) [e](#here)\n\
            ```\n[f](nowhere.md)\n```\nsee [g](nowhere.md) and [h](../../outside.md)\n";
        let found = findings(check, &[("docs/A.md", page), ("docs/B.md", ""), ("README.md", ""), ("crates/x", "")]);
        assert_eq!(
            found,
            [
                "docs/A.md:5: the link to ../../outside.md leads nowhere; fix it or write the page",
                "docs/A.md:5: the link to nowhere.md leads nowhere; fix it or write the page",
            ]
        );
    }
}

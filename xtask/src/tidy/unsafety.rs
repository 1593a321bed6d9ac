//! `unsafe` lives in modules named `sys`, and every crate root makes the compiler enforce it.

use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust_files().filter(|(file, _)| !is_sys(&file.path)) {
        // Tokens rather than syntax trees, to cover macros and attributes.
        for token in rust.tokens.iter().filter(|token| token.text == "unsafe") {
            findings.push(Finding::new(&file.path, token.line, "unsafe outside a module named sys; move it there"));
        }
    }
    for file in tree.files() {
        if let Some(source) = source_of_root(&file.path) {
            let has_sys = tree.files().iter().any(|other| other.path.starts_with(&source) && is_sys(&other.path));
            let wanted = if has_sys { "#![deny(unsafe_code)]" } else { "#![forbid(unsafe_code)]" };
            if !file.text.lines().any(|line| line.trim() == wanted) {
                findings.push(Finding::new(&file.path, 1, format!("a crate root without {wanted}; add it")));
            }
        }
    }
    findings
}

fn is_sys(path: &Path) -> bool {
    path.iter().any(|part| part == "sys" || part == "sys.rs")
}

/// The `src` folder, if the file is a crate root.
fn source_of_root(path: &Path) -> Option<PathBuf> {
    let source = path.parent()?;
    let is_root = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    is_root.then(|| source.to_owned())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    #[test]
    fn unsafe_is_found_outside_sys_and_in_macros_but_not_in_text() {
        let found = findings(
            check,
            &[
                ("crates/a/src/sys.rs", "fn f() { unsafe { g() } }"),
                ("crates/a/src/sys/map.rs", "fn f() { unsafe { g() } }"),
                (
                    "crates/a/src/b.rs",
                    "// unsafe\nconst C: &str = \"unsafe\";\nfn f() { println!(\"{}\", unsafe { g() }) }",
                ),
            ],
        );
        assert_eq!(found, ["crates/a/src/b.rs:3: unsafe outside a module named sys; move it there"]);
    }

    #[test]
    fn a_crate_root_forbids_or_with_a_sys_module_denies() {
        let found = findings(
            check,
            &[
                ("crates/a/src/lib.rs", "#![forbid(unsafe_code)]"),
                ("crates/b/src/lib.rs", "#![forbid(unsafe_code)]"),
                ("crates/b/src/sys.rs", ""),
                ("crates/c/src/lib.rs", "//! Nothing"),
                ("xtask/src/main.rs", "#![deny(unsafe_code)]"),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/b/src/lib.rs:1: a crate root without #![deny(unsafe_code)]; add it",
                "crates/c/src/lib.rs:1: a crate root without #![forbid(unsafe_code)]; add it",
                "xtask/src/main.rs:1: a crate root without #![forbid(unsafe_code)]; add it",
            ]
        );
    }
}

//! No catch-all modules: a function lives with the noun it serves.

use super::finding::Finding;
use super::tree::Tree;

const FORBIDDEN: [&str; 8] = ["util", "utils", "common", "helper", "helpers", "logic", "misc", "stuff"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let what = |name: &str| format!("a module called {name} says nothing; name it after the noun it serves");
    let mut findings = Vec::new();
    for (file, rust) in tree.rust_files() {
        let parts = file.path.iter().filter_map(|part| part.to_str()).map(|part| part.trim_end_matches(".rs"));
        for name in parts.filter(|name| FORBIDDEN.contains(name)) {
            findings.push(Finding::new(&file.path, 1, what(name)));
        }
        for pair in rust.tokens.windows(2).filter(|pair| pair[0].text == "mod") {
            if FORBIDDEN.contains(&pair[1].text.as_str()) {
                findings.push(Finding::new(&file.path, pair[1].line, what(&pair[1].text)));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    #[test]
    fn catch_all_names_are_found_in_files_folders_and_inline_modules() {
        let found = findings(
            check,
            &[
                ("crates/a/src/utils.rs", ""),
                ("crates/a/src/common/x.rs", ""),
                ("crates/a/src/b.rs", "fn common() {}\nmod logic {}\n"),
            ],
        );
        let lines: Vec<_> = found.iter().map(|finding| finding.split(": ").next().unwrap()).collect();
        assert_eq!(lines, ["crates/a/src/b.rs:2", "crates/a/src/common/x.rs:1", "crates/a/src/utils.rs:1"]);
    }
}

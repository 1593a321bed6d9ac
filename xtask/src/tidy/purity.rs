//! Pure crates use no file system, process, clock or randomness outside tests.

use super::finding::Finding;
use super::rust::Token;
use super::tree::Tree;

const PURE: [&str; 13] = [
    "anonymize",
    "model",
    "statistics",
    "lifecycle",
    "condition",
    "explain",
    "compare",
    "export",
    "report",
    "page",
    "simulate",
    "top",
    "trial",
];
const STD_MODULES: [&str; 4] = ["fs", "process", "net", "env"];
const CLOCKS: [&str; 2] = ["SystemTime", "Instant"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_pure = |name: &str| PURE.contains(&name);
    for (file, rust) in tree.rust_files().filter(|(file, _)| file.crate_name().is_some_and(is_pure) && !file.is_test())
    {
        let crate_name = file.crate_name().unwrap_or_default();
        for (line, name) in impure(&rust.tokens).into_iter().filter(|(line, _)| !rust.is_test(*line)) {
            let what = format!("{crate_name} is pure and may not use {name}; take the value as an argument");
            findings.push(Finding::new(&file.path, line, what));
        }
    }
    findings
}

fn impure(tokens: &[Token]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let follows = |wanted: &[&str]| {
            tokens[at + 1..].iter().map(|token| token.text.as_str()).take(wanted.len()).eq(wanted.iter().copied())
        };
        if !follows(&[":", ":"]) {
            continue;
        }
        let after = &tokens[at + 3..];
        match token.text.as_str() {
            "std" => found.extend(
                first_names(after)
                    .filter(|name| STD_MODULES.contains(&name.text.as_str()))
                    .map(|name| (name.line, format!("std::{}", name.text))),
            ),
            clock if CLOCKS.contains(&clock) && after.first().is_some_and(|name| name.text == "now") => {
                found.push((token.line, format!("{clock}::now")));
            }
            "rand" => found.push((token.line, "rand".into())),
            _ => {}
        }
    }
    found
}

/// The name after `std::`, or all names directly inside the braces.
fn first_names(after: &[Token]) -> impl Iterator<Item = &Token> {
    let mut depth = 0;
    let mut names = Vec::new();
    for token in after {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if depth <= 1 => names.push(token),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names.into_iter()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn names(crate_name: &str, text: &str) -> Vec<String> {
        let path = format!("crates/{crate_name}/src/a.rs");
        let name =
            |finding: String| finding.split("may not use ").nth(1).unwrap().split(';').next().unwrap().to_owned();
        findings(check, &[(&path, text)]).into_iter().map(name).collect()
    }

    #[test]
    fn paths_and_groups_are_found() {
        assert_eq!(names("explain", "use std::fs::File;"), ["std::fs"]);
        assert_eq!(names("model", "use std::{fmt, env, collections::{BTreeMap}};"), ["std::env"]);
        assert_eq!(names("report", "fn f() { std::process::exit(1) }"), ["std::process"]);
        assert_eq!(names("report", "fn f() { let t = std::time::Instant::now(); }"), ["Instant::now"]);
        assert_eq!(names("explain", "fn f() { rand::random() }"), ["rand"]);
    }

    #[test]
    fn other_modules_tests_and_impure_crates_are_left_alone() {
        assert_eq!(names("explain", "use std::fmt; fn fs(rand: u8) {} struct S { env: std::time::Instant }"), [""; 0]);
        assert_eq!(names("explain", "#[cfg(test)]\nmod tests { use std::fs; }"), [""; 0]);
        assert_eq!(names("record", "use std::fs;"), [""; 0]);
    }
}

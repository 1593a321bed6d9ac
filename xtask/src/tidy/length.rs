//! A file has one subject, a function one job. These are the outer limits, not the aim.

use super::finding::Finding;
use super::rust::Function;
use super::tree::{File, Tree};

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 40;

/// As clippy counts them, `self` among them.
const PARAMETERS: usize = 7;

/// Marks a function that is long because it is a table. On the line before the function or inside it.
const TABLE: &str = "// tidy: table";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, rust) in tree.rust_files().filter(|(file, _)| !file.is_test()) {
        let lines: Vec<&str> = file.text.lines().collect();
        if lines.len() > FILE_LINES {
            let what = format!("{} lines, {FILE_LINES} are the limit; split it by subject", lines.len());
            findings.push(Finding::new(&file.path, FILE_LINES + 1, what));
        }
        for function in rust.functions.iter().filter(|function| !rust.is_test(*function.lines.start())) {
            findings.extend(check_function(file, &lines, function));
        }
    }
    findings
}

fn check_function(file: &File, lines: &[&str], function: &Function) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |what: String| findings.push(Finding::new(&file.path, *function.lines.start(), what));
    let Function { name, parameters, .. } = function;
    let length = function.lines.clone().count();
    if length > FUNCTION_LINES && !is_table(lines, function) {
        find(format!("{name} has {length} lines, {FUNCTION_LINES} are the limit; give it one job"));
    }
    if *parameters > PARAMETERS {
        find(format!("{name} has {parameters} parameters, {PARAMETERS} are the limit; group them in a struct"));
    }
    findings
}

fn is_table(lines: &[&str], function: &Function) -> bool {
    let from = function.lines.start().saturating_sub(2);
    lines[from..(*function.lines.end()).min(lines.len())].iter().any(|line| line.trim_start().starts_with(TABLE))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn function(before: &str, lines: usize) -> String {
        format!("{before}fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn long_functions_are_found_but_not_in_tests_and_tables() {
        let check = |text: &str| findings(check, &[("crates/a/src/b.rs", text)]);
        assert_eq!(check(&function("", 40)), [""; 0]);
        let too_long = "crates/a/src/b.rs:2: f has 41 lines, 40 are the limit; give it one job";
        assert_eq!(check(&function("/// A comment.\n", 41)), [too_long]);
        assert_eq!(check(&function("// tidy: table\n", 41)), [""; 0]);
        assert_eq!(check(&format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function("", 41))), [""; 0]);
    }

    #[test]
    fn many_parameters_are_found_with_self_among_them() {
        let text =
            |extra: &str| format!("impl A {{\n    fn f(&self, a: A, b: A, c: A, d: A, e: A, f: A{extra}) {{}}\n}}\n");
        assert_eq!(findings(check, &[("crates/a/src/b.rs", &text(""))]), [""; 0]);
        let too_many = "crates/a/src/b.rs:2: f has 8 parameters, 7 are the limit; group them in a struct";
        assert_eq!(findings(check, &[("crates/a/src/b.rs", &text(", g: A"))]), [too_many]);
    }

    #[test]
    fn long_files_are_found_unless_they_are_tests() {
        let text = "\n".repeat(401);
        let found = findings(check, &[("crates/a/src/b.rs", &text), ("crates/a/src/b/tests.rs", &text)]);
        assert_eq!(found, ["crates/a/src/b.rs:401: 401 lines, 400 are the limit; split it by subject"]);
    }
}

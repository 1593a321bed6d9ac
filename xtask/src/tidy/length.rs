//! A file has one subject, a function one job. These are the outer limits, not the aim.

use super::finding::Finding;
use super::rust::Function;
use super::tree::Tree;

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 80;

/// The comment that lets a function be long because it is a table. On the line before it or inside of it.
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
            let length = function.lines.clone().count();
            if length > FUNCTION_LINES && !is_table(&lines, function) {
                let name = &function.name;
                let what = format!("{name} has {length} lines, {FUNCTION_LINES} are the limit; give it one job");
                findings.push(Finding::new(&file.path, *function.lines.start(), what));
            }
        }
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
        assert_eq!(check(&function("", 80)), [""; 0]);
        let too_long = "crates/a/src/b.rs:2: f has 81 lines, 80 are the limit; give it one job";
        assert_eq!(check(&function("/// A comment.\n", 81)), [too_long]);
        assert_eq!(check(&function("// tidy: table\n", 81)), [""; 0]);
        assert_eq!(check(&format!("#[cfg(test)]\nmod tests {{\n{}}}\n", function("", 81))), [""; 0]);
    }

    #[test]
    fn long_files_are_found_unless_they_are_tests() {
        let text = "\n".repeat(401);
        let found = findings(check, &[("crates/a/src/b.rs", &text), ("crates/a/src/b/tests.rs", &text)]);
        assert_eq!(found, ["crates/a/src/b.rs:401: 401 lines, 400 are the limit; split it by subject"]);
    }
}

//! Sources have lines of at most 120 columns: code, comments and texts. rustfmt leaves long comments and texts alone.

use std::collections::HashSet;

use super::finding::Finding;
use super::tree::{File, Tree};

/// As rustfmt.toml has it.
const WIDTH: usize = 120;
/// Columns of a tab.
const TAB: usize = 4;
const SOURCES: [&str; 8] = ["rs", "c", "h", "ts", "css", "py", "sh", "awk"];
/// What programs write, or wrote elsewhere, and a table of rows.
const FOREIGN: [&str; 5] = [
    "crates/page/web/dist",
    "crates/compare/src/foreign/samples",
    "crates/hung/tests/dumps",
    "fuzz/seeds",
    "fleet/generator/src/issue.rs",
];
/// Languages whose texts go on in the next line.
const CONTINUED: [&str; 3] = ["rs", "c", "h"];
/// A text of more columns than this, of a language in which it cannot go on, may stand alone.
const LONG_TEXT: usize = 60;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files().iter().filter(|file| is_source(file)).flat_map(check_file).collect()
}

fn is_source(file: &File) -> bool {
    let is_ours = FOREIGN.iter().all(|folder| !file.path.starts_with(folder));
    let is_script = || file.text.starts_with("#!") || file.path.ends_with("Makefile");
    is_ours && (SOURCES.iter().any(|extension| file.has_extension(extension)) || is_script())
}

fn check_file(file: &File) -> Vec<Finding> {
    let raw = if file.has_extension("rs") { raw_lines(&file.text) } else { HashSet::new() };
    let long = file.text.lines().enumerate().filter(|(at, line)| columns(line) > WIDTH && !raw.contains(&(at + 1)));
    let is_continued = CONTINUED.iter().any(|extension| file.has_extension(extension));
    long.filter(|(_, line)| can_be_wrapped(line) && (is_continued || longest_text(line) <= LONG_TEXT))
        .map(|(at, line)| {
            let what = format!("{} columns, {WIDTH} are the limit; wrap it", columns(line));
            Finding::new(&file.path, at + 1, what)
        })
        .collect()
}

fn columns(line: &str) -> usize {
    line.chars().map(|sign| if sign == '\t' { TAB } else { 1 }).sum()
}

/// Not a line of one word, such as an address.
fn can_be_wrapped(line: &str) -> bool {
    line.trim().trim_start_matches(['/', '#', '*', '!', ' ']).contains(' ')
}

/// Columns of the longest text between quotation marks, from its begin to its end or that of the line.
fn longest_text(line: &str) -> usize {
    let (mut longest, mut length, mut mark, mut is_escaped) = (0, 0, None, false);
    for sign in line.chars() {
        match mark {
            None if "\"'`".contains(sign) => (mark, length) = (Some(sign), 0),
            None => {}
            Some(open) if sign == open && !is_escaped => (mark, longest) = (None, longest.max(length)),
            Some(_) => length += 1,
        }
        is_escaped = sign == '\\' && !is_escaped;
    }
    longest.max(length)
}

/// Lines within raw strings, which cannot be continued: quoted output, a time line.
fn raw_lines(text: &str) -> HashSet<usize> {
    let mut lines = HashSet::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(at) = rest.find("r#\"").into_iter().chain(rest.find("r\"")).min() {
        let (opening, closing) = if rest[at..].starts_with("r#") { (3, "\"#") } else { (2, "\"") };
        line += rest[..at].matches('\n').count();
        let inside = &rest[at + opening..];
        let length = inside.find(closing).unwrap_or(inside.len());
        let last = line + inside[..length].matches('\n').count();
        lines.extend(line..=last);
        (line, rest) = (last, &inside[length..]);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    #[test]
    fn long_lines_of_sources_are_found_but_not_where_they_cannot_be_wrapped() {
        let long = format!("// {}\n", "word ".repeat(25));
        let found =
            findings(check, &[("a.rs", &long), ("scripts/a", &format!("#!/bin/sh\n# {long}")), ("a.md", &long)]);
        assert_eq!(
            found,
            ["a.rs:1: 128 columns, 120 are the limit; wrap it", "scripts/a:2: 130 columns, 120 are the limit; wrap it"]
        );
        let address = format!("// https://example.net/{}\n", "a".repeat(120));
        let raw = format!("let a = r#\"\n{long}\"#;\n");
        let text = format!("echo \"{}\" >&2\n", "word ".repeat(25));
        assert_eq!(findings(check, &[("a.rs", &address), ("b.rs", &raw), ("c.sh", &text)]), [""; 0]);
    }
}

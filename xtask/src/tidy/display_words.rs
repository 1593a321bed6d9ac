//! What decides is a type or an id, never what people read: the crates that explain and advise compare no text of
//! several words.

use super::finding::Finding;
use super::tree::Tree;

const CRATES: [&str; 3] = ["explain", "remedy", "report"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_one = |name: &str| CRATES.contains(&name);
    for (file, rust) in tree.rust_files().filter(|(file, _)| file.crate_name().is_some_and(is_one) && !file.is_test()) {
        for compared in rust.compared.iter().filter(|text| is_for_people(&text.text) && !rust.is_test(text.line)) {
            let what = format!("compares the words {:?}; compare a type or an id", compared.text);
            findings.push(Finding::new(&file.path, compared.line, what));
        }
    }
    findings
}

/// Two words with a blank between them; what the kernel writes in one word is none.
fn is_for_people(text: &str) -> bool {
    let mut words = text.split(' ').filter(|word| word.chars().filter(char::is_ascii_alphabetic).count() > 1);
    words.next().is_some() && words.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    #[test]
    fn words_may_be_printed_but_not_compared() {
        let source = "fn f(title: &str) -> bool {
    println!(\"a lock\");
    title == \"its own timer\"
        || title.contains(\"idle in transaction\")
        || matches(title, \"two words\")
        || title.ends_with(\" waiting\")
        || match title { \"dirty pages\" => true, \"dirty_pages\" => false, _ => false }
}
#[cfg(test)]
mod tests { fn f(a: &str) -> bool { a == \"a lock\" } }";
        let found = findings(check, &[("crates/explain/src/a.rs", source), ("crates/export/src/a.rs", source)]);
        let said = |line: usize, words: &str| {
            format!("crates/explain/src/a.rs:{line}: compares the words {words:?}; compare a type or an id")
        };
        assert_eq!(found, [said(3, "its own timer"), said(4, "idle in transaction"), said(7, "dirty pages")]);
    }
}

//! Words and phrases that a kernel engineer would have to translate. CONTRIBUTING.md has the terms to use.
//!
//! Names in code count as well: `has_told` and `HasTold` hold the word "told".

use super::finding::Finding;
use super::tree::{File, Tree};

/// The phrases, and what to write.
const BANNED: [(&str, &str); 69] = [
    ("told", "report, record, emit, log"),
    ("tell of", "report"),
    ("tells of", "report"),
    ("tell who", "report"),
    ("tells who", "report"),
    ("tell what", "report"),
    ("tells what", "report"),
    ("tell how", "report"),
    ("tells how", "report"),
    ("tell that", "report"),
    ("tells that", "report"),
    ("tell whether", "show"),
    ("tells whether", "show"),
    ("mend", "fix"),
    ("mends", "fix"),
    ("mended", "fixed"),
    ("whoever", "name the actor"),
    ("likewise", "also, or leave it out"),
    ("anew", "again"),
    ("thereby", "leave it out"),
    ("for want of", "without"),
    ("held back by", "throttled by"),
    ("put off", "preempted, deferred"),
    ("played", "simulated, run"),
    ("throwaway", "temporary"),
    ("throw away file", "temporary"),
    ("throw away directory", "temporary"),
    ("each way", "reads and writes separately"),
    ("memory box", "memory cgroup"),
    ("memory boxes", "memory cgroups"),
    ("in the place of", "instead of"),
    ("happenings", "events"),
    ("lookout", "recent history"),
    ("outbox", "queue"),
    ("one by one", "individually"),
    ("as it were", "leave it out"),
    ("no free request", "request (tag) wait"),
    ("ends of the chains", "root blockers"),
    // Relative clauses without a noun.
    ("own affair", "say what is not followed"),
    ("own will", "by itself, voluntarily"),
    ("not so where", "unless"),
    ("one whom", "name the task"),
    ("of who", "name the task"),
    ("by who", "name the task"),
    ("with who", "name the task"),
    ("count for who", "name the task"),
    ("counts for who", "name the task"),
    ("looks for who", "name the task"),
    ("than that one", "name the thing"),
    ("of that one", "name the thing"),
    ("to that one", "name the thing"),
    ("that one is", "name the thing"),
    ("that one was", "name the thing"),
    ("that one has", "name the thing"),
    ("that one had", "name the thing"),
    ("that one did", "name the thing"),
    ("that one does", "name the thing"),
    ("that one may", "name the thing"),
    ("that one must", "name the thing"),
    ("that one woke", "name the thing"),
    ("who waits for its", "a task that waits"),
    ("who waits for room", "a task that waits"),
    ("who waits for such", "a task that waits"),
    ("who lets", "the task that lets"),
    ("who was woken", "the waiter that was woken"),
    ("who reads again", "a task that reads again"),
    ("so that who", "name the task"),
    ("what for is", "name what it waits for"),
    ("is not there", "is missing, unsupported"),
];

/// Comment that lets the next phrase on its line stand: an old key that readers accept, a quotation.
const QUOTED: &str = "tidy: quoted";

/// A word in lower case, or a sign, with its line.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    text: String,
    line: usize,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.files().iter().filter(|file| is_ours(file) && !is_exempt(file));
    files.flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let words = words(&file.text);
    let lines: Vec<&str> = file.text.lines().collect();
    let mut findings = Vec::new();
    for (phrase, remedy) in BANNED {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        let found = words.windows(wanted.len()).filter(|words| words.iter().map(|word| &word.text).eq(&wanted));
        for word in found.map(|words| &words[0]).filter(|word| !is_quoted(file, lines[word.line - 1])) {
            findings.push(Finding::new(&file.path, word.line, format!("\"{phrase}\": write {remedy}")));
        }
    }
    findings
}

fn is_ours(file: &File) -> bool {
    let extensions = ["rs", "md", "ts", "toml", "c", "h", "sh", "py"];
    let is_script = || file.text.starts_with("#!") || file.path.ends_with("Makefile");
    extensions.iter().any(|extension| file.has_extension(extension)) || is_script()
}

fn is_exempt(file: &File) -> bool {
    // The journal keeps what was written when it was.
    file.path.ends_with("xtask/src/tidy/phrases.rs") || file.path.starts_with("docs/journal")
}

/// The glossary's rows, and the old names that readers still accept.
fn is_quoted(file: &File, line: &str) -> bool {
    let is_glossary = file.path.ends_with("CONTRIBUTING.md") && line.starts_with('|');
    is_glossary || line.contains("alias = ") || line.contains(QUOTED)
}

/// Words in their order. What joins the words of a name or a paragraph's lines is left out; other signs part phrases.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mut word = String::new();
        let mut before = ' ';
        let mut end = |word: &mut String| {
            if !word.is_empty() {
                words.push(Word { text: std::mem::take(word), line: at + 1 });
            }
        };
        for sign in line.trim_start().trim_start_matches(['/', '!', '#', '*', '>', ' ']).chars() {
            if sign.is_uppercase() && before.is_lowercase() || !sign.is_alphanumeric() {
                end(&mut word);
            }
            if sign.is_alphanumeric() {
                word.extend(sign.to_lowercase());
            } else if !" _-`*".contains(sign) {
                word.push(sign);
                end(&mut word);
            }
            before = sign;
        }
        end(&mut word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(path: &str, text: &str) -> usize {
        findings(check, &[(path, text)]).len()
    }

    #[test]
    fn phrases_are_found_in_prose_names_and_across_lines() {
        for bad in [
            "It was told.",
            "fn has_told_it()",
            "struct HasTold;",
            "// for\n// want of it",
            "a throw-away file",
            "What that one did before is unknown.",
            "Pages of who wrote them.",
        ] {
            assert_eq!(found("xtask/src/a.rs", bad), 1, "{bad}");
        }
        assert_eq!(
            findings(check, &[("a/b.md", "x\nand likewise y")]),
            ["a/b.md:2: \"likewise\": write also, or leave it out"]
        );
    }

    #[test]
    fn parts_of_words_other_sentences_and_quotations_are_left_alone() {
        for good in [
            "recommended, amend",
            "It will tell. What follows",
            "#[serde(alias = \"memory_box\")]",
            "told // tidy: quoted",
            "Who froze it is unknown. It says which disk that one process used.",
        ] {
            assert_eq!(found("xtask/src/a.rs", good), 0, "{good}");
        }
        assert_eq!(found("CONTRIBUTING.md", "| told | report |"), 0);
        assert_eq!(found("a.svg", "told"), 0);
        assert_eq!(found("scripts/a", "told"), 0);
        assert_eq!(found("a/script", "#!/bin/sh\n# told"), 1);
    }
}

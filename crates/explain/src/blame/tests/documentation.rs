//! docs/RULES.md is what the rules say.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::blame::{Rule, rules};

const HEAD: &str = "\
# Rules

What `stallscope explain` concludes where a row does not say itself what its task waited for. `explain --why` and \
`rules` of each stall in
`explain --json` name the rules that an answer rests on. Each rule is tested by its example, and the answer to that \
example needs the rule.

In an example, a column is a millisecond and a line is what one thread did: `s` asleep, `w` runnable, `=` in a call or \
a request. The words
behind it are what the recorder noted: `waker`, the thread that ended the sleep; `stack`, where the thread slept; \
`awaits`, what its system call was for.
The answer is the causes of all slow operations with their times in ms, and the chain of thread 7's longest one.

This page is generated from the rules in `crates/explain`: `make generated`.
";

fn section(rule: &Rule) -> String {
    let mut text = format!("\n## {}\n\n{}\n", rule.id, rule.concludes);
    for (word, what) in [("From", rule.from), ("Because", rule.because), ("Not where", rule.unless)] {
        let _ = write!(text, "\n- {word}: {what}");
    }
    let lines = rule.example.timeline.lines().map(str::trim).filter(|line| !line.is_empty());
    let halves: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once('|')).collect();
    let width = halves.iter().map(|(head, _)| head.len()).max().unwrap_or(0);
    let lines: Vec<String> = halves.iter().map(|(head, rest)| format!("{head:width$}|{rest}")).collect();
    let _ = write!(text, "\n\n```\n{}\n```\n", lines.join("\n"));
    match (rule.example.causes, rule.example.chain) {
        ("", _) => text.push_str("\nAnswer: nothing was slow.\n"),
        (causes, "") => _ = writeln!(text, "\nAnswer: {causes}."),
        (causes, chain) => _ = writeln!(text, "\nAnswer: {causes}. Chain: {chain}."),
    }
    text
}

#[test]
fn rules_md_is_generated() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/RULES.md");
    let generated = HEAD.to_owned() + &rules().map(section).collect::<String>();
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, generated).unwrap();
    } else {
        let page = fs::read_to_string(&path).unwrap_or_default();
        assert!(page == generated, "docs/RULES.md is stale: run 'make generated' and commit it");
    }
}

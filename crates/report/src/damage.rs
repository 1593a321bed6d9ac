//! What damaged runs lack: the lines above any text, and the fields of any document.

use std::fmt::Write as _;

use model::damage::Damage;
use serde_json::{Value, json};

use crate::number::counted;
use crate::style::{Style, printable};

/// Damaged parts named above a text.
const NAMED: usize = 5;

/// A run and its damage.
#[derive(Debug, Clone, Copy)]
pub struct OfRun<'a> {
    /// Its name.
    pub run: &'a str,
    /// What it lacks; empty: nothing.
    pub damage: &'a [Damage],
}

/// The lines above a text; empty for runs without damage.
pub fn banner(runs: &[OfRun<'_>], style: Style) -> String {
    let mut text = String::new();
    for OfRun { run, damage } in runs.iter().filter(|run| !run.damage.is_empty()) {
        let run = printable(run);
        let parts = counted(damage.len() as u64, "part");
        let title = format!("INCOMPLETE: {parts} of {run} damaged or missing; the figures lack what was lost");
        let _ = writeln!(text, "{}", style.bad(&title));
        for damage in damage.iter().take(NAMED) {
            let _ = writeln!(text, " {}", style.remark(&printable(&damage.to_string())));
        }
        if damage.len() > NAMED {
            let more = format!(" and {} more: stallscope check {run}", damage.len() - NAMED);
            let _ = writeln!(text, "{}", style.faint(&more));
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// The document with `complete` and `damage`.
#[must_use]
pub fn added(mut document: Value, runs: &[OfRun<'_>]) -> Value {
    if let Some(object) = document.as_object_mut() {
        object.insert("complete".to_owned(), runs.iter().all(|run| run.damage.is_empty()).into());
        object.insert("damage".to_owned(), values(runs));
    }
    document
}

/// All damage as a list.
pub fn values(runs: &[OfRun<'_>]) -> Value {
    let of_run = |of: &OfRun<'_>| of.damage.iter().map(|damage| value(of.run, damage)).collect::<Vec<_>>();
    runs.iter().flat_map(of_run).collect()
}

fn value(run: &str, damage: &Damage) -> Value {
    let (from_ns, to_ns) = damage.span_ns.unzip();
    json!({
        "run": run,
        "file": damage.file,
        "table": damage.table,
        "offset": damage.offset,
        "bytes": damage.bytes,
        "rows": damage.rows,
        "from_ns": from_ns,
        "to_ns": to_ns.filter(|to_ns| *to_ns != u64::MAX),
        "why": damage.why,
    })
}

#[cfg(test)]
mod tests {
    use model::damage::Damage;
    use serde_json::json;

    use super::{OfRun, added, banner};
    use crate::style::Style;

    #[test]
    fn a_damaged_run_is_named_and_a_whole_one_is_not() {
        let damage: Vec<Damage> = (1..=7).map(|line| Damage::of_file("journal", format!("line {line}"))).collect();
        let [whole, damaged] = [OfRun { run: "a", damage: &[] }, OfRun { run: "b\x1b", damage: &damage }];
        assert_eq!(banner(&[whole], Style::PLAIN), "");
        let text = banner(&[whole, damaged], Style::PLAIN);
        assert!(text.starts_with("INCOMPLETE: 7 parts of b\\u{1b} damaged or missing"), "{text}");
        assert!(text.contains(" journal: line 5\n and 2 more: stallscope check b"), "{text}");
        assert_eq!(added(json!({"x": 1}), &[whole]), json!({"x": 1, "complete": true, "damage": []}));
        let document = added(json!({}), &[whole, damaged]);
        assert_eq!((&document["complete"], document["damage"].as_array().unwrap().len()), (&false.into(), 7));
        assert_eq!((&document["damage"][0]["run"], &document["damage"][0]["rows"]), (&"b\x1b".into(), &json!(null)));
    }
}

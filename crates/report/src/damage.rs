//! What runs lack, damaged or lost by the recording: the lines above any text, and the fields of any document.

use std::fmt::Write as _;

use explain::blame::Untraced;
use model::damage::Damage;
use model::lost::Lost;
use model::preflight::Subject;
use model::quantity::counted;
use serde_json::{Value, json};

use crate::style::{Style, printable};

/// Damaged parts named above a text, and losses.
const NAMED: usize = 5;

/// A run and what it lacks.
#[derive(Debug, Clone, Copy)]
pub struct OfRun<'a> {
    /// Its name.
    pub run: &'a str,
    /// What cannot be read; empty: nothing.
    pub damage: &'a [Damage],
    /// What was not written; empty: nothing.
    pub lost: &'a [Lost],
    /// What its answer would rest on and was not traced; empty: nothing.
    pub untraced: &'a [Untraced],
}

impl OfRun<'_> {
    /// Whether it lacks nothing.
    pub fn is_whole(&self) -> bool {
        self.damage.is_empty() && self.lost.is_empty() && self.untraced.is_empty()
    }
}

/// The lines above a text; empty for runs that lack nothing.
pub fn banner(runs: &[OfRun<'_>], style: Style) -> String {
    let mut text = String::new();
    for OfRun { run, damage, lost, untraced } in runs.iter().filter(|run| !run.is_whole()) {
        let run = printable(run);
        if !damage.is_empty() {
            let parts = counted(damage.len() as u64, "part");
            let title = format!("INCOMPLETE: {parts} of {run} damaged or missing; the figures lack what was lost");
            let _ = writeln!(text, "{}", style.bad(&title));
            named(&mut text, damage, &run, style);
        }
        if !lost.is_empty() {
            let title = format!("INCOMPLETE: the recording of {run} lost data; the figures lack it");
            let _ = writeln!(text, "{}", style.bad(&title));
            named(&mut text, lost, &run, style);
        }
        for Untraced { subject, why, remedy, .. } in *untraced {
            let title = format!("INCOMPLETE: {}", untraced_words(*subject));
            let _ = writeln!(text, "{}", style.bad(&title));
            let because = [why, remedy].into_iter().flatten().map(|words| printable(words)).collect::<Vec<_>>();
            if !because.is_empty() {
                let _ = writeln!(text, " {}", style.remark(&because.join("; ")));
            }
        }
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn named<T: ToString>(text: &mut String, all: &[T], run: &str, style: Style) {
    for one in all.iter().take(NAMED) {
        let _ = writeln!(text, " {}", style.remark(&printable(&one.to_string())));
    }
    if all.len() > NAMED {
        let more = format!(" and {} more: stallscope check {run}", all.len() - NAMED);
        let _ = writeln!(text, "{}", style.faint(&more));
    }
}

/// The document with `complete`, `damage`, `lost` and `untraced`.
#[must_use]
pub fn added(mut document: Value, runs: &[OfRun<'_>]) -> Value {
    if let Some(object) = document.as_object_mut() {
        object.insert("complete".to_owned(), runs.iter().all(OfRun::is_whole).into());
        object.insert("damage".to_owned(), values(runs));
        object.insert("lost".to_owned(), lost_values(runs));
        object.insert("untraced".to_owned(), runs.iter().flat_map(|run| run.untraced).map(untraced).collect());
    }
    document
}

fn lost_values(runs: &[OfRun<'_>]) -> Value {
    let value = |run: &str, lost: &Lost| {
        json!({"run": run, "what": lost.what, "count": lost.count,
        "at_ns": lost.at_ns, "why": lost.why})
    };
    runs.iter().flat_map(|of| of.lost.iter().map(move |lost| value(of.run, lost))).collect()
}

/// What was not traced, and what is therefore unknown.
pub fn untraced_words(subject: Subject) -> &'static str {
    match subject {
        Subject::Operations => {
            "System calls and sleeps were not traced: which operations were slow, and why, is unknown"
        }
        Subject::Disk => "Block requests were not traced: what happened at the disk is unknown",
        Subject::Locks => "Locks were not traced: who held them is known by wakeups only",
        Subject::Memory => "Reclaim was not traced: what it cost is known by stacks only",
    }
}

/// What was not traced, why, and the time that is unexplained for it, ns: `null` if it is unknown which operations were
/// slow.
pub(crate) fn untraced(untraced: &Untraced) -> Value {
    let Untraced { subject, why, remedy, time_ns } = untraced;
    let words = untraced_words(*subject);
    json!({"subject": subject.name(), "words": words, "why": why, "remedy": remedy, "unexplained_ns": time_ns})
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
    use model::lost::Lost;
    use serde_json::json;

    use super::{OfRun, added, banner};
    use crate::style::Style;

    #[test]
    fn a_damaged_run_is_named_and_a_whole_one_is_not() {
        let damage: Vec<Damage> = (1..=7).map(|line| Damage::of_file("journal", format!("line {line}"))).collect();
        let whole = OfRun { run: "a", damage: &[], lost: &[], untraced: &[] };
        let damaged = OfRun { run: "b\x1b", damage: &damage, lost: &[], untraced: &[] };
        assert_eq!(banner(&[whole], Style::PLAIN), "");
        let text = banner(&[whole, damaged], Style::PLAIN);
        assert!(text.starts_with("INCOMPLETE: 7 parts of b\\u{1b} damaged or missing"), "{text}");
        assert!(text.contains(" journal: line 5\n and 2 more: stallscope check b"), "{text}");
        let expected = json!({"x": 1, "complete": true, "damage": [], "lost": [], "untraced": []});
        assert_eq!(added(json!({"x": 1}), &[whole]), expected);
        let document = added(json!({}), &[whole, damaged]);
        assert_eq!((&document["complete"], document["damage"].as_array().unwrap().len()), (&false.into(), 7));
        assert_eq!((&document["damage"][0]["run"], &document["damage"][0]["rows"]), (&"b\x1b".into(), &json!(null)));
    }

    #[test]
    fn what_a_recording_lost_is_named_and_makes_it_incomplete() {
        let spans = Lost { what: "spans".into(), count: Some(3), at_ns: Some(5), why: None };
        let table = Lost { what: "table stalls".into(), count: None, at_ns: Some(6), why: Some("disk full".into()) };
        let lossy = OfRun { run: "a", damage: &[], lost: &[spans, table], untraced: &[] };
        let text = banner(&[lossy], Style::PLAIN);
        let says =
            "INCOMPLETE: the recording of a lost data; the figures lack it\n 3 spans lost\n table stalls abandoned";
        assert!(text.starts_with(says), "{text}");
        let document = added(json!({}), &[lossy]);
        assert_eq!((&document["complete"], &document["lost"][1]["why"]), (&false.into(), &"disk full".into()));
    }
}

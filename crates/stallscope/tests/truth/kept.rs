//! The truth of a recording that is kept, beside it, in the form of corpus/truth.toml (corpus/README.md).

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::victim::{ANY, KEPT, Truth};

/// A quiet victim has no end.
const LONGEST_NS: u64 = 1 << 62;

/// Writes what is true of a recording, if it was kept: one test, or several that share it.
pub fn note(explained: &Value, tests: &[(&str, &[Truth])]) {
    let Some(place) = explained[KEPT].as_str() else { return };
    let names: Vec<&str> = tests.iter().map(|(name, _)| *name).collect();
    let [first, ..] = &names[..] else { return };
    let more = if names.len() > 1 { format!("-and-{}", names.len() - 1) } else { String::new() };
    let name = format!("truth-{}{more}", first.replace('_', "-"));
    let mut text = format!(
        "[[run]]\nname = {}\nfrom = \"the ground truth\"\nwhat = {}\nbusy = true\n",
        json!(name),
        json!(names.join(", "))
    );
    let idle: Vec<u32> =
        tests.iter().flat_map(|(_, truths)| truths.iter()).filter(|truth| truth.quiet).map(|truth| truth.tid).collect();
    if !idle.is_empty() {
        let _ = writeln!(text, "idle = {}", json!(idle));
    }
    let parts = tests.iter().flat_map(|(name, truths)| truths.iter().map(move |truth| (*name, truth)));
    parts.filter(|(_, truth)| !truth.quiet).for_each(|(name, truth)| text.push_str(&part(name, truth)));
    let written = std::fs::write(format!("{place}.truth.toml"), text);
    written.unwrap_or_else(|error| println!("{place}: {error}"));
}

fn part(name: &str, truth: &Truth) -> String {
    let spans = truth.spans.iter().filter(|(from, to)| to - from < LONGEST_NS);
    let operations: Vec<Value> = spans.map(|(from, to)| json!([truth.tid, from, to])).collect();
    let causes: Vec<&str> = truth.parts.iter().map(|(cause, _)| *cause).filter(|cause| *cause != ANY).collect();
    if causes.is_empty() || operations.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\n[[run.part]]\nlabel = {}\noperations = {}\ncauses = {}\nleast = 0.8\ntolerance_ms = 50\ncomposite = true\n",
        json!(name),
        json!(operations),
        json!(causes)
    );
    let (felt, whole) =
        (truth.parts.iter().map(|(_, ns)| ns).sum::<u64>(), truth.spans.iter().map(|(from, to)| to - from).sum());
    if felt < whole && truth.spans.len() == 1 {
        let _ = writeln!(text, "within_ms = {}", felt / 1_000_000);
    }
    let named = [("culprit", truth.culprit), ("chain", truth.waited_for.or(truth.stopped_by))];
    for (key, name) in named.into_iter().filter_map(|(key, name)| Some((key, name?))) {
        let _ = writeln!(text, "{key} = {}", json!(format!("^{}", name.replace('.', "\\."))));
    }
    text
}

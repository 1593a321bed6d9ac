//! What an anonymized run still holds.

use std::path::Path;

use anonymize::Names;
use archive::Run;
use model::quantity::Bytes;
use model::quantity::{counted, grouped};
use report::style::printable;
use serde_json::{Value, json};

/// Names of a kind in the text; the document has all.
const SHOWN: usize = 8;

/// As text.
pub(super) fn text(run: &Run, output: &Path, names: &Names) -> String {
    let replaced = counted(names.replaced() as u64, "name");
    let mut text = format!("{}: {replaced} replaced. Still in it:\n", printable(&output.display().to_string()));
    for (kind, kept) in names.kept() {
        let shown: Vec<String> = kept.iter().take(SHOWN).map(|name| printable(name)).collect();
        let rest = if kept.len() > SHOWN { ", ..." } else { "" };
        text.push_str(&format!("{:>8} {}: {}{rest}\n", grouped(kept.len() as u64), kind.words(), shown.join(", ")));
    }
    for sentence in always(run) {
        text.push_str(&format!("         {sentence}\n"));
    }
    text
}

/// As a document.
pub(super) fn document(run: &Run, output: &Path, names: &Names) -> Value {
    let kept: Vec<Value> =
        names.kept().map(|(kind, kept)| json!({ "kind": kind.words(), "count": kept.len(), "names": kept })).collect();
    json!({
        "run": run.dir().display().to_string(),
        "output": output.display().to_string(),
        "replaced": names.replaced(),
        "kept": kept,
        "always_kept": always(run),
    })
}

/// What no name is.
fn always(run: &Run) -> Vec<String> {
    let description = run.description();
    let host = &description.host;
    let began = jiff::Timestamp::from_nanosecond(i128::from(description.started.wall_ns));
    let began = began.map_or_else(|_| "unknown".to_owned(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    vec![
        format!("times, not shifted: begun {began}"),
        format!(
            "the machine: {}, {}, settings of virtual memory",
            counted(u64::from(host.cpus), "CPU"),
            Bytes(host.memory_bytes)
        ),
        "process ids, user ids in names of cgroups, sizes of devices, offsets and sizes of requests and files"
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use anonymize::Kept;

    #[test]
    fn each_kind_has_words_of_its_own() {
        let words: std::collections::BTreeSet<&str> = Kept::ALL.iter().map(|kind| kind.words()).collect();
        assert_eq!(words.len(), Kept::ALL.len());
    }
}

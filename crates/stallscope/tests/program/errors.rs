//! Operations that fail: counted by kind, with the first place of each, and the exit code says so.

use std::fs::File;
use std::path::Path;

use serde_json::Value;

use crate::stage::{Running, folder};

/// Eight files, read or written at random by two threads for two seconds.
fn recipe(folder: &Path, steps: &str) -> String {
    let text = format!(
        r#"
name = "errors"
about = "works on files that somebody spoils"

[[phase]]
name = "fill"
kind = "fill"

[[phase]]
name = "run"
kind = "run"
duration = "2s"

[files.set]
count = 8
size = "1m"

[[actor]]
name = "actor"
count = 2
{steps}
"#
    );
    let path = folder.join("errors.toml");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The kinds of failure of a class, most frequent first.
fn of_class<'a>(document: &'a Value, class: &str) -> Vec<&'a Value> {
    document["failures"].as_array().unwrap().iter().filter(|failure| failure["class"] == class).collect()
}

/// Counts by kind add up to the count of the class.
fn add_up(document: &Value) {
    for (class, figures) in document["operations"].as_object().unwrap() {
        let kinds = of_class(document, class);
        let sum: u64 =
            kinds.iter().filter(|kind| kind["measured"] == true).map(|kind| kind["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, figures["errors"].as_u64().unwrap(), "{class}: {:#}", document["failures"]);
    }
}

fn filled(program: &mut Running, data: &Path) {
    let marker = data.join(".stallscope");
    program.wait_until("the set is filled", |_| {
        std::fs::read_to_string(&marker).is_ok_and(|text| text.contains("complete"))
    });
}

#[test]
fn short_reads_are_told_with_file_and_offset() {
    let (folder, data) = (folder(), tempfile::tempdir().unwrap());
    let steps = "[[actor.step]]\ndo = \"read\"\nfrom = \"set\"\nsize = \"64k\"";
    let recipe = recipe(folder.path(), steps);
    let out = folder.path().join("run");
    let mut program =
        Running::start(&format!("run {recipe} --no-trace --json --out {} {}", out.display(), data.path().display()));
    let set = data.path().join("stallscope-errors");
    filled(&mut program, &set);
    File::options().write(true).open(set.join("set/0000/003")).unwrap().set_len(100_000).unwrap();
    let document = program.wait().expect_code(1).document();
    add_up(&document);
    let kinds = of_class(&document, "read");
    assert_eq!((kinds.len(), &kinds[0]["error"], &kinds[0]["files"]), (1, &"short_read".into(), &1.into()));
    assert!(kinds[0]["errno"].is_null());
    let first = &kinds[0]["first"];
    assert!(first["path"].as_str().unwrap().ends_with("stallscope-errors/set/0000/003"), "{first}");
    let offset = first["offset_bytes"].as_u64().unwrap();
    assert!(offset == 100_000 || offset > 100_000 && offset.is_multiple_of(65536), "{offset}");
}

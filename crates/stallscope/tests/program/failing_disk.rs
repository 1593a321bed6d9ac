//! The disk under test fails: errors are counted, and nothing crashes.

use crate::stage::{Disk, Running, errors, folder, is_root, shown};

/// Cold reads: `fork` reopens the file, and the memory cgroup leaves no space for the page cache.
const READ: &str = r#"
name = "reader"
about = "reads"

[[phase]]
name = "fill"
kind = "fill"

[[phase]]
name = "run"
kind = "run"
duration = "6s"

[files.set]
count = 12
size = "4m"

[[actor]]
name = "reader"
count = 2
work = true

[[actor.step]]
do = "read"
from = "set"
size = "64k"
"#;

#[test]
fn input_output_errors_are_counted_and_reported() {
    if !is_root("a disk that fails") {
        return;
    }
    let (folder, disk) = (folder(), Disk::ext4(96 << 20));
    let (recipe, out) = (folder.path().join("reader.toml"), folder.path().join("run"));
    std::fs::write(&recipe, READ).unwrap();
    let words =
        format!("run {} --memory 24m --json --out {} {}", recipe.display(), out.display(), disk.path().display());
    let mut program = Running::start(&words);
    let marker = disk.path().join("stallscope-reader/.stallscope");
    program.wait_until("the set is filled", |_| {
        std::fs::read_to_string(&marker).is_ok_and(|text| text.contains("complete"))
    });
    disk.fail_beyond(16 << 20);
    let ended = program.wait().expect_code(1);
    let document = ended.document();
    println!("{} reads failed; {}", errors(&document), ended.stderr);
    assert!(errors(&document) > 0);
    assert_eq!(document["failed"][0]["errno"], 5, "{:#}", document["failed"]);
    assert!(document["failed"][0]["path"].as_str().unwrap().contains("stallscope-reader/set/"));
    assert_eq!(document["ended"], "done");
    assert_eq!(shown(&out)["operations"], document["operations"]);
}

//! The disk under test is full: failed operations are counted and named, and the run continues to its end.

use crate::stage::disk::fill_up;
use crate::stage::{Disk, Running, errors, folder, is_root, number, shown};

const CREATE: &str = r#"
name = "creator"
about = "new files in place of old ones"

[[phase]]
name = "fill"
kind = "fill"

[[phase]]
name = "run"
kind = "run"
duration = "8s"

[files.set]
count = 4
size = "1m"

[[actor]]
name = "creator"
count = 1
work = true

[[actor.step]]
do = "create"
from = "set"

[[actor.step]]
do = "pause"
duration = "5ms"
"#;

#[test]
fn no_space_is_counted_and_reported() {
    if !is_root("a disk that fills up") {
        return;
    }
    let folder = folder();
    // In memory, where it fills up at once.
    let disk = Disk::ext4_in(folder.path(), 32 << 20);
    let (recipe, out) = (folder.path().join("creator.toml"), folder.path().join("run"));
    std::fs::write(&recipe, CREATE).unwrap();
    let mut program =
        Running::start(&format!("run {} --json --out {} {}", recipe.display(), out.display(), disk.path().display()));
    let first = disk.path().join("stallscope-creator/.stallscope");
    program.wait_until("the set is filled", |_| {
        std::fs::read_to_string(&first).is_ok_and(|text| text.contains("complete"))
    });
    fill_up(disk.path());
    let ended = program.wait().expect_code(1);
    let document = ended.document();
    println!("{} of {} creations failed", errors(&document), number(&document, "/operations/create/count"));
    assert!(errors(&document) > 0);
    assert_eq!(document["failed"][0]["errno"], 28, "{:#}", document["failed"]);
    assert_eq!(document["ended"], "done");
    assert_eq!(shown(&out)["failed"], document["failed"]);
    assert_eq!(disk.names(), ["ballast"]);
}

//! Dumps of 79 public threads about hangs, of Linux 2.6.18 to 6.18, written again in the form in which they were
//! posted, and one of a form alone. `truth.tsv` says where each thread found the cause. The answer differs from it
//! where the dump alone does not show it.

use std::path::Path;

use hung::{Analysis, Dump, Reader, analyze};

fn read(path: &Path) -> (Dump, Analysis) {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = Reader::default();
    text.split_inclusive('\n').for_each(|line| reader.line(line));
    let dump = reader.finish();
    let analysis = analyze(&dump);
    (dump, analysis)
}

#[test]
fn the_likely_root_is_where_the_thread_found_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps");
    let table = std::fs::read_to_string(folder.join("truth.tsv")).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<&str>> = rows.map(|line| line.split('\t').collect()).collect();
    let (mut wrong, mut as_found) = (Vec::new(), 0);
    for row in &rows {
        let [name, _, _, truth, answer, found] = row[..] else { panic!("{row:?}") };
        let (dump, analysis) = read(&folder.join(format!("{name}.txt")));
        assert!(!dump.tasks.is_empty(), "{name}: no task");
        let root = analysis.roots.first();
        let class = root.map_or("none", |root| root.class.name());
        as_found += usize::from(class == truth);
        if class != answer {
            wrong.push(format!("{name}: {class} ({:?}), the thread: {truth} ({found})", root.map(|root| &root.what)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert_eq!((rows.len(), as_found), (80, 79));
}

/// The kernel names the owner, which has no stack of its own in the dump.
#[test]
fn a_named_owner_without_a_stack_is_the_root() {
    let (_, analysis) = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps/locks/wifi-owner.txt"));
    assert_eq!(analysis.roots[0].holder.as_deref(), Some("kworker/u98:0/7811"));
    assert_eq!(analysis.roots[0].tasks.len(), 2);
}

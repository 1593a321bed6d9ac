//! `lake`: runs as Parquet files that DuckDB reads with their partitions.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::exporting::readers::python;
use crate::stage::{folder, is_root, run};

const LOAD: &str =
    "run simoop -t 2 -m 4 -M 1 -f 2 -n 4 -T 1 -R 1 -W 1 -C 1 -D 1 -w 0 -r 2 -i 1 --interval 200ms --slower-than 1ms";

/// Parquet files with their contents, by path below the lake.
fn files(lake: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![lake.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.strip_prefix(lake).unwrap().to_owned(), std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// The questions of docs/FLEET.md, and what the tables say of the run.
const READ: &str = "
import duckdb, json, sys
lake = sys.argv[1]
table = lambda name: f\"read_parquet('{lake}/table={name}/**/*.parquet', hive_partitioning = true)\"
answers = [duckdb.sql(query.replace(\"'lake/\", f\"'{lake}/\")).fetchall() for query in sys.stdin.read().split(';') if query.strip()]
one = lambda query: duckdb.sql(query).fetchall()[0]
print(json.dumps({
    'answers': [len(answer) for answer in answers],
    'runs': one(f\"select count(*), bool_and(complete), min(host::varchar), sum(stalls), sum(stall_ns) from {table('runs')}\"),
    'stalls': one(f\"select count(*), sum(duration_ns), count(distinct kernel) from {table('stalls')}\"),
    'counters': one(f\"select count(distinct name), bool_and(min <= mean and mean <= max) from {table('counters')}\"),
}, default=int))
";

#[test]
fn a_run_is_in_the_lake_once_and_duckdb_answers_the_questions_of_the_page() {
    if !is_root("tracing the kernel") {
        return;
    }
    let folder = folder();
    let (out, data, lake) = (folder.path().join("run"), folder.path().join("data"), folder.path().join("lake"));
    std::fs::create_dir(&data).unwrap();
    run(&format!("{LOAD} --out {} {}", out.display(), data.display())).expect_code(0);
    let add = || run(&format!("lake add {} --to {}", out.display(), lake.display())).expect_code(0);
    add();
    let first = files(&lake);
    assert!(add().stderr.contains("in the lake already"));
    assert!(files(&lake) == first, "the lake changed");
    let Some(mut python) = python("duckdb", "reading a lake") else { return };
    let page = include_str!("../../../../docs/FLEET.md");
    let blocks: Vec<&str> = page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let queries = folder.path().join("queries");
    std::fs::write(&queries, blocks.join("\n")).unwrap();
    python.args(["-c", READ]).arg(&lake).stdin(std::fs::File::open(&queries).unwrap());
    let found: Value = serde_json::from_str(&crate::exporting::output_of(&mut python)).unwrap();
    println!("{found}");
    let explained = run(&format!("explain --json {}", out.display())).expect_code(0).document();
    assert_eq!(found["answers"].as_array().unwrap().len(), 3);
    assert_eq!((&found["runs"][0], &found["runs"][1]), (&1.into(), &true.into()));
    assert_eq!((&found["stalls"][0], &found["runs"][3]), (&explained["stalls_total"], &explained["stalls_total"]));
    assert_eq!(found["stalls"][1], found["runs"][4]);
    assert!(found["counters"][0].as_u64() > Some(10) && found["counters"][1] == true);
}

#[test]
fn a_damaged_run_is_added_as_incomplete_and_wrong_paths_are_refused() {
    let folder = folder();
    let (out, lake) = (folder.path().join("run"), folder.path().join("lake"));
    run(&format!("record --runtime 500ms --interval 100ms -q --out {}", out.display())).expect_code(0);
    let add =
        |run_directory: &Path, to: &Path| run(&format!("lake add {} --to {}", run_directory.display(), to.display()));
    let ended = add(&out, &out).expect_code(2);
    assert!(ended.error().contains("neither empty nor a lake"), "{}", ended.stderr);
    add(folder.path(), &lake).expect_code(2);
    assert!(!lake.exists());
    std::fs::remove_file(out.join("tasks-0000.arrows"))
        .or_else(|_| std::fs::remove_file(out.join("metrics-0000.arrows")))
        .unwrap();
    let ended = add(&out, &lake).expect_code(1);
    assert!(ended.stderr.contains("incomplete") && ended.error().contains("stallscope check"), "{}", ended.stderr);
    assert!(files(&lake).iter().any(|(path, _)| path.starts_with("table=runs")));
    std::fs::write(lake.join("stallscope-lake.json"), "{\"stallscope_lake\":99}").unwrap();
    let ended = add(&out, &lake).expect_code(2);
    assert!(ended.error().contains("schema version 99"), "{}", ended.stderr);
}

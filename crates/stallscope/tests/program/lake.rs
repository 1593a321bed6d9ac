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
answers = [duckdb.sql(query.replace(\"'lake/\", f\"'{lake}/\")).fetchall() for query in sys.stdin.read().split(';') if \
query.strip()]
one = lambda query: duckdb.sql(query).fetchall()[0]
print(json.dumps({
    'answers': [len(answer) for answer in answers],
    'runs': one(f\"select count(*), bool_and(complete), min(host::varchar), sum(stalls), sum(stall_ns) from \
    {table('runs')}\"),
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
    assert!(add().stderr.contains("already in the lake"));
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
    assert!(blocks.len() > 1 && found["answers"].as_array().unwrap().len() == blocks.len(), "{}", blocks.len());
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

/// Runs and rows as DuckDB reads them.
const COUNT: &str = "
import duckdb, sys
lake = sys.argv[1]
for table in ['runs', 'counters']:
    print(duckdb.sql(f\"select count(distinct run), count(*) from read_parquet('{lake}/table={table}/**/*.parquet', \
    hive_partitioning = true)\").fetchall()[0])
";

#[test]
fn a_compacted_lake_has_the_same_rows_and_an_expired_one_none() {
    let folder = folder();
    let lake = folder.path().join("lake");
    let runs: Vec<PathBuf> = (0..3).map(|number| folder.path().join(format!("run{number}"))).collect();
    for out in &runs {
        run(&format!("record --runtime 300ms --interval 100ms -q --out {}", out.display())).expect_code(0);
    }
    let add = || {
        run(&format!(
            "lake add {} {} {} --to {}",
            runs[0].display(),
            runs[1].display(),
            runs[2].display(),
            lake.display()
        ))
    };
    add().expect_code(0);
    let lake_of = |words: &str| run(&format!("lake {words}")).expect_code(0).stderr;
    let count = || {
        python("duckdb", "reading a compacted lake")
            .map(|mut python| crate::exporting::output_of(python.args(["-c", COUNT]).arg(&lake)))
    };
    let (before, rows) = (files(&lake), count());
    let planned = lake_of(&format!("compact {} --dry-run", lake.display()));
    assert!(planned.contains("would compact") && files(&lake) == before, "{planned}");
    let done = lake_of(&format!("compact {}", lake.display()));
    // One machine; midnight may lie between the runs.
    assert!(done.contains("files in") && files(&lake).len() < before.len(), "{done}");
    assert_eq!(count(), rows);
    let compact = files(&lake);
    assert!(lake_of(&format!("compact {}", lake.display())).contains("already compact"));
    assert!(add().expect_code(0).stderr.contains("already in the lake"));
    assert!(files(&lake) == compact, "the lake changed");
    // A day must have ended: today's stays.
    assert!(lake_of(&format!("expire {} --keep 1d", lake.display())).contains("nothing is older than"));
    let host = std::fs::read_dir(lake.join("table=runs")).unwrap().next().unwrap().unwrap().path();
    std::fs::rename(&host, lake.join("table=runs/date=2020-02-29")).unwrap();
    let planned = lake_of(&format!("expire {} --keep 52w --dry-run", lake.display()));
    assert!(planned.contains("would remove 1 day, 2020-02-29"), "{planned}");
    assert!(lake_of(&format!("expire {} --keep 52w", lake.display())).contains("removed 1 day,"));
    assert!(!lake.join("table=runs/date=2020-02-29").exists());
}

#[test]
fn a_wrong_lake_or_a_missing_companion_is_refused() {
    let folder = folder();
    let path = folder.path().display();
    for words in [format!("compact {path}"), format!("expire {path} --keep 90d"), format!("compact {path}/none")] {
        let ended = run(&format!("lake {words}")).expect_code(2);
        assert!(ended.error().contains("is not a lake"), "{}", ended.stderr);
    }
    run(&format!("lake expire {path} --keep 90")).expect_code(2);
    let out = folder.path().join("run");
    run(&format!("record --runtime 300ms --interval 100ms -q --out {}", out.display())).expect_code(0);
    // Beside the program of the tests there is none.
    let ended = run(&format!("lake add {} --to s3://fleet/lake", out.display())).expect_code(2);
    assert!(ended.error().contains("make fleet"), "{}", ended.stderr);
    let ended = run("fleet top x").expect_code(2);
    assert!(ended.error().contains("'fleet' needs stallscope-fleet, which is not installed"), "{}", ended.stderr);
    let help = run("fleet --help").expect_code(0).stdout;
    assert!(help.contains("grew") && help.contains("--by kernel") && help.contains("make fleet"), "{help}");
}

/// Reads rows of each run again and again, with DuckDB and pyarrow, until the lake has a file `stop`.
const WATCH: &str = "
import duckdb, json, os, pyarrow.dataset, sys
lake = sys.argv[1]
folder = f'{lake}/table=counters'
def duck():
    return duckdb.sql(f\"select run, count(*) from read_parquet('{folder}/**/*.parquet', hive_partitioning = true) \
    group by run\").fetchall()
def arrow():
    rows = pyarrow.dataset.dataset(folder, format='parquet', partitioning='hive').to_table(columns=['run'])
    return [(row['run'], row['run_count']) for row in rows.group_by('run').aggregate([('run', 'count')]).to_pylist()]
found = {'read': 0, 'refused': [], 'seen': set(), 'fewer': 0}
most = {duck: 0, arrow: 0}
print('begun', flush=True)
while not os.path.exists(f'{lake}/stop'):
    for engine in [duck, arrow]:
        try:
            rows = engine()
        except Exception as error:
            found['refused'].append(f'{type(error).__name__}: {error}'.splitlines()[0])
            continue
        found['read'] += 1
        found['seen'] |= set(rows)
        found['fewer'] += len(rows) < most[engine]
        most[engine] = max(most[engine], len(rows))
print(json.dumps({**found, 'seen': sorted(found['seen']), 'last': sorted(duck())}))
";

#[test]
fn engines_that_read_during_compaction_see_each_row_once_or_fail() {
    let Some(mut python) = python("duckdb pyarrow", "reading a lake while it is compacted") else { return };
    let folder = folder();
    let lake = folder.path().join("lake");
    let add = |number: u32| {
        let out = folder.path().join(format!("run{number}"));
        run(&format!("record --runtime 300ms --interval 100ms -q --out {}", out.display())).expect_code(0);
        run(&format!("lake add {} --to {}", out.display(), lake.display())).expect_code(0);
    };
    add(0);
    let mut watch = python.args(["-c", WATCH]).arg(&lake).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(watch.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    for number in 1..12 {
        add(number);
        run(&format!("lake compact {}", lake.display())).expect_code(0);
    }
    std::fs::write(lake.join("stop"), "").unwrap();
    line.clear();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert!(watch.wait().unwrap().success());
    let found: Value = serde_json::from_str(&line).unwrap();
    println!("{} readings, refused: {}", found["read"], found["refused"]);
    let last = found["last"].as_array().unwrap();
    assert_eq!(last.len(), 12);
    assert!(found["seen"].as_array().unwrap().iter().all(|pair| last.contains(pair)), "{found}");
    assert!(found["fewer"] == 0 && found["read"].as_u64() > Some(10), "{found}");
    // Those of missing files are the only ones.
    let is_missing = |text: &Value| {
        let text = text.as_str().unwrap_or_default();
        ["No such file", "No files found", "does not exist", "Not Found", "FileNotFound"]
            .iter()
            .any(|part| text.contains(part))
    };
    assert!(found["refused"].as_array().unwrap().iter().all(is_missing), "{found}");
}

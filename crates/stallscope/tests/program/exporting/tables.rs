//! Parquet and CSV, read by DuckDB, pandas and polars.

use serde_json::Value;

use super::{export, output_of, recorded};
use crate::stage::{checked, folder};

/// Rows of each table by each reader, and the queries of docs/EXPORT.md.
const READ: &str = "
import duckdb, json, pandas, pathlib, polars, sys
parquet, csv = map(pathlib.Path, sys.argv[1:3])
rows = {}
for file in sorted(parquet.glob('*.parquet')):
    counts = {
        'duckdb': duckdb.sql(f\"select count(*) from '{file}'\").fetchall()[0][0],
        'pandas': len(pandas.read_parquet(file)),
        'polars': polars.read_parquet(file).height,
        'csv': len(pandas.read_csv(csv / (file.stem + '.csv'))),
    }
    assert len(set(counts.values())) == 1, (file.stem, counts)
    parquet_columns = list(pandas.read_parquet(file).columns)
    assert parquet_columns == list(pandas.read_csv(csv / (file.stem + '.csv')).columns), file.stem
    rows[file.stem] = counts['duckdb']
    nulls = duckdb.sql(f\"select * from '{file}'\").df().isna().sum()
    csv_nulls = duckdb.sql(f\"select * from read_csv('{csv / (file.stem + '.csv')}', all_varchar=true, \
    allow_quoted_nulls=false)\").df().isna().sum()
    assert list(nulls) == list(csv_nulls), (file.stem, nulls, csv_nulls)
if (parquet / 'explained.parquet').exists():
    table = pandas.read_parquet(parquet / 'explained.parquet')
    causes = [name for name in table.columns if name.endswith('_ns') and name not in ('start_ns', 'start_wall_ns', \
    'duration_ns')]
    assert (table[causes].sum(axis=1) == table['duration_ns']).all()
    tasks = pandas.read_parquet(parquet / 'tasks.parquet')
    assert tasks['task_key'].is_unique
    for name in ('explained', 'stalls', 'operations', 'requests'):
        keys = pandas.read_parquet(parquet / f'{name}.parquet')['task_key'].dropna()
        assert keys.isin(tasks['task_key']).all(), name
queries = [query.strip() for query in sys.stdin.read().split(';') if query.strip()]
answers = [duckdb.sql(query.replace(\"'run/\", f\"'{parquet}/\")).fetchall() for query in queries]
print(json.dumps({'rows': rows, 'answers': [len(answer) for answer in answers]}))
";

#[test]
fn duckdb_pandas_and_polars_read_every_row() {
    let Some(mut python) = super::readers::python("duckdb pandas polars pyarrow", "reading Parquet and CSV") else {
        return;
    };
    let folder = folder();
    let run = recorded(folder.path());
    let (parquet, csv) = (folder.path().join("parquet"), folder.path().join("csv"));
    export(&run, "parquet", &parquet).expect_code(0);
    export(&run, "csv", &csv).expect_code(0);
    let queries = folder.path().join("queries");
    let page = include_str!("../../../../../docs/EXPORT.md");
    let blocks: Vec<&str> = page.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(blocks.len(), 4);
    std::fs::write(&queries, blocks.join("\n")).unwrap();
    python.args(["-c", READ]).arg(&parquet).arg(&csv).stdin(std::fs::File::open(&queries).unwrap());
    let found: Value = serde_json::from_str(&output_of(&mut python)).unwrap();
    println!("{found}");
    let mut rows = found["rows"].as_object().unwrap().clone();
    assert!(rows.remove("events").unwrap().as_u64() > Some(0));
    assert_eq!(rows.remove("damage"), Some(0.into()));
    if rustix::process::geteuid().is_root() {
        let explained = crate::stage::run(&format!("explain --json {}", run.display())).expect_code(0).document();
        assert_eq!(rows.remove("explained"), Some(explained["stalls_total"].clone()));
        assert!(explained["stalls_total"].as_u64() > Some(0));
    }
    assert_eq!(Value::from(rows), checked(&run)["rows"]);
    assert_eq!(found["answers"].as_array().unwrap().len(), 4);
}

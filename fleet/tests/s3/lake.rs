//! A small lake in a directory.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use datafusion::parquet::arrow::ArrowWriter;

/// 2026-11-23 12:00 UTC.
const NOON_US: i64 = 1_795_435_200_000_000;

/// Makes one of two hosts with a run each, and returns the runs.
pub(crate) fn lake(folder: &Path) -> [String; 2] {
    fs::write(folder.join("stallscope-lake.json"), "{\"stallscope_lake\":1}\n").unwrap();
    // The name of the first is one that Hive escapes.
    [("db%201%2Fa", 1), ("web", 2)].map(|(host, number)| {
        let run = format!("20261123T120000Z-000000000000000{number}");
        let text = |value: &str| -> ArrayRef { Arc::new(StringArray::from(vec![value; 2])) };
        let start: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![NOON_US, NOON_US + 1]));
        let stalls = [
            ("run", text(&run)),
            ("kernel", text(["6.12", "6.18"][number - 1])),
            ("start_utc", Arc::clone(&start)),
            ("tid", Arc::new(UInt32Array::from(vec![7, 8])) as ArrayRef),
            ("task", text("postgres")),
            ("operation", text("fsync")),
            ("duration_ns", Arc::new(UInt64Array::from(vec![40_000_000, 60_000_000 * number as u64])) as ArrayRef),
            ("main_cause", text("device")),
            ("chain", text("device")),
            ("lock", text("inode lock of a file")),
            ("file_system", text("xfs")),
            ("device_model", text("WDC")),
            ("blocker_task", text("kworker")),
            ("fingerprint", text("00ab00ab00ab00ab")),
        ];
        let kernel = Arc::clone(&stalls[1].1);
        write(folder, "stalls", host, &run, &stalls);
        let runs = [("run", text(&run)), ("kernel", kernel), ("start_utc", start), ("path", text("/runs/a"))];
        write(folder, "runs", host, &run, &runs);
        run
    })
}

fn write(folder: &Path, table: &str, host: &str, run: &str, columns: &[(&str, ArrayRef)]) {
    write_on(folder, table, ("2026-11-23", host), run, columns);
}

/// Writes a run's rows of a table into the partition of a date and host.
pub(crate) fn write_on(
    folder: &Path,
    table: &str,
    (date, host): (&str, &str),
    run: &str,
    columns: &[(&str, ArrayRef)],
) {
    let partition = folder.join(format!("table={table}/date={date}/host={host}"));
    fs::create_dir_all(&partition).unwrap();
    let rows = RecordBatch::try_from_iter(columns.iter().cloned()).unwrap();
    let file = File::create(partition.join(format!("{run}.parquet"))).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
}

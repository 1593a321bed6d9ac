//! Parquet files of a partition, and how files and directories get their place so that it survives a crash.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use export::parquet::ParquetTable;
use export::table::TableWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::error::LakeError;

/// How the name of a file with rows ends.
const PARQUET: &str = "parquet";

/// The name of the file that holds a run's rows in a partition.
pub(crate) fn file_name(run: &str) -> String {
    format!("{run}.{PARQUET}")
}

/// A file with these rows, on disk. Returns its size.
pub(crate) fn write(path: &Path, rows: &RecordBatch) -> io::Result<u64> {
    let mut table = ParquetTable::begin(access::create(path)?, &rows.schema())?;
    table.write(rows)?;
    let file = table.finish()?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

/// The names of files survive a crash once their directory is synced.
pub(crate) fn synced(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// What is in a directory, by name; nothing if it does not exist.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, LakeError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(LakeError::io(folder, "list"))?,
    };
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(LakeError::io(folder, "list"))?;
    paths.sort();
    Ok(paths)
}

/// Parquet files of a partition, by name; none if it does not exist.
pub(crate) fn parquet_files(folder: &Path) -> Result<Vec<PathBuf>, LakeError> {
    let mut paths = entries(folder)?;
    paths.retain(|path| is_parquet(path));
    Ok(paths)
}

/// Whether a file holds rows, by its name: readers skip those that begin with a dot or an underscore.
pub(crate) fn is_parquet(path: &Path) -> bool {
    let hidden = path.file_name().and_then(|name| name.to_str()).is_none_or(|name| name.starts_with(['.', '_']));
    !hidden && path.extension().is_some_and(|end| end == PARQUET)
}

/// The runs that a file has rows of.
pub(crate) fn runs_of(path: &Path) -> io::Result<BTreeSet<String>> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?).map_err(io::Error::other)?;
    let run = ProjectionMask::columns(builder.parquet_schema(), ["run"]);
    let mut runs = BTreeSet::new();
    for batch in builder.with_projection(run).build().map_err(io::Error::other)? {
        let batch = batch.map_err(io::Error::other)?;
        let column = batch.columns().first().and_then(|column| column.as_string_opt::<i32>());
        let names = column.ok_or_else(|| io::Error::other("has no column 'run'"))?;
        let mut last = "";
        for name in names.iter().flatten() {
            // Rows of a run follow each other.
            if name != last {
                runs.insert(name.to_owned());
                last = name;
            }
        }
    }
    Ok(runs)
}

/// Makes two directories change places at once: a reader finds the one or the other, never none and never both.
pub(crate) fn exchange(one: &Path, other: &Path) -> Result<(), LakeError> {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(|error| match error {
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => LakeError::Exchange { path: other.to_owned() },
        error => LakeError::io(other, "exchange")(error.into()),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::exchange;

    #[test]
    fn a_reader_never_misses_a_directory_that_is_exchanged() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("staged"), folder.path().join("host=a"));
        for path in [&one, &other] {
            fs::create_dir(path).unwrap();
            fs::write(path.join(path.file_name().unwrap()), "").unwrap();
        }
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..5_000).for_each(|_| exchange(&one, &other).unwrap()));
            while !writer.is_finished() {
                assert_eq!(fs::read_dir(&other).map(Iterator::count).ok(), Some(1));
            }
        });
        assert!(other.join("host=a").exists());
    }
}

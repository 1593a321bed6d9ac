//! Several Parquet files of a table as one.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};
use export::parquet::ParquetTable;
use export::table::TableWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowFilter,
};

/// Rows that are decoded at a time.
const ROWS_OF_A_BATCH: usize = 8192;

/// A file whose rows go into another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// The runs whose rows go; `None`: all.
    pub(crate) runs: Option<BTreeSet<String>>,
}

/// Writes a file with the rows of others, in their order. Files of different versions of the program may lack columns,
/// which are null then. Nothing is held in memory but one batch of a source and one row group of the result. Returns
/// the result's size.
pub(crate) fn merge(sources: &[Source], to: &Path) -> io::Result<u64> {
    let schemas: Vec<SchemaRef> =
        sources.iter().map(|source| Ok(opened(source)?.schema().clone())).collect::<io::Result<_>>()?;
    let schema = union(sources, &schemas)?;
    let mut table = ParquetTable::begin(access::create(to)?, &schema)?;
    for source in sources {
        for batch in reader(source)? {
            let batch = batch.map_err(|error| named(source, error))?;
            table.write(&fitted(&batch, &schema).map_err(|error| named(source, error))?)?;
        }
    }
    let file = table.finish()?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn named(source: &Source, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", source.path.display()))
}

fn opened(source: &Source) -> io::Result<ParquetRecordBatchReaderBuilder<File>> {
    let file = File::open(&source.path).map_err(|error| io::Error::new(error.kind(), named(source, error)))?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| named(source, error))
}

fn reader(source: &Source) -> io::Result<ParquetRecordBatchReader> {
    let mut builder = opened(source)?.with_batch_size(ROWS_OF_A_BATCH);
    if let Some(runs) = source.runs.clone() {
        let run = ProjectionMask::columns(builder.parquet_schema(), ["run"]);
        let kept = move |batch: RecordBatch| {
            let names = batch.column(0).as_string::<i32>();
            Ok(names.iter().map(|name| Some(name.is_some_and(|name| runs.contains(name)))).collect::<BooleanArray>())
        };
        builder = builder.with_row_filter(RowFilter::new(vec![Box::new(ArrowPredicateFn::new(run, kept))]));
    }
    builder.build().map_err(|error| named(source, error))
}

/// Columns of all files, in the order in which they appear. A column that a file lacks may be null.
fn union(sources: &[Source], schemas: &[SchemaRef]) -> io::Result<SchemaRef> {
    let mut fields: Vec<Field> = Vec::new();
    for (source, schema) in sources.iter().zip(schemas) {
        for field in schema.fields() {
            match fields.iter_mut().find(|known| known.name() == field.name()) {
                None => fields.push(field.as_ref().clone()),
                Some(known) if known.data_type() == field.data_type() => {
                    known.set_nullable(known.is_nullable() || field.is_nullable());
                }
                Some(known) => {
                    let (name, one, other) = (field.name(), field.data_type(), known.data_type());
                    let problem = format!("column '{name}' is {one}, and {other} in other files of its partition");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, named(source, problem)));
                }
            }
        }
    }
    for field in &mut fields {
        let everywhere = schemas.iter().all(|schema| schema.column_with_name(field.name()).is_some());
        field.set_nullable(field.is_nullable() || !everywhere);
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// A batch with the columns of a schema.
fn fitted(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let column = |field: &Arc<Field>| match batch.column_by_name(field.name()) {
        Some(column) => Arc::clone(column),
        None => new_null_array(field.data_type(), batch.num_rows()),
    };
    RecordBatch::try_new(Arc::clone(schema), schema.fields().iter().map(column).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};

    use super::{Source, merge};
    use crate::files::{runs_of, write};

    fn source(path: &Path, runs: &[&str], column: &str, values: ArrayRef) -> Source {
        let run: ArrayRef = Arc::new(StringArray::from(runs.to_vec()));
        write(path, &RecordBatch::try_from_iter([("run", run), (column, values)]).unwrap()).unwrap();
        Source { path: path.to_owned(), runs: None }
    }

    #[test]
    fn files_of_two_versions_become_one_without_the_runs_that_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let a = source(&at("a"), &["r1", "r2"], "x", Arc::new(UInt64Array::from(vec![1, 2])));
        let b = source(&at("b"), &["r3"], "y", Arc::new(UInt64Array::from(vec![3])));
        let chosen = Source { runs: Some(["r2".to_owned()].into()), ..a.clone() };
        merge(&[chosen, b], &at("c")).unwrap();
        assert_eq!(runs_of(&at("c")).unwrap(), ["r2".to_owned(), "r3".to_owned()].into());
        let mut read = super::reader(&Source { path: at("c"), runs: None }).unwrap();
        let rows = read.next().unwrap().unwrap();
        let values = |name: &str| {
            let column = rows.column_by_name(name).unwrap();
            column.as_any().downcast_ref::<UInt64Array>().unwrap().iter().collect::<Vec<_>>()
        };
        assert_eq!((values("x"), values("y")), (vec![Some(2), None], vec![None, Some(3)]));
        assert!(read.next().is_none());
        let other = source(&at("d"), &["r4"], "x", Arc::new(Float64Array::from(vec![0.5])));
        let error = merge(&[a, other], &at("e")).unwrap_err().to_string();
        assert!(error.contains("/d: column 'x' is Float64, and UInt64 in other files"), "{error}");
    }
}

//! What a Parquet file says of itself.

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Schema;
use datafusion::error::DataFusionError;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::arrow::{ProjectionMask, parquet_to_arrow_schema};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::metadata::ParquetMetaDataReader;
use datafusion::parquet::file::reader::ChunkReader;

use crate::error::FleetError;

/// The columns of a file.
pub(crate) fn schema_of(file: &impl ChunkReader, name: &str) -> Result<Schema, FleetError> {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(file).map_err(|error| unreadable(error, name))?;
    let of_file = metadata.file_metadata();
    let schema = parquet_to_arrow_schema(of_file.schema_descr(), of_file.key_value_metadata());
    let schema = schema.map_err(|error| unreadable(error, name))?;
    // Units are for people; tables of two versions may differ in them.
    let fields: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone().with_metadata(Default::default()).with_nullable(true))
        .collect();
    Ok(Schema::new(fields))
}

/// Whether a file has rows of a run.
pub(crate) fn holds(file: impl ChunkReader + 'static, name: &str, run: &str) -> Result<bool, FleetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| unreadable(error, name))?;
    let column = ProjectionMask::columns(builder.parquet_schema(), ["run"]);
    for batch in builder.with_projection(column).build().map_err(|error| unreadable(error, name))? {
        let batch = batch.map_err(|error| unreadable(ParquetError::from(error), name))?;
        let names = batch.columns().first().and_then(|column| column.as_string_opt::<i32>());
        if names.is_some_and(|names| names.iter().flatten().any(|name| name == run)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn unreadable(error: ParquetError, name: &str) -> FleetError {
    DataFusionError::from(error).context(format!("{name}: is no Parquet file")).into()
}

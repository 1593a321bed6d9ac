//! A lake as tables of the engine.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::file::metadata::ParquetMetaDataReader;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use serde_json::Value;
use url::Url;

use crate::error::FleetError;

/// Version of the lake's tables and directories that this program reads.
const SCHEMA_VERSION: u32 = 1;
const MARKER: &str = "stallscope-lake.json";
const TABLES: [&str; 4] = ["stalls", "intervals", "counters", "runs"];

/// A lake that can be asked.
pub(crate) struct Lake {
    context: SessionContext,
}

impl Lake {
    /// Opens a lake, with a limit for the memory of a question; more is spilled to temporary files.
    pub(crate) fn open(directory: &Path, memory_bytes: usize) -> Result<Lake, FleetError> {
        check(directory)?;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let mut config = SessionConfig::new().with_target_partitions(cpus).with_collect_statistics(false);
        config.options_mut().execution.parquet.pushdown_filters = true;
        let pool = Arc::new(FairSpillPool::new(memory_bytes));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc()?;
        let context = SessionContext::new_with_config_rt(config, runtime);
        for table in TABLES {
            register(&context, directory, table)?;
        }
        Ok(Lake { context })
    }

    /// The rows of a query. A statement that changes something is refused.
    pub(crate) async fn rows(&self, sql: &str) -> Result<Vec<RecordBatch>, FleetError> {
        let reads = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        Ok(self.context.sql_with_options(sql, reads).await?.collect().await?)
    }
}

fn check(directory: &Path) -> Result<(), FleetError> {
    let marker = directory.join(MARKER);
    if !marker.is_file() {
        return Err(FleetError::NoLake { path: directory.to_owned() });
    }
    let text = fs::read_to_string(&marker).map_err(FleetError::io(&marker, "read"))?;
    let version = serde_json::from_str(&text).ok().map(|marker: Value| marker["stallscope_lake"].clone());
    if version.as_ref().and_then(Value::as_u64) == Some(SCHEMA_VERSION.into()) {
        return Ok(());
    }
    let found = version.filter(Value::is_u64).map_or_else(|| "unknown (no number)".into(), |found| found.to_string());
    Err(FleetError::Version { path: directory.to_owned(), found, known: SCHEMA_VERSION })
}

/// Makes a table known. Its columns are those of one file per day: asking all files costs more than the questions do.
fn register(context: &SessionContext, lake: &Path, table: &'static str) -> Result<(), FleetError> {
    let folder = lake.join(format!("table={table}"));
    let mut schemas = Vec::new();
    for day in folders(&folder)? {
        if let Some(file) = first_file(&day)? {
            schemas.push(schema_of(&file)?);
        }
    }
    if schemas.is_empty() {
        // `counters` and `intervals` may be missing; stalls and runs are what is asked about.
        return if matches!(table, "intervals" | "counters") {
            Ok(())
        } else {
            Err(FleetError::Empty { path: lake.to_owned(), table })
        };
    }
    let schema = Schema::try_merge(schemas).map_err(datafusion::error::DataFusionError::from)?;
    let partitions = [("date", DataType::Date32), ("host", DataType::Utf8)];
    let format = ParquetFormat::default().with_skip_metadata(true);
    let options = ListingOptions::new(Arc::new(format))
        .with_file_extension(".parquet")
        .with_table_partition_cols(partitions.map(|(name, kind)| (name.to_owned(), kind)).to_vec());
    let absolute = std::path::absolute(&folder).map_err(FleetError::io(&folder, "find"))?;
    let url = Url::from_directory_path(&absolute).map_err(|()| FleetError::NoLake { path: lake.to_owned() })?;
    let url = ListingTableUrl::try_new(url, None)?;
    let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(Arc::new(schema));
    context.register_table(table, Arc::new(ListingTable::try_new(config)?))?;
    Ok(())
}

fn schema_of(file: &Path) -> Result<Schema, FleetError> {
    let opened = fs::File::open(file).map_err(FleetError::io(file, "open"))?;
    let named = |error: datafusion::parquet::errors::ParquetError| {
        datafusion::error::DataFusionError::from(error).context(format!("{}: is no Parquet file", file.display()))
    };
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&opened).map_err(named)?;
    let of_file = metadata.file_metadata();
    let schema = parquet_to_arrow_schema(of_file.schema_descr(), of_file.key_value_metadata()).map_err(named)?;
    // Units are for people; tables of two versions may differ in them.
    let fields: Vec<_> = schema
        .fields()
        .iter()
        .map(|field| field.as_ref().clone().with_metadata(Default::default()).with_nullable(true))
        .collect();
    Ok(Schema::new(fields))
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, FleetError> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.is_dir());
    Ok(paths)
}

/// A Parquet file of a day: the first of its first host that has one.
fn first_file(day: &Path) -> Result<Option<PathBuf>, FleetError> {
    for host in folders(day)? {
        let files = entries(&host)?;
        if let Some(file) = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "parquet")) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// What is in a directory, by name; nothing if it does not exist.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, FleetError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(FleetError::io(folder, "list"))?,
    };
    let paths: std::io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(FleetError::io(folder, "list"))?;
    paths.sort();
    Ok(paths)
}

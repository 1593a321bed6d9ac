//! A lake as tables of the engine.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};

use crate::error::FleetError;
use crate::place::Place;

const TABLES: [&str; 4] = ["stalls", "intervals", "counters", "runs"];
/// How often a question is repeated that met a lake which another process was compacting.
const REPEATS: usize = 3;

/// A lake that can be asked.
pub(crate) struct Lake {
    place: Place,
    memory_bytes: usize,
    context: SessionContext,
}

impl Lake {
    /// Opens a lake, with a limit for the memory of a question; more is spilled to temporary files.
    pub(crate) async fn open(lake: &Path, memory_bytes: usize) -> Result<Lake, FleetError> {
        let place = Place::of(lake)?;
        place.check().await?;
        let context = session(&place, memory_bytes).await?;
        Ok(Lake { place, memory_bytes, context })
    }

    /// The rows of a query. A statement that changes something is refused. Files that were compacted or removed after they were listed
    /// are missing then: the question is asked again, of what is there now.
    pub(crate) async fn rows(&self, sql: &str) -> Result<Vec<RecordBatch>, FleetError> {
        let mut found = rows(&self.context, sql).await;
        for _ in 0..REPEATS {
            match found {
                Err(FleetError::Sql { source }) if has_vanished(&source) => {
                    // The engine remembers what it listed.
                    found = rows(&session(&self.place, self.memory_bytes).await?, sql).await;
                }
                found => return found,
            }
        }
        match found {
            Err(FleetError::Sql { source }) if has_vanished(&source) => {
                Err(FleetError::Changing { path: self.place.name() })
            }
            found => found,
        }
    }
}

async fn rows(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>, FleetError> {
    let reads = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    Ok(context.sql_with_options(sql, reads).await?.collect().await?)
}

/// Whether a file or an object is missing that was listed.
fn has_vanished(error: &DataFusionError) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(object_store::Error::NotFound { .. }) = error.downcast_ref() {
            return true;
        }
        if error.downcast_ref().is_some_and(|io: &std::io::Error| io.kind() == std::io::ErrorKind::NotFound) {
            return true;
        }
        next = error.source();
    }
    false
}

async fn session(place: &Place, memory_bytes: usize) -> Result<SessionContext, FleetError> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut config = SessionConfig::new().with_target_partitions(cpus).with_collect_statistics(false);
    config.options_mut().execution.parquet.pushdown_filters = true;
    let pool = Arc::new(FairSpillPool::new(memory_bytes));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc()?;
    let context = SessionContext::new_with_config_rt(config, runtime);
    for table in TABLES {
        register(&context, place, table).await?;
    }
    Ok(context)
}

/// Makes a table known.
async fn register(context: &SessionContext, place: &Place, table: &'static str) -> Result<(), FleetError> {
    let schemas = place.schemas(table).await?;
    if schemas.is_empty() {
        // `counters` and `intervals` may be missing; stalls and runs are what is asked about.
        return if matches!(table, "intervals" | "counters") {
            Ok(())
        } else {
            Err(FleetError::Empty { path: place.name(), table })
        };
    }
    let schema = Schema::try_merge(schemas).map_err(DataFusionError::from)?;
    let partitions = [("date", DataType::Date32), ("host", DataType::Utf8)];
    let format = ParquetFormat::default().with_skip_metadata(true);
    let options = ListingOptions::new(Arc::new(format))
        .with_file_extension(".parquet")
        .with_table_partition_cols(partitions.map(|(name, kind)| (name.to_owned(), kind)).to_vec());
    let config = ListingTableConfig::new(place.table(context, table)?)
        .with_listing_options(options)
        .with_schema(Arc::new(schema));
    context.register_table(table, Arc::new(ListingTable::try_new(config)?))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use datafusion::error::DataFusionError;
    use datafusion::parquet::errors::ParquetError;

    use super::has_vanished;

    #[test]
    fn a_missing_file_is_found_below_what_the_engine_wraps_around_it() {
        let missing = || object_store::Error::NotFound { path: "a".into(), source: "gone".into() };
        let wrapped = DataFusionError::ParquetError(Box::new(ParquetError::External(Box::new(missing()))));
        assert!(has_vanished(&wrapped.context("reading")));
        assert!(has_vanished(&DataFusionError::ObjectStore(Box::new(missing()))));
        assert!(!has_vanished(&DataFusionError::Plan("a: not found".into())));
    }
}

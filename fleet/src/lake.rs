//! A lake as tables of the engine.

use std::error::Error;
use std::io::ErrorKind;
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
        let context = repeated(&place, async || session(&place, memory_bytes).await).await?;
        Ok(Lake { place, memory_bytes, context })
    }

    /// The rows of a query. A statement that changes something is refused. Files that were compacted or removed after
    /// they were listed are missing then: the question is asked again, of what is there now.
    pub(crate) async fn rows(&self, sql: &str) -> Result<Vec<RecordBatch>, FleetError> {
        match rows(&self.context, sql).await {
            Err(error) if has_vanished(&error) => {}
            found => return found,
        }
        // The engine remembers what it listed.
        repeated(&self.place, async || rows(&session(&self.place, self.memory_bytes).await?, sql).await).await
    }
}

/// Asks again where a file is missing that was listed, but not for ever.
async fn repeated<T>(place: &Place, ask: impl AsyncFn() -> Result<T, FleetError>) -> Result<T, FleetError> {
    for _ in 0..REPEATS {
        match ask().await {
            Err(error) if has_vanished(&error) => {}
            done => return done,
        }
    }
    Err(FleetError::Changing { path: place.name() })
}

async fn rows(context: &SessionContext, sql: &str) -> Result<Vec<RecordBatch>, FleetError> {
    let reads = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    Ok(context.sql_with_options(sql, reads).await?.collect().await?)
}

/// Whether a file or an object is missing that was listed.
fn has_vanished(error: &FleetError) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = match error {
        FleetError::Io { source, .. } => return source.kind() == ErrorKind::NotFound,
        FleetError::Store { source, .. } => Some(source),
        FleetError::Sql { source } => Some(source),
        _ => None,
    };
    while let Some(error) = next {
        if let Some(object_store::Error::NotFound { .. }) = error.downcast_ref() {
            return true;
        }
        // Of a footer the engine keeps the text alone.
        let text = error.to_string();
        if text.contains("Object at location") && text.contains("not found") {
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
    use crate::error::FleetError;

    #[test]
    fn a_missing_file_is_found_below_what_the_engine_wraps_around_it() {
        let missing = || object_store::Error::NotFound { path: "a".into(), source: "gone".into() };
        let parquet = |error| DataFusionError::ParquetError(Box::new(error));
        for error in [
            parquet(ParquetError::External(Box::new(missing()))).context("reading"),
            parquet(ParquetError::General(format!("Failed to fetch metadata for file a: {}", missing()))),
            DataFusionError::ObjectStore(Box::new(missing())),
        ] {
            assert!(has_vanished(&FleetError::from(error)));
        }
        let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(has_vanished(&FleetError::io("a".as_ref(), "open")(gone)));
        assert!(!has_vanished(&DataFusionError::Plan("a: not found".into()).into()));
    }
}

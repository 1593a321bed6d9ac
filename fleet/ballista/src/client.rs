//! The client: a lake's tables, and statements on them that the cluster runs.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::SessionStateBuilder;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

const TABLES: [&str; 2] = ["stalls", "runs"];

/// Answers statements until the input ends.
pub(crate) async fn answer(scheduler: &str, lake: &Path) -> Result<(), Box<dyn Error>> {
    // One for each executor.
    let config = SessionConfig::new_with_ballista().with_target_partitions(2).with_collect_statistics(false);
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    let context = SessionContext::remote_with_state(scheduler, state).await?;
    for table in TABLES {
        register(&context, &lake.join(format!("table={table}")), table)?;
    }
    let (mut input, mut statement) = (std::io::stdin().lock(), Vec::new());
    while input.read_until(0, &mut statement)? > 0 {
        statement.pop_if(|last| *last == 0);
        let found = context.sql(std::str::from_utf8(&statement)?).await?;
        let schema = found.schema().as_arrow().clone();
        let batches = found.collect().await?;
        // Names of the same types may differ in what the plan says of nulls.
        let schema = batches.first().map_or_else(|| Arc::new(schema), |batch| batch.schema());
        let mut stream = StreamWriter::try_new(Vec::new(), &schema)?;
        batches.iter().try_for_each(|batch| stream.write(batch))?;
        let mut output = std::io::stdout().lock();
        output.write_all(&stream.into_inner()?)?;
        output.flush()?;
        statement.clear();
    }
    Ok(())
}

fn register(context: &SessionContext, folder: &Path, table: &str) -> Result<(), Box<dyn Error>> {
    let partitions = [("date", DataType::Date32), ("host", DataType::Utf8)];
    let options = ListingOptions::new(Arc::new(ParquetFormat::default()))
        .with_file_extension(".parquet")
        .with_table_partition_cols(partitions.map(|(name, kind)| (name.to_owned(), kind)).to_vec());
    let file = first_file(folder)?.ok_or_else(|| format!("{}: holds no Parquet file", folder.display()))?;
    // Of all files alike: lakes of one version have the same columns.
    let schema = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?.schema().clone();
    let schema = Arc::new(schema.as_ref().clone().with_metadata(Default::default()));
    let url = ListingTableUrl::parse(format!("{}/", folder.display()))?;
    let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
    context.register_table(table, Arc::new(ListingTable::try_new(config)?))?;
    Ok(())
}

fn first_file(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() { first_file(&path)? } else { Some(path) };
        if let Some(file) = found.filter(|path| path.extension().is_some_and(|end| end == "parquet")) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

//! A directory with one file per table, and `run.json`.

use std::io::Write;

use export::damage::{self, DAMAGE};
use export::events::{self, EVENTS};
use export::explained::{EXPLAINED, ExplainedRow};
use export::table::{RecordBatch, SchemaRef, TableWriter};
use export::task_keys::TaskKeys;
use model::quantity::counted;

use super::destination::{Destination, OutputFile};
use super::run_rows::RunRows;
use crate::reading::explained_rows::batches;
use crate::reading::explanation;
use crate::ui::failure::Failure;

/// Writes each table of the run to its own file, then what follows from them.
pub fn tables<Writer: TableWriter<OutputFile>>(
    source: &mut RunRows<'_>,
    destination: &Destination,
) -> Result<String, Failure> {
    let failed = |error| destination.failed(error);
    let mut keys = TaskKeys::default();
    source.run.tasks().filter_map(Result::ok).for_each(|tasks| keys.add(&tasks));
    let (mut rows, mut tables) = (0, 0);
    for table in source.run.tables() {
        // The run has noted a table whose schema is damaged.
        let Ok(table) = table else { continue };
        let mut writer = begin::<Writer>(&table.name, &TaskKeys::schema(&table.name, &table.schema), destination)?;
        let write = |rows: RecordBatch| writer.write(&keys.keyed(&table.name, &rows)?);
        rows += source.each(destination, table.batches(), |rows| rows.num_rows(), write)?;
        finish(writer).map_err(failed)?;
        tables += 1;
    }
    if source.run.has_trace() {
        rows += explained::<Writer>(source, &keys, destination)?;
        tables += 1;
    }
    let events = events::table(source.run.events()).map_err(failed)?;
    let damage = damage::table(&source.run.damage()).map_err(failed)?;
    for (name, table) in [(EVENTS, events), (DAMAGE, damage)] {
        let mut writer = begin::<Writer>(name, &table.schema(), destination)?;
        writer.write(&table).and_then(|()| finish(writer)).map_err(failed)?;
        rows += table.num_rows() as u64;
        tables += 1;
    }
    let mut description = destination.file_in("run.json")?;
    serde_json::to_writer_pretty(&mut description, source.run.description()).map_err(|error| failed(error.into()))?;
    description.flush().map_err(failed)?;
    Ok(format!("{} in {}", counted(rows, "row"), counted(tables, "table")))
}

/// Writes the explanation of every slow operation. Returns their number.
fn explained<Writer: TableWriter<OutputFile>>(
    source: &mut RunRows<'_>,
    keys: &TaskKeys,
    destination: &Destination,
) -> Result<u64, Failure> {
    let run = source.run;
    // The damage is reported at the end.
    let (_, accounting) = explanation::explanation_with_accounting(run, None, 0, |_| {});
    let mut writer = begin::<Writer>(EXPLAINED, &export::explained::schema(), destination)?;
    let batches = batches(&accounting, keys, run.description().started).map(Ok);
    let write = |rows: Vec<ExplainedRow>| writer.write(&export::explained::batch(&rows)?);
    let rows = source.each(destination, batches, Vec::len, write)?;
    finish(writer).map_err(|error| destination.failed(error))?;
    Ok(rows)
}

fn begin<Writer: TableWriter<OutputFile>>(
    name: &str,
    schema: &SchemaRef,
    destination: &Destination,
) -> Result<Writer, Failure> {
    let file = destination.file_in(&format!("{name}.{}", Writer::SUFFIX))?;
    Writer::begin(file, schema).map_err(|error| destination.failed(error))
}

fn finish<Writer: TableWriter<OutputFile>>(writer: Writer) -> std::io::Result<()> {
    writer.finish()?.flush()
}

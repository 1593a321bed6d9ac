//! A directory with one file per table, and `run.json`.

use std::io::Write;

use export::events::{self, EVENTS};
use export::table::TableWriter;
use report::number::grouped;

use super::destination::{Destination, OutputFile};
use super::run_rows::RunRows;
use crate::ui::failure::Failure;

/// Writes each table of the run to its own file.
pub fn tables<Writer: TableWriter<OutputFile>>(
    source: &mut RunRows<'_>,
    destination: &Destination,
) -> Result<String, Failure> {
    let file = |table: &str| destination.file_in(&format!("{table}.{}", Writer::SUFFIX));
    let failed = |error| destination.failed(error);
    let (mut rows, mut tables) = (0, 0);
    for table in source.run.tables() {
        let table = match table {
            Ok(table) => table,
            Err(error) => {
                source.skip(&error);
                continue;
            }
        };
        let mut writer = Writer::begin(file(&table.name)?, &table.schema).map_err(failed)?;
        rows += source.each(destination, table.batches(), |rows| rows.num_rows(), |rows| writer.write(&rows))?;
        finish(writer).map_err(failed)?;
        tables += 1;
    }
    let events = events::table(source.run.events()).map_err(failed)?;
    let mut writer = Writer::begin(file(EVENTS)?, &events.schema()).map_err(failed)?;
    writer.write(&events).and_then(|()| finish(writer)).map_err(failed)?;
    let mut description = destination.file_in("run.json")?;
    serde_json::to_writer_pretty(&mut description, source.run.description()).map_err(|error| failed(error.into()))?;
    description.flush().map_err(failed)?;
    let rows = grouped(rows + events.num_rows() as u64);
    Ok(format!("{rows} rows in {} tables", tables + 1))
}

fn finish<Writer: TableWriter<OutputFile>>(writer: Writer) -> std::io::Result<()> {
    writer.finish()?.flush()
}

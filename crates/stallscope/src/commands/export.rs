//! `export`: a run in the formats of other programs.

mod block;
mod destination;
mod load;
mod run_rows;
mod samples;
mod tables;
mod timeline;

use std::path::PathBuf;

use clap::Args;
use export::csv::CsvTable;
use export::parquet::ParquetTable;

use self::destination::{Destination, OutputFile};
use self::run_rows::RunRows;
use crate::reading::archived_run;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Options of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The format.
    #[arg(long, value_name = "FORMAT")]
    pub to: Format,
    /// The file or directory to make; it must not exist yet.
    #[arg(long, short = 'o', value_name = "PATH")]
    pub output: PathBuf,
    /// No progress and no remarks.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// What a run can be exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A directory with a Parquet file for each table: DuckDB, pandas, polars.
    Parquet,
    /// A directory with a CSV file for each table.
    Csv,
    /// A trace for Perfetto: tasks, stalls, requests and counters as tracks.
    Perfetto,
    /// An interval log of HdrHistogram: the load's latencies.
    Hlog,
    /// fio's JSON, as json+ gives it: the load's reads, writes and syncs.
    FioJson,
    /// A directory for fio-plot: that JSON, and fio's interval logs.
    FioPlot,
    /// Text with timestamps for Prometheus and its like: the counters.
    Openmetrics,
    /// A stream for blkparse and btt: block requests.
    Blktrace,
    /// A directory with an archive of Performance Co-Pilot: the counters.
    Pcp,
}

/// Exports a run, also while it is still being written.
pub fn export(args: &ExportArgs, screen: &Screen) -> Result<Exit, Failure> {
    let run = archived_run::open(&args.run)?;
    if let Some(origin) = run.description().origin() {
        screen.warning(&report::simulation::badge(&origin));
    }
    let interrupt = Interrupt::install()?;
    let destination = Destination::new(&args.output)?;
    let mut source = RunRows::new(&run, screen, &interrupt);
    let written = match args.to {
        Format::Parquet => tables::tables::<ParquetTable<OutputFile>>(&mut source, &destination),
        Format::Csv => tables::tables::<CsvTable<OutputFile>>(&mut source, &destination),
        Format::Perfetto => timeline::perfetto(&mut source, &destination),
        Format::Hlog => load::histogram_log(&mut source, &destination),
        Format::FioJson => load::fio_json(&mut source, &destination),
        Format::FioPlot => load::fio_plot(&mut source, &destination),
        Format::Openmetrics => samples::openmetrics(&mut source, &destination),
        Format::Blktrace => block::blktrace(&mut source, &destination),
        Format::Pcp => samples::pcp(&mut source, &destination),
    };
    screen.rest();
    let written = match written {
        Ok(written) => written,
        Err(_) if interrupt.requests() > 0 => {
            screen.remark("interrupted; nothing was left behind");
            return Ok(Exit::Interrupted);
        }
        Err(failure) => return Err(failure),
    };
    let damaged = source.damaged();
    destination.publish()?;
    screen.remark(&format!("{}: {}", args.output.display(), written));
    if damaged > 0 {
        return Err(Failure::found(format_args!(
            "{}: written without {damaged} batches of the run, which cannot be read; 'stallscope check {}' says more",
            args.output.display(),
            args.run.display()
        )));
    }
    Ok(Exit::Done)
}

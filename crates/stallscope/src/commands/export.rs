//! `export`: a run in the formats of other tools.

mod block;
mod destination;
mod load;
mod replay;
mod run_rows;
mod samples;
mod stacks;
mod tables;
mod timeline;

use std::path::PathBuf;

use archive::Run;
use clap::Args;
use export::csv::CsvTable;
use export::parquet::ParquetTable;
use model::quantity::counted;

use self::destination::{Destination, OutputFile};
use self::run_rows::RunRows;
use crate::reading::archived_run;
use crate::reading::integrity::Integrity;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Options of `export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Target format.
    #[arg(long, value_name = "FORMAT")]
    pub to: Format,
    /// Output file or directory; must not exist.
    #[arg(long, short = 'o', value_name = "PATH")]
    pub output: PathBuf,
    /// Suppress progress and notes.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Target formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Directory with one Parquet file per table: DuckDB, pandas, polars.
    Parquet,
    /// Directory with one CSV file per table.
    Csv,
    /// Perfetto trace: tasks, stalls, requests and counters as tracks.
    Perfetto,
    /// HdrHistogram interval log: the load's latencies.
    Hlog,
    /// fio JSON (json+): the load's reads, writes and syncs.
    FioJson,
    /// Directory for fio-plot: fio JSON and interval logs.
    FioPlot,
    /// OpenMetrics text with timestamps, for Prometheus: the counters.
    Openmetrics,
    /// blktrace stream for blkparse and btt: block requests.
    Blktrace,
    /// Directory with a fio job and iologs that replay the block requests on other disks.
    Fio,
    /// Directory with a Performance Co-Pilot archive: the counters.
    Pcp,
    /// Folded stacks for flamegraph.pl and inferno: time that slow operations lost, by stack and cause.
    Folded,
    /// The same stacks as a profile for pprof.
    Pprof,
    /// The same stacks for speedscope.
    Speedscope,
}

/// Exports a run; it may still be recording.
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
        Format::Fio => replay::fio(&mut source, &destination),
        Format::Pcp => samples::pcp(&mut source, &destination),
        Format::Folded => stacks::folded(&source, &destination),
        Format::Pprof => stacks::pprof(&source, &destination),
        Format::Speedscope => stacks::speedscope(&source, &destination),
    };
    screen.rest();
    let written = match written {
        Ok(written) => written,
        Err(_) if interrupt.requests() > 0 => {
            screen.remark("interrupted; nothing was written");
            return Ok(Exit::Interrupted);
        }
        Err(failure) => return Err(failure),
    };
    destination.publish()?;
    screen.remark(&format!("{}: {}", args.output.display(), written));
    found_whole(&run, args, screen)
}

/// An export lacks what the run lacks.
fn found_whole(run: &Run, args: &ExportArgs, screen: &Screen) -> Result<Exit, Failure> {
    let integrity = Integrity::of(run);
    if integrity.is_whole() {
        return Ok(Exit::Done);
    }
    integrity.lacks().for_each(|lack| screen.warning(&format!("incomplete: {lack}")));
    let damage = run.damage();
    if damage.is_empty() {
        return Err(Failure::found(format_args!("{}: incomplete: the recording lost data", args.output.display())));
    }
    Err(Failure::found(format_args!(
        "{}: incomplete: {} of the run damaged or missing; 'stallscope check {}' lists what is",
        args.output.display(),
        counted(damage.len() as u64, "part"),
        args.run.display()
    )))
}

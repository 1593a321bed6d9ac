//! `export`: a run in the formats of other programs.

mod block;
mod load;
mod place;
mod samples;
mod source;
mod tables;
mod timeline;

use std::path::PathBuf;

use archive::Run;
use clap::Args;
use export::csv::CsvTable;
use export::parquet::ParquetTable;

use self::place::{Place, Sink};
use self::source::Source;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::reading;
use crate::screen::Screen;

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

/// What was written.
struct Written {
    /// How many of what: `1,234 rows in 9 tables`.
    what: String,
}

/// Exports a run, also while it is still being written.
pub fn export(args: &ExportArgs, screen: &Screen) -> Result<Exit, Failure> {
    let run = Run::open(&args.run).map_err(reading::unreadable)?;
    if let Some(origin) = run.description().origin() {
        screen.warning(&report::simulation::badge(&origin));
    }
    let interrupt = Interrupt::install()?;
    let place = Place::new(&args.output)?;
    let mut source = Source::new(&run, screen, &interrupt);
    let written = match args.to {
        Format::Parquet => tables::tables::<ParquetTable<Sink>>(&mut source, &place),
        Format::Csv => tables::tables::<CsvTable<Sink>>(&mut source, &place),
        Format::Perfetto => timeline::perfetto(&mut source, &place),
        Format::Hlog => load::histogram_log(&mut source, &place),
        Format::FioJson => load::fio_json(&mut source, &place),
        Format::FioPlot => load::fio_plot(&mut source, &place),
        Format::Openmetrics => samples::openmetrics(&mut source, &place),
        Format::Blktrace => block::blktrace(&mut source, &place),
        Format::Pcp => samples::pcp(&mut source, &place),
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
    place.publish()?;
    screen.remark(&format!("{}: {}", args.output.display(), written.what));
    if damaged > 0 {
        return Err(Failure::found(format_args!(
            "{}: written without {damaged} batches of the run, which cannot be read; 'stallscope check {}' says more",
            args.output.display(),
            args.run.display()
        )));
    }
    Ok(Exit::Done)
}

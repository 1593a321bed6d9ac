//! `blk`: analysis of block traces.

use std::path::{Path, PathBuf};

use access::Sharing;
use blktrace::{AnomalyKind, Notes, Progress, Trace};
use clap::Args;
use lifecycle::{BlockReport, Lifecycle, Settings};
use model::block::ProcessNames;
use model::quantity::counted;
use model::quantity::{Bytes, parse_duration};
use report::blk::{BlkFindings, Reading};

use crate::reading::{archived_run, block_trace, request_events};
use crate::recording::output_file;
use crate::recording::sharing::make_directory;
use crate::ui::args::positive_duration;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Bytes between progress updates.
const PROGRESS_BYTES: u64 = 32 << 20;

/// Options of `blk`.
#[derive(Debug, Args)]
pub struct BlkArgs {
    /// Traces: a file, the NAME of a set NAME.blktrace.*, a directory, or - for standard input; merged by time. Or a
    /// run.
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    /// Report bios slower than T individually.
    #[arg(long, value_name = "T", default_value = "1s", value_parser = positive_duration)]
    pub slower_than: u64,
    /// Treat a gap of T with I/O in flight as a clock jump.
    #[arg(long, value_name = "T", default_value = "5m", value_parser = parse_duration)]
    pub clock_jump: u64,
    /// Write time series as CSV into DIR; created if missing.
    #[arg(long, value_name = "DIR")]
    pub series: Option<PathBuf>,
    /// Print tables with btt's headings.
    #[arg(long, conflicts_with = "json")]
    pub btt: bool,
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
}

/// Reads the traces in one pass and prints the findings.
pub fn blk(args: &BlkArgs, screen: &Screen) -> Result<Exit, Failure> {
    if let Some(directory) = args.traces.iter().find(|path| path.join("run.json").exists()) {
        return of_run(directory, args, screen);
    }
    let mut trace = block_trace::open(&args.traces)?;
    let report = follow(&mut trace, args, screen)?;
    if trace.notes().bytes == 0 {
        let names: Vec<String> = args.traces.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::usage(format_args!("{}: empty, not a block trace", names.join(", "))));
    }
    show(&report, trace.notes().names(), reading(&trace), args, screen)
}

/// A run of ours: its requests as the events of a trace.
fn of_run(directory: &Path, args: &BlkArgs, screen: &Screen) -> Result<Exit, Failure> {
    let name = directory.display();
    if args.traces.len() > 1 {
        return Err(Failure::usage(format_args!("{name} is a run; give it alone, without other traces")));
    }
    let run = archived_run::open(directory)?;
    let mut lifecycle = lifecycle(args);
    let mut events = 0;
    let requests = request_events::each(&run, |event| {
        lifecycle.feed(event);
        events += 1;
    });
    if requests == 0 {
        return Err(Failure::usage(format_args!(
            "{name}: has no block requests; record with tracing, preferably with --requests all"
        )));
    }
    if run.description().trace.as_ref().is_none_or(|trace| !trace.all_requests) {
        screen
            .warning("only slow requests and those that a task waited for were recorded; '--requests all' records all");
    }
    let mut names = ProcessNames::default();
    run.tasks().flatten().flatten().for_each(|task| names.insert(task.tid, &task.name));
    let reading = Reading { inputs: vec![name.to_string()], events, ..Reading::default() };
    show(&lifecycle.finish().0, &names, reading, args, screen)
}

fn show(
    report: &BlockReport,
    names: &ProcessNames,
    reading: Reading,
    args: &BlkArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let findings = BlkFindings { report, names, reading, slower_than_ns: args.slower_than };
    if let Some(directory) = &args.series {
        write_series(directory, &findings, &args.traces)?;
    }
    if args.json {
        screen.json(&report::blk::json::document(&findings));
    } else if args.btt {
        screen.result(&report::blk::btt::text(&findings));
    } else {
        screen.result(&report::blk::text::text(&findings, screen.style()));
    }
    Ok(Exit::Done)
}

fn lifecycle(args: &BlkArgs) -> Lifecycle {
    Lifecycle::new(Settings { slower_than_ns: args.slower_than, clock_jump_ns: args.clock_jump, ..Settings::default() })
}

fn follow(trace: &mut Trace, args: &BlkArgs, screen: &Screen) -> Result<BlockReport, Failure> {
    let mut lifecycle = lifecycle(args);
    let mut next_progress = PROGRESS_BYTES;
    let read = trace.each_batch(|events, Progress { bytes, events: count }| {
        lifecycle.feed_all(events);
        if bytes >= next_progress {
            next_progress = bytes + PROGRESS_BYTES;
            screen.doing(format!("{} read, {}", Bytes(bytes), counted(count, "event")));
        }
    });
    read.map_err(block_trace::unreadable)?;
    screen.rest();
    Ok(lifecycle.finish().0)
}

fn reading(trace: &Trace) -> Reading {
    let notes: &Notes = trace.notes();
    let kinds = AnomalyKind::ALL;
    Reading {
        inputs: trace.inputs().to_vec(),
        events: notes.events,
        bytes: notes.bytes,
        gaps: notes.gaps(),
        lost_events: notes.lost_events(),
        missing_at_start: notes.missing_at_start,
        noticed_late: notes.noticed_late,
        damage: kinds.iter().map(|&kind| (kind.name(), notes.count(kind), notes.amount(kind))).collect(),
        positions: notes
            .anomalies()
            .iter()
            .map(|anomaly| (anomaly.kind.name(), anomaly.input as usize, anomaly.offset, anomaly.amount))
            .collect(),
    }
}

fn write_series(directory: &Path, findings: &BlkFindings<'_>, inputs: &[PathBuf]) -> Result<(), Failure> {
    output_file::refuse(&directory.join("series"), &[])?;
    let is_new = !directory.exists() && make_directory(directory, Sharing::PRIVATE)?;
    let write =
        |(name, content): (String, String)| output_file::write(&directory.join(name), content.as_bytes(), inputs);
    report::blk::csv::files(findings).into_iter().try_for_each(write).inspect_err(|_| {
        if is_new {
            let _ = std::fs::remove_dir_all(directory);
        }
    })
}

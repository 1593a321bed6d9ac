//! `import`: recordings of other tools as runs.

mod lacks;
mod requests;

use std::io::BufReader;
use std::path::PathBuf;

use archive::FlushState;
use clap::Args;
use ingest::{RunWriter, TextContents, import_text};
use model::quantity::counted;
use model::run::RunDescription;
use model::stall::TraceSettings;
use model::time::Moment;

use crate::reading::foreign_recording::ForeignRecording;
use crate::recording::run_directory;
use crate::recording::sharing::SharingArgs;
use crate::ui::args::positive_duration;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Options of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// A perf.data, a trace.dat, a trace of Perfetto, or events as text: ftrace's trace, 'trace-cmd report', 'perf
    /// script'; - for standard input. Compressed ones (gzip, zstd) are decompressed.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Run directory to write; must be empty or not exist [default: stallscope-runs/TIME-import].
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Record operations slower than T individually.
    #[arg(long, value_name = "T", default_value = "100ms", value_parser = positive_duration)]
    pub slower_than: u64,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sharing: SharingArgs,
    /// Print warnings only.
    #[arg(short, long)]
    pub quiet: bool,
}

/// Makes a run of a recording.
pub fn import(args: &ImportArgs, screen: &Screen) -> Result<Exit, Failure> {
    let mut source = ForeignRecording::open(&args.file)?;
    let name = args.file.display();
    let unreadable = |error| Failure::path(&error, format_args!("{name}: cannot read: {error}"));
    let contents = TextContents::of(BufReader::new(source.text()?)).map_err(unreadable)?;
    if !contents.has("sched_switch") {
        return Err(Failure::usage(format_args!(
            "{name}: has no sched_switch events as text of ftrace, 'trace-cmd report' or 'perf script'; record with \
             'trace-cmd record -e sched -e block' or 'perf record \
             -a -g -e sched:sched_switch,sched:sched_waking,block:*', and print it"
        )));
    }
    let requests =
        if contents.has("block_*") { requests::of(source.block_lines()?, &name.to_string())? } else { Vec::new() };
    let description = describe(args, &contents);
    let directory = run_directory::choose(args.out.as_deref(), "import", &[])?.directory;
    let mut run = RunWriter::new(&directory, args.sharing.sharing()?, &description, false);
    let gaps = import_text(BufReader::new(source.text()?), &contents, &requests, &mut run).map_err(unreadable)?;
    let length_ns = contents.last_ns.saturating_sub(contents.first_ns.unwrap_or(0));
    let losses = lacks::losses(&contents, gaps, length_ns);
    let state = run.close(length_ns, losses).map_err(run_directory::not_created)?;
    if let Some(why) = source.lacks_functions()? {
        screen.warning(why);
    }
    for lack in lacks::words(&contents, gaps) {
        screen.warning(&lack);
    }
    if !args.quiet {
        let events: u64 = contents.events.values().sum();
        let directory = directory.display();
        screen.result(&format!(
            "{directory}: {}, {}\n",
            counted(events, "event"),
            counted(requests.len() as u64, "block request")
        ));
    }
    Ok(if state == FlushState::Whole { Exit::Done } else { Exit::FoundErrors })
}

fn describe(args: &ImportArgs, contents: &TextContents) -> RunDescription {
    let slow_ns = args.slower_than;
    // As the tracer chooses it.
    let interval_ns = (slow_ns / 100).clamp(1_000, 10_000_000);
    RunDescription {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        sample_interval_ns: 1_000_000_000,
        slower_than_ns: slow_ns,
        trace: Some(TraceSettings { slow_ns, interval_ns, all_requests: false }),
        preflight: lacks::findings(contents),
        ..RunDescription::new("import", Moment::default())
    }
}

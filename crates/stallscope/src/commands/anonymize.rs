//! `anonymize`: a copy of a run without the names of the machine and its users.

mod copy;
mod left;

use std::path::{Path, PathBuf};

use anonymize::{Comms, Names};
use archive::{Run, RunState};
use clap::Args;
use serde_json::Value;

use self::copy::Copy;
use crate::reading::integrity::Integrity;
use crate::reading::{archived_run, run_set};
use crate::recording::sharing::SharingArgs;
use crate::recording::{output_file, run_directory};
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Options of `anonymize`.
#[derive(Debug, Args)]
pub struct AnonymizeArgs {
    /// Run directory.
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Directory of the copy; must be empty or not exist.
    #[arg(long, short = 'o', value_name = "DIR")]
    pub output: PathBuf,
    /// Names of programs and threads to keep: known ones (the kernel's threads, and programs that many machines run),
    /// or all.
    #[arg(long, value_name = "WHICH", default_value = "known")]
    pub comms: WhichComms,
    /// Keep names that match NAME, wherever they occur; '*' at its start or end matches any text. Repeatable.
    #[arg(long, value_name = "NAME")]
    pub keep: Vec<String>,
    /// Prefix of the replacement names.
    #[arg(long, value_name = "TEXT", default_value = "n", value_parser = prefix)]
    pub prefix: String,
    /// Write each name and its replacement to a JSON file. It undoes the anonymization: do not share it with the copy.
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sharing: SharingArgs,
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
}

/// Names of programs and threads that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WhichComms {
    /// Those of the kernel's threads and of programs that many machines run.
    Known,
    /// All.
    All,
}

/// Copies a run, and lists what the copy still holds.
pub fn anonymize(args: &AnonymizeArgs, screen: &Screen) -> Result<Exit, Failure> {
    let run = open(args)?;
    if let Some(file) = &args.map {
        output_file::refuse(file, &[])?;
    }
    let directory = run_directory::choose(Some(&args.output), "", &[])?.directory;
    let interrupt = Interrupt::install()?;
    let comms = if args.comms == WhichComms::All { Comms::All } else { Comms::Known };
    let mut names = Names::new(comms, args.keep.clone()).beginning_with(&args.prefix);
    let description = anonymize::description(&mut names, run.description().clone());
    let writer = run_directory::create(&directory, args.sharing.sharing()?, &description, copy::options(&run))?;
    let busy = screen.busy("copying");
    let copied = Copy::new(writer, names, &run, &interrupt).whole();
    drop(busy);
    let names = match copied {
        Ok(Some(names)) => names,
        Ok(None) => {
            run_directory::remove(&directory);
            screen.remark("interrupted; nothing was written");
            return Ok(Exit::Interrupted);
        }
        Err(error) => {
            run_directory::remove(&directory);
            return Err(run_directory::not_created(error));
        }
    };
    if let Some(file) = &args.map {
        write_map(file, &names, &args.run)?;
    }
    let integrity = Integrity::of(&run);
    if args.json {
        screen.json(&left::document(&run, &args.output, &names));
    } else {
        screen.result(&left::text(&run, &args.output, &names));
    }
    integrity.lacks().for_each(|lack| screen.warning(&format!("incomplete, as the run is: {lack}")));
    Ok(integrity.exit())
}

fn write_map(file: &Path, names: &Names, run: &Path) -> Result<(), Failure> {
    let map: serde_json::Map<String, Value> =
        names.changed().map(|(before, after)| (before.to_owned(), after.into())).collect();
    output_file::write(file, format!("{:#}\n", Value::Object(map)).as_bytes(), &[run.to_owned()])
}

fn prefix(text: &str) -> Result<String, String> {
    let is_name = !text.is_empty() && text.len() <= 8 && text.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_name { Ok(text.to_owned()) } else { Err(format!("{text}: expected one to eight letters a to z")) }
}

/// The run, which has to have ended.
fn open(args: &AnonymizeArgs) -> Result<Run, Failure> {
    let wrong = |why: &str| Failure::usage(format_args!("{}: {why}", args.run.display()));
    if run_set::open(&args.run)?.is_some() {
        return Err(wrong("is a run on several nodes; anonymize the run directory of each node, 'node-NAME' in it"));
    }
    let run = archived_run::open(&args.run)?;
    match run.state() {
        RunState::Live => Err(wrong("is still being recorded; stop the recording first")),
        RunState::Closed | RunState::CutOff => Ok(run),
    }
}

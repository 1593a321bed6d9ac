//! The program: dispatch from the command line to the commands.
//!
//! `ui` is what every command shows and exits with; `recording` makes runs, `reading` reads them; `commands` holds one
//! file or folder a command; `cli` collects their options.
#![forbid(unsafe_code)]
// A program has no public items; `pub` marks what other files of it use.
#![allow(unreachable_pub)]

mod cli;
mod commands;
mod reading;
mod recording;
mod ui;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;

use crate::cli::{Cli, Command, hints};
use crate::commands::run::order;
use crate::commands::run::request::RunRequest;
use crate::commands::run::workload::{self, Offer};
use crate::commands::simulate::request::SimulationRequest;
use crate::commands::{
    anonymize, blk, check, compare, demo, doctor, explain, export, fleet, funclat, generate, hung, import, lake,
    recipes, record,
};
use crate::commands::{report, run, show, simulate, sweep, top, trial, view};
use crate::reading::foreign_recording;
use crate::recording::watchdog;
use crate::ui::failure::{Exit, Failure};
use crate::ui::privilege;
use crate::ui::screen::{self, Screen};

fn main() -> ExitCode {
    let words = hints::without_help_of_help(&std::env::args_os().collect::<Vec<OsString>>());
    let words = order::workload_first(&words);
    match dispatch(&words) {
        Ok(exit) => match screen::unwritten() {
            None => exit,
            Some(error) => {
                eprintln!("stallscope: cannot write to standard output: {error}");
                Exit::Machine.into()
            }
        },
        Err(failure) => {
            screen::failure(&failure);
            failure.exit.into()
        }
    }
}

fn dispatch(words: &[OsString]) -> Result<ExitCode, Failure> {
    let offers = workload::offers_for(words)?;
    let matches = match cli::command(&offers).try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(answer) => return Ok(print(&hints::with_remedy(answer, words)).into()),
    };
    match matches.subcommand() {
        Some(("run", matches)) => run::run(RunRequest::from_matches(matches, offers)?).map(ExitCode::from),
        Some(("simulate", matches)) => {
            privilege::keep_for_reading();
            simulate::simulate(&SimulationRequest::from_matches(matches)?).map(ExitCode::from)
        }
        _ => execute(Cli::from_arg_matches(&matches).map_err(Failure::usage)?.command, offers),
    }
}

fn execute(command: Command, offers: Vec<Offer>) -> Result<ExitCode, Failure> {
    give_up_privileges(&command);
    let exit = match command {
        Command::Demo(args) => demo::demo(&args, offers),
        Command::Doctor(args) => doctor::doctor(&args, &Screen::new(args.json, false)),
        Command::Record(args) => record::record(args),
        Command::Show(args) => show::show(&args, &Screen::new(args.run.json, false)),
        Command::Explain(args) => explain::explain(&args, &Screen::new(args.json, false)),
        Command::Blk(args) => blk::blk(&args, &Screen::new(args.json, false)),
        Command::Import(args) => import::import(&args, &Screen::new(false, args.quiet)),
        Command::Hung(args) => hung::hung(&args, &Screen::new(args.json, false)),
        Command::Compare(args) => compare::compare(&args, &Screen::new(args.json, false)),
        Command::Report(args) => report::report(&args, &Screen::new(false, false)),
        Command::View(args) => view::view(&args, &Screen::new(false, false)),
        Command::Top(args) => top::top(&args),
        Command::Funclat(args) => funclat::funclat(&args),
        Command::Sweep(args) => sweep::sweep(&args),
        Command::Trial(args) => trial::trial(args),
        Command::Watchdog { pid, start_ticks, boot_id, patience_s } => {
            let owner = rig::Owner { pid, start_ticks, boot_id };
            watchdog::watch(&owner, std::time::Duration::from_secs(patience_s))
        }
        Command::Export(args) => export::export(&args, &Screen::new(false, args.quiet)),
        Command::Anonymize(args) => anonymize::anonymize(&args, &Screen::new(args.json, false)),
        Command::Lake(args) => lake::lake(&args),
        Command::Fleet(args) => fleet::fleet(&args),
        Command::Check(args) => check::check(&args, &Screen::new(args.json, false)),
        Command::Recipes(args) => recipes::recipes(&args, &Screen::new(false, false)),
        Command::Generate { directory } => generate::generate(&directory, cli::command(&offers)),
        Command::Load { words } => return Ok(load_process(words)),
        Command::InCgroup { cgroup_procs, command } => {
            let Err(error) = rig::exec_in_cgroup(&cgroup_procs, &command);
            Err(Failure::machine(error))
        }
    };
    exit.map(ExitCode::from)
}

/// A command that only reads keeps few. The kernel's symbols are opened before.
fn give_up_privileges(command: &Command) {
    if matches!(command, Command::Import(_)) {
        foreign_recording::open_symbols();
    }
    if command.only_reads() {
        privilege::keep_for_reading();
    }
}

fn load_process(words: Vec<OsString>) -> ExitCode {
    ExitCode::from(load::process::main(words.into_iter(), privilege::keep_for_load))
}

/// Help and version are answers, not errors; clap knows which stream each goes to.
fn print(answer: &clap::Error) -> Exit {
    let text = answer.render();
    screen::answer(&text.to_string(), &text.ansi().to_string(), answer.use_stderr());
    if answer.use_stderr() { Exit::Usage } else { Exit::Done }
}

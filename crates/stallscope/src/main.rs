//! The program: flags, verbs, wiring; nothing clever.
#![forbid(unsafe_code)]
// A program has no public items; `pub` says here what other files of it use.
#![allow(unreachable_pub)]

mod blk;
mod blocked;
mod check;
mod cli;
mod compare;
mod demo;
mod doctor;
mod explain_verb;
mod export_verb;
mod failure;
mod flight;
mod funclat;
mod generate;
mod interrupt;
mod machine;
mod native;
mod paged;
mod reading;
mod recipes;
mod record_verb;
mod recorder;
mod report_verb;
mod run;
mod rundir;
mod screen;
mod session;
mod show;
mod simulate_verb;
mod sink;
mod sweep_verb;
mod top_verb;
mod tracing;
mod turn;
mod view;
mod workload;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;

use crate::cli::{Cli, Verb};
use crate::failure::{Exit, Failure};
use crate::screen::Screen;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match act(&words) {
        Ok(exit) => match screen::unwritten() {
            None => exit,
            Some(error) => {
                eprintln!("stallscope: standard output could not be written to: {error}");
                Exit::Machine.into()
            }
        },
        Err(failure) => {
            eprintln!("stallscope: {failure}");
            failure.exit.into()
        }
    }
}

fn act(words: &[OsString]) -> Result<ExitCode, Failure> {
    let offers = workload::offers_for(words)?;
    let matches = match workload::command(&offers).try_get_matches_from(words) {
        Ok(matches) => matches,
        Err(asked_for) => return Ok(answer(&asked_for).into()),
    };
    if let Some(("run", matches)) = matches.subcommand() {
        return run::run(workload::asked(matches, offers)?).map(ExitCode::from);
    }
    if let Some(("simulate", matches)) = matches.subcommand() {
        return simulate_verb::simulate(&simulate_verb::asked(matches)?).map(ExitCode::from);
    }
    let cli = Cli::from_arg_matches(&matches).map_err(Failure::usage)?;
    let exit = match cli.verb {
        Verb::Demo(args) => demo::demo(&args, offers),
        Verb::Doctor(args) => doctor::doctor(&args, &Screen::new(args.json, false)),
        Verb::Record(args) => record_verb::record(args),
        Verb::Show(args) => show::show(&args, &Screen::new(args.run.json, false)),
        Verb::Explain(args) => explain_verb::explain(&args, &Screen::new(args.json, false)),
        Verb::Blk(args) => blk::blk(&args, &Screen::new(args.json, false)),
        Verb::Compare(args) => compare::compare(&args, &Screen::new(args.json, false)),
        Verb::Report(args) => report_verb::report(&args, &Screen::new(false, false)),
        Verb::View(args) => view::view(&args, &Screen::new(false, false)),
        Verb::Top(args) => top_verb::top(&args),
        Verb::Funclat(args) => funclat::funclat(&args),
        Verb::Sweep(args) => sweep_verb::sweep(&args),
        Verb::Export(args) => export_verb::export(&args, &Screen::new(false, args.quiet)),
        Verb::Check(args) => check::check(&args, &Screen::new(args.json, false)),
        Verb::Recipes(args) => recipes::recipes(&args, &Screen::new(false, false)).map(|()| Exit::Done),
        Verb::Generate { directory } => generate::generate(&directory).map(|()| Exit::Done),
        Verb::Load { words } => return Ok(ExitCode::from(load::process::main(words.into_iter()))),
        Verb::Boxed { cgroup_procs, command } => {
            let Err(error) = rig::exec_in_cgroup(&cgroup_procs, &command);
            Err(Failure::machine(error))
        }
    };
    exit.map(ExitCode::from)
}

/// Help and version are answers, not errors; clap knows where each goes.
fn answer(asked_for: &clap::Error) -> Exit {
    let _ = asked_for.print();
    if asked_for.use_stderr() { Exit::Usage } else { Exit::Done }
}

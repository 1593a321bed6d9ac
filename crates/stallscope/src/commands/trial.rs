//! `trial`: what a changed setting does to live load: periods with and without it, in random order.

pub mod args;
mod changes;
mod conduct;
mod evaluation;
mod guards;
mod preview;
mod remedies;
mod single;

use self::args::TrialArgs;
use self::single::{Context, perform, planned};
use crate::recording::command;
use crate::recording::machine;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Runs a trial, or those of a run's remedies, and prints what they found.
pub fn trial(args: TrialArgs) -> Result<Exit, Failure> {
    command::refuse_unusable(&args.command)?;
    let output = &args.recording.output;
    let screen = match args.command.is_empty() {
        true => Screen::new(output.json, output.quiet),
        false => Screen::beside_a_command(output.quiet),
    };
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let context = Context { screen: &screen, interrupt: &interrupt, register: &register };
    if let Some(run) = &args.from {
        return remedies::try_remedies(&args, run, &context);
    }
    let Some(finished) = perform(&args, &context)? else {
        if output.json {
            screen.json(&planned(&args, &context)?);
        }
        return Ok(Exit::Done);
    };
    match output.json {
        true => screen.json(&finished.document()),
        false => finished.print(&args, &screen),
    }
    Ok(finished.exit)
}

//! `check`: integrity of an archive, and losses.

use archive::{CheckReport, RunState};
use report::damage::{OfRun, values};
use report::number::grouped;
use report::style::printable;

use crate::reading::archived_run;
use crate::reading::args::RunArgs;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Reads every byte of a run; exit code 1 if it is not whole.
pub fn check(args: &RunArgs, screen: &Screen) -> Result<Exit, Failure> {
    let run = archived_run::open(&args.run)?;
    let report = run.check();
    if args.json {
        let mut document = serde_json::to_value(&report).map_err(Failure::machine)?;
        document["damage"] =
            values(&[OfRun { run: &args.run.display().to_string(), damage: &report.damage, lost: &[] }]);
        document["simulated"] = serde_json::to_value(run.description().origin()).map_err(Failure::machine)?;
        screen.json(&document);
    } else {
        let badge = run.description().origin().map(|origin| report::simulation::badge(&origin) + "\n");
        screen.result(&(badge.unwrap_or_default() + &text(&report)));
    }
    Ok(if report.whole { Exit::Done } else { Exit::FoundErrors })
}

fn text(report: &CheckReport) -> String {
    let state = match report.state {
        RunState::Live => "still recording",
        RunState::Closed => "closed cleanly",
        RunState::CutOff => "cut off: its writer died",
    };
    let mut text = format!("{}, {state}\n", if report.whole { "intact" } else { "NOT intact" });
    for (table, rows) in &report.rows {
        text.push_str(&format!("{:>14} rows of {table}\n", grouped(*rows)));
    }
    if report.torn_bytes > 0 {
        text.push_str(&format!("{:>14} bytes were incomplete when it was cut off\n", grouped(report.torn_bytes)));
    }
    for sentence in &report.lost {
        text.push_str(&format!("lost: {}\n", printable(sentence)));
    }
    for sentence in &report.left_out {
        text.push_str(&format!("left out: {}\n", printable(sentence)));
    }
    text
}

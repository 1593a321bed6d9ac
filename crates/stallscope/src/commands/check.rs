//! `check`: integrity of an archive, and losses.

use archive::{CheckReport, Run, RunState};
use model::quantity::{counted, grouped, plural};
use report::damage::{OfRun, values};
use report::style::printable;
use serde_json::{Value, json};

use crate::reading::archived_run;
use crate::reading::args::RunArgs;
use crate::reading::integrity::Integrity;
use crate::reading::run_set::{self, NodeRun, RunSet};
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Reads every byte of a run; exit code 1 if it is not whole, or lacks something.
pub fn check(args: &RunArgs, screen: &Screen) -> Result<Exit, Failure> {
    if let Some(set) = run_set::open(&args.run)? {
        return Ok(check_set(&set, args.json, screen));
    }
    let run = archived_run::open(&args.run)?;
    let report = run.check();
    if args.json {
        screen.json(&document(&args.run.display().to_string(), &run, &report));
    } else {
        let badge = run.description().origin().map(|origin| report::simulation::badge(&origin) + "\n");
        screen.result(&(badge.unwrap_or_default() + &text(&report)));
    }
    // As of all commands: a run that was cut off lacks its end.
    Ok(if report.whole { Integrity::of(&run).exit() } else { Exit::FoundErrors })
}

fn document(name: &str, run: &Run, report: &CheckReport) -> Value {
    let mut document = json!(report);
    document["damage"] = values(&[OfRun { run: name, damage: &report.damage, lost: &[], untraced: &[] }]);
    document["simulated"] = json!(run.description().origin());
    document
}

/// Every run of a set, and whether the set has all.
fn check_set(set: &RunSet, json: bool, screen: &Screen) -> Exit {
    let reports: Vec<(&NodeRun, &Run, CheckReport)> = set.read().map(|(node, run)| (node, run, run.check())).collect();
    let damage = set.damage();
    let whole = damage.is_empty() && reports.iter().all(|(_, _, report)| report.whole);
    if json {
        let name = set.directory.display().to_string();
        let node = |(node, run, report): &(&NodeRun, &Run, CheckReport)| {
            let mut value = document(&node.name(), run, report);
            value["node"] = node.node.name.as_str().into();
            value
        };
        screen.json(&json!({
            "whole": whole,
            "set": report::set::of_set(&set.description),
            "nodes": reports.iter().map(node).collect::<Vec<_>>(),
            "damage": values(&[OfRun { run: &name, damage: &damage, lost: &[], untraced: &[] }]),
        }));
    } else {
        let state = if whole { "intact" } else { "NOT intact" };
        let mut lines = format!("{state}, a set of {}\n", counted(set.nodes.len() as u64, "node"));
        damage.iter().for_each(|damage| lines.push_str(&format!("lost: {}\n", printable(&damage.to_string()))));
        for (node, _, report) in &reports {
            lines.push_str(&format!("\nnode {}: {}", printable(&node.node.name), text(report)));
        }
        screen.result(&lines);
    }
    if whole { set.integrity().exit() } else { Exit::FoundErrors }
}

fn text(report: &CheckReport) -> String {
    let state = match report.state {
        RunState::Live => "still recording",
        RunState::Closed => "closed cleanly",
        RunState::CutOff => "cut off: its writer died",
    };
    let mut text = format!("{}, {state}\n", if report.whole { "intact" } else { "NOT intact" });
    for (table, rows) in &report.rows {
        text.push_str(&format!("{:>14} {} of {table}\n", grouped(*rows), plural(*rows, "row")));
    }
    if report.torn_bytes > 0 {
        text.push_str(&format!(
            "{:>14} {} incomplete when it was cut off\n",
            grouped(report.torn_bytes),
            plural(report.torn_bytes, "byte")
        ));
    }
    for sentence in &report.lost {
        text.push_str(&format!("lost: {}\n", printable(sentence)));
    }
    for sentence in &report.left_out {
        text.push_str(&format!("left out: {}\n", printable(sentence)));
    }
    text
}

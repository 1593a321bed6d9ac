//! `doctor`: what this machine allows, what is missing, and how to get it.

use model::preflight::Finding;
use record::TraceOptions;
use report::style::{Style, printable};
use serde_json::json;

use crate::cli::DoctorArgs;
use crate::failure::{Exit, Failure};
use crate::machine;
use crate::screen::Screen;

/// The threshold that a run has by default; it changes nothing of what can be traced.
const SLOW_NS: u64 = 1_000_000_000;

/// Looks at everything, as a run would find it: what a run mounts for itself is mounted for the look, too.
pub fn doctor(args: &DoctorArgs, screen: &Screen) -> Result<Exit, Failure> {
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let kernel_files = rig::KernelFiles::mount(&register);
    let findings = findings();
    drop(kernel_files);
    if args.json {
        screen.json(&json!({ "findings": findings }));
    } else {
        screen.result(&text(&findings, screen.style()));
    }
    Ok(Exit::Done)
}

fn findings() -> Vec<Finding> {
    let mut findings = rig::preflight();
    findings.extend(machine::samplers().1);
    findings.extend(machine::tracing(&TraceOptions::slower_than(SLOW_NS, false)).1);
    findings
}

fn text(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    let width = findings.iter().map(|finding| printable(&finding.capability).chars().count()).max().unwrap_or(0);
    for finding in findings {
        let (mark, word) = match (finding.available, style.unicode) {
            (true, true) => ("✓", ""),
            (true, false) => ("ok", ""),
            (false, true) => ("✗", ""),
            (false, false) => ("--", ""),
        };
        let mark = if finding.available { mark.to_owned() } else { style.bad(mark) };
        text.push_str(&format!(
            "{mark}{word} {:<width$} {}\n",
            printable(&finding.capability),
            printable(&finding.purpose)
        ));
        if let Some(why) = &finding.why {
            text.push_str(&format!("     {}\n", printable(why)));
        }
        if let Some(remedy) = &finding.remedy {
            text.push_str(&format!("     {}\n", style.remark(&printable(remedy))));
        }
    }
    let missing = findings.iter().filter(|finding| !finding.available).count();
    text.push_str(&match missing {
        0 => "Everything that is looked for is here.\n".to_owned(),
        _ => format!("{missing} of {} are missing; a run goes on without them and says so.\n", findings.len()),
    });
    text
}

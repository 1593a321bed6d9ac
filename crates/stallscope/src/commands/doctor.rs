//! `doctor`: what this machine supports, what is missing, and how to get it.

use clap::Args;
use model::preflight::{Finding, Subject};
use model::run::Host;
use record::kernel::{self, KernelFacts};
use record::{Roots, TraceOptions, host};
use report::style::{Style, printable};
use rig::{Register, Removed};
use serde_json::{Value, json};

use crate::recording::probes;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// The default threshold of a run; it does not affect what can be traced.
const SLOW_NS: u64 = 1_000_000_000;

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print a single JSON document to standard output.
    #[arg(long)]
    pub json: bool,
}

/// Checks everything as a run would find it; what a run mounts is mounted for the check.
pub fn doctor(args: &DoctorArgs, screen: &Screen) -> Result<Exit, Failure> {
    let (register, leftovers) = Register::open().map_err(Failure::machine)?;
    let kernel_files = rig::KernelFiles::mount(&register);
    let findings = findings();
    let host = host::host(&Roots::default());
    let facts = kernel::facts(&Roots::default(), &host.kernel_release);
    drop(kernel_files);
    if args.json {
        screen.json(&document(&findings, &leftovers, &host, &facts));
    } else {
        screen.result(&(text(&findings, screen.style()) + &text_of_leftovers(&leftovers)));
        screen.result(&kernel_text(&host, &facts));
    }
    Ok(Exit::Done)
}

fn findings() -> Vec<Finding> {
    let mut findings = rig::preflight();
    findings.extend(probes::samplers().1);
    findings.extend(probes::tracing(&TraceOptions::slower_than(SLOW_NS, false)).1);
    findings
}

fn document(findings: &[Finding], leftovers: &[Removed], host: &Host, facts: &KernelFacts) -> Value {
    let fact = |fact: &kernel::KernelFact| json!({ "name": fact.name, "value": fact.value, "bears_on": fact.affects });
    let leftover = |removed: &Removed| json!({ "what": removed.sentence, "removed": removed.complete });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "findings": findings,
        "missing": findings.iter().filter(|finding| finding.is_missing()).count(),
        "answers": answers(findings).iter().map(Answer::value).collect::<Vec<_>>(),
        "leftovers": leftovers.iter().map(leftover).collect::<Vec<_>>(),
        "machine": {
            "architecture": host.architecture,
            "cpus": host.cpus,
            "memory_bytes": host.memory_bytes,
            "page_size_bytes": host.page_size_bytes,
            "sysctl": host.sysctl.iter().map(|(name, value)| (name.clone(), json!(value))).collect::<serde_json::Map<_,
                _>>(),
        },
        "kernel": {
            "release": host.kernel_release,
            "version": host.kernel_version,
            "command_line": host.kernel_command_line,
            "config_file": facts.config_file,
            "facts": facts.facts.iter().map(fact).collect::<Vec<_>>(),
        },
    })
}

/// What earlier runs left, and what became of it.
fn text_of_leftovers(leftovers: &[Removed]) -> String {
    let mut text = String::new();
    for leftover in leftovers {
        text.push_str(&format!("left by an earlier run: {}\n", printable(&leftover.to_string())));
    }
    let left = leftovers.iter().filter(|leftover| !leftover.complete).count();
    if left > 0 {
        text.push_str(&format!(
            "{left} of them could not be removed; each start of a run, and of doctor, tries again.\n"
        ));
    }
    text
}

fn kernel_text(host: &Host, facts: &KernelFacts) -> String {
    let config = match &facts.config_file {
        Some(path) => format!("configuration: {}", path.display()),
        None => "configuration not available".to_owned(),
    };
    let mut text = format!("\nLinux {} {}, {config}\n", printable(&host.kernel_release), printable(&host.architecture));
    let width = facts.facts.iter().map(|fact| fact.name.len()).max().unwrap_or(0);
    let value = |fact: &kernel::KernelFact| fact.value.as_deref().map_or_else(|| "unknown".into(), printable);
    let value_width = facts.facts.iter().map(|fact| value(fact).chars().count()).max().unwrap_or(0);
    for fact in &facts.facts {
        text.push_str(&format!(" {:<width$}  {:<value_width$}  {}\n", fact.name, value(fact), fact.affects));
    }
    text
}

/// Whether answers about a subject will rest on all that they need.
struct Answer<'a> {
    subject: Subject,
    lacks: Option<&'a Finding>,
}

fn answers(findings: &[Finding]) -> Vec<Answer<'_>> {
    Subject::ALL.into_iter().map(|subject| Answer { subject, lacks: subject.lacks(findings) }).collect()
}

impl Answer<'_> {
    fn value(&self) -> Value {
        json!({ "about": self.subject.name(), "complete": self.lacks.is_none(),
            "lacks": self.lacks.map(|finding| &finding.capability) })
    }

    fn words(&self) -> String {
        let about = match self.subject {
            Subject::Operations => "which operations are slow",
            Subject::Disk => "at the disk",
            Subject::Locks => "about locks",
            Subject::Memory => "about memory",
        };
        match self.lacks {
            None => format!("{about}: yes"),
            Some(finding) => format!("{about}: no ({} is missing)", printable(&finding.capability)),
        }
    }
}

/// One line, which matters more than all others.
fn text_of_answers(findings: &[Finding], style: Style) -> String {
    let answers = answers(findings);
    let words: Vec<String> = answers.iter().map(Answer::words).collect();
    let line = format!("Answers on this machine rest on all that they need: {}.", words.join("; "));
    let is_complete = answers.iter().all(|answer| answer.lacks.is_none());
    format!("{}\n", if is_complete { line } else { style.bad(&line) })
}

fn text(findings: &[Finding], style: Style) -> String {
    let mut text = String::new();
    let width = findings.iter().map(|finding| printable(&finding.capability).chars().count()).max().unwrap_or(0);
    for finding in findings {
        let mark = match (finding.available, finding.is_missing(), style.unicode) {
            (true, _, true) => "✓".to_owned(),
            (true, _, false) => "ok".to_owned(),
            (false, true, true) => style.bad("✗"),
            (false, true, false) => style.bad("--"),
            (false, false, true) => "·".to_owned(),
            (false, false, false) => "..".to_owned(),
        };
        text.push_str(&format!("{mark} {:<width$} {}\n", printable(&finding.capability), printable(&finding.purpose)));
        if let Some(why) = &finding.why {
            text.push_str(&format!("     {}\n", printable(why)));
        }
        if let Some(remedy) = &finding.remedy {
            text.push_str(&format!("     {}\n", style.remark(&printable(remedy))));
        }
    }
    let missing = findings.iter().filter(|finding| finding.is_missing()).count();
    text.push_str(&match missing {
        0 => "All checks passed.\n".to_owned(),
        _ => format!(
            "{missing} of {} checks failed; a run works without what they look for, and reports it.\n",
            findings.len()
        ),
    });
    text.push_str(&text_of_answers(findings, style));
    text
}

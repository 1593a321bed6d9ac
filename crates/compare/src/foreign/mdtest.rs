//! mdtest's summary of rates, of mdtest 1.9 to 4.0 and of `run mdtest`. A summary is a run; of its columns the mean
//! over the iterations is read. What was not done has zeros and is absent. A summary of times (`SUMMARY time`) is not
//! read.

use super::error::{Runs, malformed};
use super::text::finite;
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "mdtest";
/// Columns after the operation: `Max`, `Min`, `Mean`, `Std Dev`.
const COLUMNS: usize = 4;
const MEAN: usize = 2;
const OPERATIONS: [&str; 10] = [
    "directory creation",
    "directory stat",
    "directory rename",
    "directory removal",
    "file creation",
    "file stat",
    "file read",
    "file removal",
    "tree creation",
    "tree removal",
];

pub(super) fn runs(text: &str) -> Runs {
    if !text.lines().any(is_summary) {
        return None;
    }
    let mut runs: Vec<RunFigures> = Vec::new();
    let (mut facts, mut in_rates) = (Vec::new(), false);
    for line in text.lines() {
        if let Some(fact) = launched(line) {
            // It precedes the summary of its invocation.
            (facts, in_rates) = (vec![fact], false);
        } else if is_summary(line) {
            in_rates = is_of_rates(line);
            if in_rates {
                runs.push(RunFigures { facts: all(&facts), ..RunFigures::default() });
            }
        } else if let (true, Some(run), Some((operation, mean))) = (in_rates, runs.last_mut(), row(line)) {
            let name = format!("{}.per_s", operation.replace(' ', "-"));
            if mean > 0.0 && !run.metrics.iter().any(|known| known.name == name) {
                run.metrics.push(Figure::level(name, "/s", Better::Higher, mean));
            }
        }
    }
    runs.retain(|run| !run.metrics.is_empty());
    Some(if runs.is_empty() {
        Err(malformed(TOOL, "its summary of rates has no row; was it interrupted?"))
    } else {
        Ok(runs)
    })
}

/// `SUMMARY rate: (of 1 iterations)`, `SUMMARY: (of 3 iterations)`, `SUMMARY rate (in ops/sec): ...`
fn is_summary(line: &str) -> bool {
    line.trim_start().starts_with("SUMMARY") && line.contains("iterations)")
}

fn is_of_rates(line: &str) -> bool {
    !line.contains("time")
}

/// `mdtest-3.4.0+dev was launched with 10 total task(s) on 3 node(s)`
fn launched(line: &str) -> Option<Fact> {
    let (version, rest) = line.trim_start().strip_prefix("mdtest-")?.split_once(" was launched with ")?;
    Some(Fact::new("mdtest version and tasks", format!("{version}, {rest}")))
}

fn all(facts: &[Fact]) -> Vec<Fact> {
    [Fact::new("workload", "mdtest")].into_iter().chain(facts.iter().cloned()).collect()
}

/// The operation and its mean; `None` unless each column has a number.
fn row(line: &str) -> Option<(&'static str, f64)> {
    let words: Vec<&str> = line.split_whitespace().filter(|word| *word != ":").collect();
    let names = words.len().checked_sub(COLUMNS).filter(|names| *names > 0)?;
    let name = words[..names].join(" ").to_lowercase();
    let name = name.trim_end_matches(':').trim_end();
    let operation = OPERATIONS.into_iter().find(|known| *known == name)?;
    let values: Vec<f64> = words[names..].iter().map(|word| finite(word)).collect::<Option<_>>()?;
    Some((operation, values[MEAN]))
}

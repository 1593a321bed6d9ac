//! IOR's table of results, by IOR 2.10 to 4.0 and by `run ior`. An invocation is a run, its iterations are repetitions
//! within it: figures are means over them, as in IOR's summary. The heading says what each column is.

use super::error::{Runs, malformed};
use super::text::{finite, leading_number};
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "IOR";
/// Columns that are read: IOR's heading, the figure, its unit and factor, and whether more is better.
const COLUMNS: [(&str, &str, &str, f64, Better); 5] = [
    ("bw(MiB/s)", "bytes_per_s", "bytes/s", 1_048_576.0, Better::Higher),
    ("IOPS", "per_s", "/s", 1.0, Better::Higher),
    ("open(s)", "open", "ns", 1e9, Better::Lower),
    ("close(s)", "close", "ns", 1e9, Better::Lower),
    ("total(s)", "total", "ns", 1e9, Better::Lower),
];
const ACCESSES: [&str; 2] = ["write", "read"];
/// Lines that state a condition, and its name.
const CONDITIONS: [(&str, &str); 8] = [
    ("api", "IOR api"),
    ("access", "IOR access"),
    ("tasks", "IOR tasks"),
    ("clients per node", "IOR tasks per node"),
    ("ordering in a file", "IOR ordering"),
    ("xfersize", "IOR transfer size"),
    ("blocksize", "IOR block size"),
    ("aggregate filesize", "IOR file size"),
];

/// An invocation so far.
#[derive(Default)]
struct Invocation<'a> {
    columns: Vec<&'a str>,
    /// Access, column, sum and count of the iterations.
    sums: Vec<(&'static str, usize, f64, f64)>,
    /// Of a table without rows: maxima, MiB/s.
    best: Vec<(&'static str, f64)>,
    facts: Vec<Fact>,
    incomplete: bool,
}

pub(super) fn runs(text: &str) -> Runs {
    let is_of_ior = |line: &str| is_heading(line) || best(line).is_some();
    if !text.lines().any(is_of_ior) {
        return None;
    }
    let mut found: Vec<Invocation<'_>> = vec![Invocation::default()];
    for line in text.lines() {
        let last = found.last().expect("there is one from the start");
        let begins = line.starts_with("IOR-") || (is_heading(line) && !last.columns.is_empty());
        if begins && !(last.sums.is_empty() && last.best.is_empty()) {
            found.push(Invocation::default());
        }
        found.last_mut().expect("there is one from the start").line(line);
    }
    let runs: Vec<RunFigures> = found.into_iter().filter_map(Invocation::run).collect();
    Some(if runs.is_empty() {
        Err(malformed(TOOL, "its table has no complete row; was it interrupted?"))
    } else {
        Ok(runs)
    })
}

fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with("access ") && line.contains("bw(MiB/s)")
}

/// `Max Write: 412.35 MiB/sec (432.38 MB/sec)`
fn best(line: &str) -> Option<(&'static str, f64)> {
    let (label, rest) = line.trim().split_once(':')?;
    let at = ["Max Write", "Max Read"].iter().position(|known| *known == label)?;
    let (value, unit) = leading_number(rest)?;
    unit.trim_start().starts_with("MiB/sec").then_some((ACCESSES[at], value))
}

impl<'a> Invocation<'a> {
    fn line(&mut self, line: &'a str) {
        if is_heading(line) {
            self.columns = line.split_whitespace().collect();
        } else if let Some(best) = best(line) {
            self.best.push(best);
        } else if let Some(access) = ACCESSES.into_iter().find(|access| line.split_whitespace().next() == Some(*access))
        {
            self.row(access, line);
        } else if let Some((what, value)) = line.split_once(" : ") {
            let condition = CONDITIONS.iter().find(|(known, _)| *known == what.trim());
            self.facts.extend(condition.map(|(_, name)| Fact::new(name, value.trim())));
        } else if self.columns.is_empty() && line.starts_with("IOR-") {
            let version = line.split(':').next().unwrap_or(line).trim_start_matches("IOR-");
            self.facts.push(Fact::new("IOR version", version));
        }
    }

    /// A row of the results: a word for each column, the last of which is the iteration. The summary's rows have more.
    fn row(&mut self, access: &'static str, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if self.columns.is_empty() || words.len() != self.columns.len() {
            self.incomplete |= self.sums.is_empty();
            return;
        }
        for (at, (heading, ..)) in COLUMNS.iter().enumerate() {
            let word = self.columns.iter().position(|column| column == heading).map(|column| words[column]);
            let Some(value) = word.and_then(finite) else { continue };
            match self.sums.iter_mut().find(|sum| (sum.0, sum.1) == (access, at)) {
                Some(sum) => (sum.2, sum.3) = (sum.2 + value, sum.3 + 1.0),
                None => self.sums.push((access, at, value, 1.0)),
            }
        }
    }

    fn run(self) -> Option<RunFigures> {
        let mut run = RunFigures::default();
        for (access, at, sum, count) in &self.sums {
            let (_, name, unit, factor, better) = COLUMNS[*at];
            run.metrics.push(Figure::level(format!("{access}.{name}"), unit, better, sum / count * factor));
        }
        if run.metrics.is_empty() {
            for (access, mib_per_s) in &self.best {
                let name = format!("{access}.bytes_per_s");
                run.metrics.push(Figure::level(name, "bytes/s", Better::Higher, mib_per_s * COLUMNS[0].3));
            }
            run.cautions.push("its table of results is missing: the rates are the best of all iterations".to_owned());
        } else if self.incomplete {
            run.cautions
                .push("a row of its table has fewer or more columns than the heading and is left out".to_owned());
        }
        run.facts = [Fact::new("workload", "IOR")].into_iter().chain(self.facts).collect();
        (!run.metrics.is_empty()).then_some(run)
    }
}

//! fs_mark's table. An invocation is a run, and its loops are the intervals. The rate is all files over the total time,
//! not the average of the loops' rates.

use super::error::{Runs, malformed};
use super::text::{finite, steady};
use crate::figures::{Better, Fact, Figure, RunFigures};

const TOOL: &str = "fs_mark";
/// Calls that fs_mark's `-v` adds, by the names of their columns: three each, of the minimum, mean and maximum time in
/// us. In its output the heading says which, and in which order.
pub const FS_MARK_CALLS: [(&str, &str); 6] = [
    ("CREAT", "create"),
    ("WRITE", "write"),
    ("FSYNC", "fsync"),
    ("SYNC", "sync"),
    ("CLOSE", "close"),
    ("UNLINK", "unlink"),
];
/// Columns before them: `FSUse%`, `Count`, `Size`, `Files/sec`, `App Overhead`.
const PLAIN: usize = 5;

/// One line of the table.
struct Loop {
    files: f64,
    per_s: f64,
    /// Mean and maximum, us.
    calls: Vec<(f64, f64)>,
}

pub(super) fn runs(text: &str) -> Runs {
    if !text.lines().any(is_heading) {
        return None;
    }
    let mut reader = Reader::default();
    text.lines().for_each(|line| reader.line(line));
    reader.finish();
    Some(if reader.runs.is_empty() {
        Err(malformed(TOOL, "its table has no row; was the run interrupted?"))
    } else {
        Ok(reader.runs)
    })
}

fn is_heading(line: &str) -> bool {
    line.trim_start().starts_with("FSUse%") && line.contains("Files/sec")
}

/// Collects the loops of each table; a table is a run.
#[derive(Default)]
struct Reader {
    runs: Vec<RunFigures>,
    conditions: Vec<(&'static str, String)>,
    loops: Vec<Loop>,
    /// Files so far in this table.
    counted: f64,
    in_table: bool,
    /// Calls of this table, in column order.
    calls: Vec<&'static str>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            if self.in_table {
                self.finish();
                self.conditions.clear();
            }
            self.conditions.extend(condition(comment.trim()));
        } else if is_heading(line) {
            self.finish();
            (self.in_table, self.counted, self.calls) = (true, 0.0, calls(line));
        } else if self.in_table && !line.trim().is_empty() {
            match row(line, self.calls.len(), &mut self.counted) {
                Some(row) => self.loops.push(row),
                // Other output between two tables.
                None => self.finish(),
            }
        }
    }

    fn finish(&mut self) {
        self.in_table = false;
        if !self.loops.is_empty() {
            self.runs.push(run(&std::mem::take(&mut self.loops), &self.calls, &self.conditions));
        }
    }
}

/// Conditions from the comment lines: threads, sync method, sizes.
fn condition(comment: &str) -> Option<(&'static str, String)> {
    let rest = |prefix: &str| comment.strip_prefix(prefix).map(|rest| rest.trim().to_owned());
    if let Some(version) = rest("Version ") {
        let (version, threads) = version.split_once(',')?;
        let threads = threads.split_whitespace().next()?;
        return Some(("fs_mark version and threads", format!("{version}, {threads}")));
    }
    let known = [("Sync method:", "sync method"), ("Directories:", "directories"), ("Files info:", "files")];
    known.iter().find_map(|(prefix, what)| Some((*what, rest(prefix)?)))
}

/// `CREAT (Min/Avg/Max)        WRITE (Min/Avg/Max)`
fn calls(heading: &str) -> Vec<&'static str> {
    let words: Vec<&str> = heading.split_whitespace().collect();
    let named = words.windows(2).filter(|pair| pair[1].eq_ignore_ascii_case("(min/avg/max)"));
    named.filter_map(|pair| Some(FS_MARK_CALLS.iter().find(|(name, _)| *name == pair[0])?.1)).collect()
}

/// A row with a number for each column.
fn row(line: &str, calls: usize, counted: &mut f64) -> Option<Loop> {
    let words: Vec<f64> = line.split_whitespace().map(finite).collect::<Option<_>>()?;
    if words.len() != PLAIN + 3 * calls || words[3] <= 0.0 {
        return None;
    }
    // The count continues from loop to loop if files are kept, and restarts otherwise.
    let files = if words[1] > *counted { words[1] - *counted } else { words[1] };
    *counted = words[1];
    let calls = words[PLAIN..].chunks_exact(3).map(|call| (call[1], call[2])).collect();
    Some(Loop { files, per_s: words[3], calls })
}

fn run(loops: &[Loop], calls: &[&str], about: &[(&str, String)]) -> RunFigures {
    let files: f64 = loops.iter().map(|one| one.files).sum();
    let seconds: f64 = loops.iter().map(|one| one.files / one.per_s).sum();
    let mut run = RunFigures::default();
    run.metrics.push(Figure::level("files_per_s", "/s", Better::Higher, files / seconds));
    for (at, call) in calls.iter().enumerate() {
        let of_loops: Vec<(f64, f64)> =
            loops.iter().map(|one| (one.files * one.calls[at].0, one.calls[at].1)).collect();
        let mean_us = of_loops.iter().map(|one| one.0).sum::<f64>() / files;
        let longest_us = of_loops.iter().map(|one| one.1).fold(0.0, f64::max);
        if longest_us > 0.0 {
            run.metrics.push(Figure::level(format!("{call}.mean"), "ns", Better::Lower, mean_us * 1e3));
            run.metrics.push(Figure::level(format!("{call}.max"), "ns", Better::Lower, longest_us * 1e3));
        }
    }
    run.steadiness = steady(&loops.iter().map(|one| one.per_s).collect::<Vec<_>>()).unwrap_or(run.steadiness);
    run.facts.push(Fact::new("workload", "fs_mark"));
    run.facts.extend(about.iter().map(|(what, value)| Fact::new(what, value.clone())));
    run
}

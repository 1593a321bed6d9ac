//! bonnie++'s line of comma-separated values, format 1.98, as bon_csv2html and bon_csv2txt read it: one for each test.
//!
//! ```text
//! 1.98,VERSION,NAME,CONCURRENCY,SEED,SIZE,CHUNK,SEEKS,SEEKERS,
//!   for put, write, rewrite, get, read (KiB/s) and seeks (1/s): AMOUNT,CPU,
//!   FILES,MAX,MIN,,DIRECTORIES,
//!   for create, stat, delete, in order and at random (1/s): AMOUNT,CPU,
//!   longest latencies of the twelve
//! ```
//!
//! As in the original, a test shorter than half a second is `+++++`, and a test that was not run is empty.

use explain::summary::{PhaseSummary, Summary};

use crate::phases::JobThreads;

const STREAMS: [&str; 5] = ["put", "write", "rewrite", "get", "read"];
const FILES: [&str; 6] = ["create", "stat", "delete", "create-random", "stat-random", "delete-random"];
/// Shorter tests are too short to measure, as in the original.
const SHORTEST_NS: u64 = 500_000_000;
const USUAL_CHUNK_BYTES: f64 = 8192.0;

/// A line for each test.
pub(super) fn lines(summary: &Summary) -> String {
    let tests = summary.phases.iter().map(|phase| times(summary, &phase.name)).max().unwrap_or(0);
    (0..tests).map(|test| line(summary, test) + "\n").collect()
}

fn times(summary: &Summary, name: &str) -> usize {
    summary.phases.iter().filter(|phase| phase.measured && phase.name == name).count()
}

fn line(summary: &Summary, test: usize) -> String {
    let phase = |name: &str| summary.phases.iter().filter(|phase| phase.measured && phase.name == name).nth(test);
    let mut fields = head(summary);
    for name in STREAMS {
        let kib = |phase: &PhaseSummary| phase.bytes.map(|bytes| bytes as f64 / 1024.0);
        fields.extend(amount(phase(name), kib));
    }
    fields.extend(amount(phase("seek"), items));
    fields.extend(file_settings(summary));
    FILES.iter().for_each(|name| fields.extend(amount(phase(name), items)));
    let all = STREAMS.iter().chain(&["seek"]).chain(&FILES);
    fields.extend(all.map(|name| phase(name).map_or_else(String::new, longest)));
    fields.join(",")
}

fn variable(summary: &Summary, name: &str) -> f64 {
    let variables = summary.recipe.iter().flat_map(|recipe| &recipe.variables);
    variables.clone().find(|(known, _)| known == name).map_or(0.0, |(_, value)| *value)
}

fn word<'a>(summary: &'a Summary, name: &str) -> &'a str {
    let mut words = summary.recipe.iter().flat_map(|recipe| &recipe.words);
    words.find(|(known, _)| known == name).map_or("", |(_, word)| word.as_str())
}

fn head(summary: &Summary) -> Vec<String> {
    // A comma would start another field.
    let machine = word(summary, "machine").replace([',', '\n'], " ");
    let mut head = vec!["1.98".to_owned(), "stallscope".to_owned(), machine];
    head.push(format!("{:.0}", variable(summary, "processes")));
    head.push(String::new());
    let size_mib = (variable(summary, "size") / f64::from(1 << 20)) as u64;
    if size_mib == 0 {
        head.extend(vec![String::new(); 4]);
        return head;
    }
    head.push(if size_mib.is_multiple_of(1024) { format!("{}G", size_mib / 1024) } else { format!("{size_mib}M") });
    let chunk = variable(summary, "chunk");
    head.push(if chunk == USUAL_CHUNK_BYTES { String::new() } else { format!("{chunk:.0}") });
    head.push(format!("{:.0}", variable(summary, "seeks")));
    head.push(format!("{:.0}", variable(summary, "seekers")));
    head
}

fn file_settings(summary: &Summary) -> [String; 5] {
    let shown = |name| match variable(summary, name) {
        0.0 => String::new(),
        value => format!("{value:.0}"),
    };
    if variable(summary, "files") == 0.0 {
        return Default::default();
    }
    let most = match word(summary, "links") {
        "hard" => "link".to_owned(),
        "symbolic" => "symlink".to_owned(),
        _ => shown("max_size"),
    };
    [shown("files"), most, shown("min_size"), String::new(), shown("subdirectories")]
}

fn items(phase: &PhaseSummary) -> Option<f64> {
    JobThreads::of(phase).map(|threads| threads.items as f64)
}

/// Amount per second, and CPU use in percent of one CPU.
fn amount(phase: Option<&PhaseSummary>, of: impl Fn(&PhaseSummary) -> Option<f64>) -> [String; 2] {
    let Some((phase, amount)) = phase.and_then(|phase| Some((phase, of(phase)?))) else { return Default::default() };
    let span_ns = phase.end_ns.map_or(0, |end_ns| end_ns.saturating_sub(phase.start_ns));
    if span_ns < SHORTEST_NS {
        return ["+++++".to_owned(), "+++".to_owned()];
    }
    let seconds = span_ns as f64 / 1e9;
    let per_s = amount / seconds;
    let cpu_ns = JobThreads::of(phase).and_then(|threads| threads.cpu_ns);
    let cpu = cpu_ns.map_or_else(|| "+++".to_owned(), |ns| format!("{:.0}", ns as f64 / 1e7 / seconds));
    [if per_s < 1000.0 { format!("{per_s:.1}") } else { format!("{per_s:.0}") }, cpu]
}

/// The longest operation of the phase, without the final fsync.
fn longest(phase: &PhaseSummary) -> String {
    let operations = phase.operations.iter().filter(|operation| operation.class != "fsync");
    match operations.filter_map(|operation| operation.latencies.max_ns()).max().map(|ns| ns / 1000) {
        None => String::new(),
        Some(us) if us < 100_000 => format!("{us}us"),
        Some(us) if us < 100_000_000 => format!("{}ms", us / 1000),
        Some(us) => format!("{}s", us / 1_000_000),
    }
}

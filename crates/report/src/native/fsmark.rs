//! The lines of fs_mark 3.3: one for each loop, after a head that names the columns.
//!
//! `Files/sec` is the true rate, from the common start of all threads to the end of the last one. fs_mark adds up each
//! process's own rate; that sum follows each line as a remark, which its readers skip.

use std::fmt::Write as _;

use compare::FS_MARK_CALLS;
use explain::summary::{OperationSummary, PhaseSummary, Summary};

/// fs_mark's flags, and the variables they set.
const FLAGS: [(&str, &str); 10] = [
    ("S", "sync"),
    ("s", "size"),
    ("w", "write_size"),
    ("n", "files"),
    ("t", "threads"),
    ("D", "subdirectories"),
    ("N", "per_subdirectory"),
    ("L", "loops"),
    ("p", "name_bytes"),
    ("r", "random_bytes"),
];

/// All loops of a run.
pub(super) fn text(summary: &Summary) -> String {
    let mut text = String::new();
    let verbose = variable(summary, "verbose") == Some(1.0);
    head(&mut text, summary, verbose);
    let mut count = 0;
    for (at, phase) in summary.phases.iter().enumerate() {
        let Some(files_per_s) = phase.items_per_s().filter(|_| phase.name == "create") else { continue };
        count += phase.job_threads.iter().map(|member| member.items).sum::<u64>();
        let size = variable(summary, "size").map_or_else(|| "-".to_owned(), |bytes| format!("{bytes:.0}"));
        let used = used_percent(summary, phase).map_or_else(|| "-".to_owned(), |percent| percent.to_string());
        let _ = write!(text, "{used:>6} {count:>12} {size:>12} {files_per_s:>12.1} {:>16}", own_time_ns(phase) / 1000);
        if verbose {
            let removal = summary.phases.get(at + 1).filter(|next| next.name == "unlink");
            FS_MARK_CALLS.iter().for_each(|(_, class)| call(&mut text, phase, removal, class));
        }
        text.push('\n');
        if let Some(sum) = phase.sum_of_own_items_per_s() {
            let _ = writeln!(text, "#\tsum of each thread's own rate: {sum:.1}");
        }
    }
    text
}

fn head(text: &mut String, summary: &Summary, verbose: bool) {
    let given = |(flag, name): &(&str, &str)| variable(summary, name).map(|value| format!("  -{flag}  {value:.0}"));
    let flags: String = FLAGS.iter().filter_map(given).collect();
    let directories: String = summary.directories.iter().map(|directory| format!("  -d  {directory}")).collect();
    let _ = writeln!(text, "\n#  stallscope  run  fsmark{flags}{directories}");
    text.push_str(
        "#\tFiles/sec: all files of a loop from the common start to the last thread's end.\n\
         #\tApp overhead is time in microseconds spent in the test not doing file writing related system calls.\n",
    );
    if verbose {
        text.push_str("#\tAll system call times are reported in microseconds.\n");
    }
    text.push_str("\nFSUse%        Count         Size    Files/sec     App Overhead");
    if verbose {
        FS_MARK_CALLS.iter().for_each(|(column, _)| {
            let _ = write!(text, " {:>26}", format!("{column} (Min/Avg/Max)"));
        });
    }
    text.push('\n');
}

fn variable(summary: &Summary, name: &str) -> Option<f64> {
    let variables = &summary.recipe.as_ref()?.variables;
    variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| *value)
}

/// How full the first directory's file system was when the last thread in it ended.
fn used_percent(summary: &Summary, phase: &PhaseSummary) -> Option<u32> {
    let directories = summary.directories.len().max(1) as u64;
    let in_first = phase.job_threads.iter().filter(|member| member.ordinal % directories == 0);
    in_first.max_by_key(|member| member.end_ns)?.used_ppm.map(|ppm| ppm / 10_000)
}

/// Time the threads spent outside system calls.
fn own_time_ns(phase: &PhaseSummary) -> u64 {
    let own = |start_ns: u64, end_ns: u64, busy_ns| end_ns.saturating_sub(start_ns).saturating_sub(busy_ns);
    phase.job_threads.iter().map(|member| own(member.start_ns, member.end_ns, member.busy_ns)).sum()
}

/// Minimum, mean and maximum time of a class in microseconds, in the loop or in the removal after it.
fn call(text: &mut String, phase: &PhaseSummary, removal: Option<&PhaseSummary>, class: &str) {
    let operations = phase.operations.iter().chain(removal.iter().flat_map(|removal| &removal.operations));
    let found = operations.into_iter().find(|operation| operation.class == class);
    let us = |pick: fn(&OperationSummary) -> Option<u64>| found.and_then(pick).unwrap_or(0) / 1000;
    for figure in [
        us(|operation| operation.latencies.min_ns()),
        us(|operation| operation.latencies.mean_ns()),
        us(|operation| operation.latencies.max_ns()),
    ] {
        let _ = write!(text, " {figure:>8}");
    }
}

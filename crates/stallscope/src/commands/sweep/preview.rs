//! The plan of a sweep and its estimated time. Each configuration's command line is planned first, so a mistake in the
//! last one is found at once and not after hours.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use model::quantity::Nanoseconds;
use model::quantity::counted;
use serde_json::{Value, json};
use sweep::{Cell, Setup, SweepFile};

use super::captured::captured;
use super::words::{complaint, words};
use crate::ui::failure::Failure;

/// Estimated overhead of a run (file system, fill, close), before one has been measured.
const OVERHEAD_NS: u64 = 5_000_000_000;

/// Estimated time of a simulation.
const MODEL_NS: u64 = 2_000_000_000;

/// The longest of the configurations' planned runs, ns.
pub(super) fn planned_ns(file: &SweepFile, setups: &[Setup]) -> Result<u64, Failure> {
    let mut longest_ns = 0;
    for setup in setups {
        let plan = plan(file, setup)?;
        let phases = plan["plan"]["phases"].as_array().cloned().unwrap_or_default();
        let measured_ns: u64 = phases.iter().filter_map(|phase| phase["duration_ns"].as_u64()).sum();
        longest_ns = longest_ns.max(measured_ns);
    }
    let overhead_ns = if file.simulate.is_some() { MODEL_NS } else { OVERHEAD_NS };
    Ok(longest_ns + file.settle_ns() + overhead_ns)
}

/// Plans a configuration's run, in a child process. Ignores space: the file system may not exist yet.
fn plan(file: &SweepFile, setup: &Setup) -> Result<Value, Failure> {
    let somewhere = match file.directories.first() {
        Some(directory) => PathBuf::from(directory),
        None => std::env::temp_dir(),
    };
    let mut command = Command::new("/proc/self/exe");
    command.args(words(file, setup, 0, &[somewhere])?).args(["--plan", "--json", "--quiet"]);
    if file.simulate.is_none() {
        command.arg("--force");
    }
    let output = captured(&mut command)
        .map_err(|error| Failure::machine(format_args!("cannot run stallscope itself: {error}")))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    // A plan that does not fit here may fit the file system to be created.
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let why = complaint(&stderr);
        Failure::like(
            output.status.code(),
            format_args!("cannot plan the run of configuration '{}': {why}", setup.name),
        )
    })
}

/// Refuses early: a sweep that creates file systems or changes settings needs root.
pub(super) fn refuse_what_needs_root(setups: &[Setup]) -> Result<(), Failure> {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root && setups.iter().any(Setup::changes_the_machine) {
        return Err(Failure::machine(
            "this sweep creates file systems or changes kernel settings, which needs root; run it as root, or vary \
             only \
             variables, options and commands in directories = [\"...\"]",
        ));
    }
    Ok(())
}

/// The plan as text.
pub(super) fn text(file: &SweepFile, setups: &[Setup], mine: &[Cell], planned_ns: u64) -> String {
    let mut text = String::new();
    let twins = mine.iter().filter(|cell| cell.is_twin).count();
    let _ = writeln!(
        text,
        "{}: {} of {}, {} x {}{}; about {}",
        file.name,
        counted(mine.len() as u64, "run"),
        file.what(),
        counted(setups.len() as u64, "configuration"),
        counted(u64::from(file.repetitions), "repetition"),
        match twins {
            0 => String::new(),
            twins => format!(", and {} of the baseline for the noise floor", counted(twins as u64, "extra run")),
        },
        total(mine.len() as u64, planned_ns),
    );
    for setup in setups {
        let is_baseline = std::ptr::eq(setup, &setups[0]);
        let _ = writeln!(text, "  {}{}", setup.name, if is_baseline { "  (baseline)" } else { "" });
    }
    if file.simulate.is_some() && file.repetitions > 1 {
        text.push_str(
            "each repetition has its own seed; a model without random choices repeats itself and is not a sample\n",
        );
    }
    text
}

/// The plan as JSON.
pub(super) fn json(file: &SweepFile, setups: &[Setup], mine: &[Cell], planned_ns: u64) -> Value {
    json!({
        "sweep": file.name,
        "workload": file.workload,
        "simulate": file.simulate,
        "configurations": setups,
        "runs": mine.iter().map(|cell| json!({
            "cell": cell.number,
            "configuration": setups[cell.setup].name,
            "repetition": cell.repetition,
            "is_twin": cell.is_twin,
        })).collect::<Vec<_>>(),
        "estimated_ns": planned_ns * mine.len() as u64,
    })
}

fn total(runs: u64, each_ns: u64) -> Nanoseconds {
    const MINUTE_NS: u64 = 60_000_000_000;
    let ns = runs.saturating_mul(each_ns);
    Nanoseconds(if ns > MINUTE_NS { ns / MINUTE_NS * MINUTE_NS } else { ns / 1_000_000_000 * 1_000_000_000 })
}

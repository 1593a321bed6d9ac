//! Runs a recipe without recording anything: `load_process RECIPE DIR [NAME=VALUE...]`, in an existing memory cgroup
//! (version 1) where `MEMORY_CGROUP` names its directory. Tests use it as the load process.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use load::conductor::{Conductor, Launch, LoadEvent};
use load::facts::MachineFacts;
use load::plan::{Plan, PlanRequest};
use load::{LoadError, catalogue, clock};

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments.next_if(|first| first == "__load").is_some() {
        return ExitCode::from(load::process::main(arguments, || {}));
    }
    let words: Vec<String> = arguments.map(|word| word.to_string_lossy().into_owned()).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<(), LoadError> {
    let [recipe, directory, settings @ ..] = words else {
        eprintln!("load_process RECIPE DIR [NAME=VALUE...]");
        return Ok(());
    };
    let recipe = catalogue::find(recipe)?;
    let cgroup = std::env::var_os("MEMORY_CGROUP").map(PathBuf::from);
    let facts =
        MachineFacts::gather(&recipe.name, &[PathBuf::from(directory)], cgroup.as_deref().and_then(limit_bytes))?;
    let pairs = settings.iter().filter_map(|setting| setting.split_once('='));
    let settings = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let request = PlanRequest { settings, seed: 1, slower_than_ns: 100_000_000, ..PlanRequest::default() };
    let plan = Plan::resolve(&recipe, &facts, &request)?;
    print!("{plan}");
    if !plan.refusals.is_empty() {
        return Ok(());
    }
    let executable = PathBuf::from("/proc/self/exe");
    let cgroup_procs = cgroup.into_iter().map(|cgroup| cgroup.join("cgroup.procs")).collect();
    let launch = Launch { executable, arguments: vec!["__load".into()], cgroup_procs };
    let mut conductor = Conductor::start(plan, &launch)?;
    loop {
        for event in conductor.poll(clock::now_ns()) {
            match event {
                LoadEvent::Progress { .. } => {}
                LoadEvent::Interval(records) => records.iter().for_each(show),
                LoadEvent::Operations(records) => println!("{} slow, stuck or failed operations", records.len()),
                LoadEvent::Finished | LoadEvent::Died { .. } => {
                    println!("{event:?}");
                    return Ok(());
                }
                other => println!("{other:?}"),
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn limit_bytes(cgroup: &Path) -> Option<u64> {
    std::fs::read_to_string(cgroup.join("memory.limit_in_bytes")).ok()?.trim().parse().ok()
}

fn show(record: &model::operation::IntervalRecord) {
    let (count, class) = (record.count, &record.class);
    let mean_us = record.sum_ns / count.max(1) / 1000;
    let max_us = record.max_ns.unwrap_or(0) / 1000;
    println!("{:8} {class:12} {count:8} operations, mean {mean_us} us, max {max_us} us", record.phase);
}

//! `lake add`: what a lake gets of each run.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread::Builder;

use access::Sharing;
use archive::{Run, RunState};
use clap::Args;
use lake::{Contents, IntervalMinutes, Lake, RunKey, RunRow};
use model::event::RunEvent;
use model::quantity::Bytes;
use model::quantity::counted;
use model::time::Moment;

use super::bucket::Aside;
use super::opened::{failed, refuse_foreign};
use super::{counters, stalls};
use crate::reading::archived_run;
use crate::reading::integrity::{Integrity, excluded};
use crate::recording::output_file::refuse_stored;
use crate::recording::sharing::take_directory;
use crate::ui::failure::{Exit, Failure};
use crate::ui::screen::Screen;

/// Runs that are explained at the same time: reading and explaining is four fifths of the work. More would take more
/// memory.
const AT_A_TIME: usize = 2;

/// Options of `lake add`.
#[derive(Debug, Args)]
pub struct AddArgs {
    /// Run directories.
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Lake: a directory, created if missing, or s3://BUCKET/PREFIX with credentials in the environment.
    #[arg(long, value_name = "LAKE")]
    pub to: PathBuf,
    /// Suppress progress and notes.
    #[arg(long, short = 'q')]
    pub quiet: bool,
}

/// Adds runs. Each is in the lake as a whole, or not at all; damaged ones are marked as such.
pub fn add(args: &AddArgs, screen: &Screen) -> Result<Exit, Failure> {
    // Wrong paths are errors before anything is made.
    let runs = args.runs.iter().map(|run| addable(run)).collect::<Result<Vec<Run>, Failure>>()?;
    let aside = Aside::of(&args.to)?;
    let directory = aside.as_ref().map_or(args.to.as_path(), Aside::directory);
    let (lake, is_new) = opened(directory)?;
    let mut incomplete = 0;
    let added = each_explained(&runs, screen, |run, (contents, integrity)| {
        let name = run.dir().display();
        let is_new = !lake.has(&contents).map_err(failed)?;
        let bytes = if is_new { lake.add(&contents).map_err(failed)? } else { 0 };
        match (is_new, &aside) {
            // The bucket may have it.
            (true, Some(_)) => {}
            (true, None) => {
                screen.remark(&format!("{name}: {}, {}", counted(contents.rows() as u64, "row"), Bytes(bytes)))
            }
            (false, _) => screen.remark(&format!("{name} is already in the lake")),
        }
        integrity.lacks().for_each(|lack| screen.warning(&format!("{name}: incomplete: {lack}")));
        incomplete += usize::from(!integrity.is_whole());
        Ok(())
    });
    if let Err(failure) = added {
        if is_new {
            lake.remove_if_empty();
        }
        return Err(failure);
    }
    aside.map_or(Ok(()), |aside| aside.put(screen))?;
    if incomplete > 0 {
        let what = "incomplete (in the lake: 'complete' is false); 'stallscope check RUN' lists what is missing";
        return Err(Failure::found(format_args!("{incomplete} of {}: {what}", counted(runs.len() as u64, "run"))));
    }
    Ok(Exit::Done)
}

/// A lake to add to, and whether it is new.
fn opened(directory: &Path) -> Result<(Lake, bool), Failure> {
    refuse_stored(directory)?;
    let is_new = take_directory(directory, Sharing::PRIVATE)?;
    refuse_foreign(directory)?;
    let opened = Lake::open_or_create(directory).map_err(failed);
    let lake = opened.inspect_err(|_| drop(is_new.then(|| std::fs::remove_dir(directory))))?;
    Ok((lake, is_new))
}

/// Explains runs, and takes what a lake gets of them in their order: while one is written, the next are explained.
fn each_explained(
    runs: &[Run],
    screen: &Screen,
    mut take: impl FnMut(&Run, (Contents, Integrity)) -> Result<(), Failure>,
) -> Result<(), Failure> {
    std::thread::scope(|scope| {
        let threads = (0..AT_A_TIME).map(|first| {
            // One waits, so that memory is bounded.
            let (sender, receiver) = sync_channel(1);
            let explain = move || {
                let mut share = runs.iter().skip(first).step_by(AT_A_TIME);
                // An error of the other end ends this one.
                share.all(|run| sender.send(contents(run, screen)).is_ok())
            };
            let _ = Builder::new().spawn_scoped(scope, explain);
            receiver
        });
        let threads: Vec<_> = threads.collect();
        for (run, explained) in runs.iter().zip(threads.iter().cycle()) {
            let busy = screen.busy(&format!("adding {}", run.dir().display()));
            // Where there can be no thread, this one explains the run.
            let explained = explained.recv().unwrap_or_else(|_| contents(run, screen));
            drop(busy);
            take(run, explained?)?;
        }
        Ok(())
    })
}

/// A run that will not change any more, of a machine.
fn addable(directory: &Path) -> Result<Run, Failure> {
    let run = archived_run::open(directory)?;
    let wrong = |why: &str| Err(Failure::usage(format_args!("{}: {why}", directory.display())));
    if run.state() == RunState::Live {
        return wrong("is still recording; add it when it has ended");
    }
    if run.description().simulated.is_some() {
        return wrong("is simulated; a lake holds recordings of machines only");
    }
    Ok(run)
}

fn contents(run: &Run, screen: &Screen) -> Result<(Contents, Integrity), Failure> {
    let description = run.description();
    let explained = run.has_trace().then(|| stalls::explained(run, |warning| screen.warning(warning)));
    let intervals = intervals(run);
    let counters = counters::counters(run);
    // After all of it was read.
    let integrity = Integrity::of(run).explained(explained.as_ref().map(|(explanation, _)| explanation));
    let key = RunKey {
        run: lake::run_id(description, ended_ns(run)),
        host: description.host.hostname.clone(),
        kernel: description.host.kernel_release.clone(),
        complete: integrity.is_whole(),
    };
    let path = std::path::absolute(run.dir()).unwrap_or_else(|_| run.dir().to_owned());
    let lost = run.lost().len() as u64;
    let row = RunRow {
        description: description.clone(),
        path: path.display().to_string(),
        end_wall_ns: counters.end_ns.map(|end_ns| wall_ns(description.started, end_ns)),
        closed: run.state() == RunState::Closed,
        damage: run.damage().len() as u64,
        lost: lost + explained.as_ref().and_then(|(explanation, _)| excluded(explanation)).map_or(0, |_| 1),
        untraced: explained
            .iter()
            .flat_map(|(explanation, _)| &explanation.untraced)
            .map(|one| one.subject.name().to_owned())
            .collect(),
        stalls: explained.as_ref().map(|(_, rows)| rows.len() as u64),
        stall_ns: explained.as_ref().map(|(_, rows)| rows.iter().map(|row| row.explained.duration_ns).sum()),
        unfinished: explained.as_ref().map(|(explanation, _)| explanation.unfinished.waits),
        longest_unfinished_ns: explained.as_ref().map(|(explanation, _)| explanation.unfinished.longest_ns),
    };
    let rows = explained.map(|(_, rows)| rows).unwrap_or_default();
    let contents = Contents::new(key, row, rows, intervals, counters.rows).map_err(Failure::machine)?;
    Ok((contents, integrity))
}

/// The end that the run's journal notes.
fn ended_ns(run: &Run) -> Option<u64> {
    run.events().iter().rev().find_map(|event| match event {
        RunEvent::Ended { at_ns, .. } => Some(*at_ns),
        _ => None,
    })
}

/// A moment of the monotonic clock on the wall clock, as that was at the run's begin.
fn wall_ns(started: Moment, at_ns: u64) -> i64 {
    let since_ns = i128::from(at_ns) - i128::from(started.monotonic_ns);
    (i128::from(started.wall_ns) + since_ns).try_into().unwrap_or(i64::MAX)
}

fn intervals(run: &Run) -> IntervalMinutes {
    let description = run.description();
    let mut minutes = IntervalMinutes::default();
    // A run notes its own damage.
    for interval in run.request_intervals().filter_map(Result::ok).flatten() {
        let disk = description.device(interval.device);
        let number = interval.device.to_string();
        let name = disk.map_or(number.as_str(), |disk| &disk.name);
        let model = disk.and_then(|disk| disk.model.as_deref());
        minutes.add(wall_ns(description.started, interval.start_ns), (name, model), &interval);
    }
    minutes
}

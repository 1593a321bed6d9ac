//! `sweep`: many configurations, run repeatedly in randomized blocks.
//!
//! Each run is a separate `stallscope run` process, so a crash affects only that run. Its environment is set up first:
//! a fresh file system, kernel settings, commands of the user. The register lists each change before it is made, so the
//! next start of the program cleans up after a killed sweep.

pub mod args;
mod captured;
mod environment;
mod preview;
mod single_run;
mod words;

use std::path::{Path, PathBuf};
use std::time::Instant;

use model::quantity::Nanoseconds;
use model::quantity::counted;
use serde_json::json;
use sweep::{Cell, FinishedRun, Setup, SweepFile, SweepFolder};

use self::args::SweepArgs;
use self::single_run::{Runner, SingleRun};
use crate::recording::machine;
use crate::recording::output_file::refuse_stored;
use crate::recording::sharing::{SharingArgs, make_directory, take_directory};
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// A sweep in progress.
struct Sweep<'a> {
    runner: Runner<'a>,
    setups: &'a [Setup],
    /// Planned duration of a run, ns, until one has been measured.
    planned_ns: u64,
}

/// The sweep's folder. A new one that cannot be set up is removed.
fn opened(folder: &Path, file: &SweepFile, sharing: &SharingArgs) -> Result<SweepFolder, Failure> {
    refuse_stored(folder)?;
    let is_new = match sharing.is_given() {
        true => make_directory(folder, sharing.sharing()?)?,
        false => take_directory(folder, sharing.sharing()?)?,
    };
    let opened = SweepFolder::open(folder, file).map_err(Failure::machine);
    opened.inspect_err(|_| drop(is_new.then(|| std::fs::remove_dir_all(folder))))
}

/// Runs a sweep, or resumes it.
pub fn sweep(args: &SweepArgs) -> Result<Exit, Failure> {
    let screen = Screen::new(args.output.json, args.output.quiet);
    let file = SweepFile::load(&args.file).map_err(Failure::usage)?;
    let setups = sweep::configurations(&file);
    let cells = sweep::cells(&setups, file.repetitions, file.noise_floor, file.seed);
    let mine: Vec<Cell> = cells.into_iter().filter(|cell| args.shard.has(cell, file.repetitions)).collect();
    let planned_ns = preview::planned_ns(&file, &setups)?;
    preview::refuse_what_needs_root(&setups)?;
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from("stallscope-sweeps").join(&file.name));
    if args.plan {
        let text = preview::text(&file, &setups, &mine, planned_ns);
        if args.output.json {
            screen.json(&preview::json(&file, &setups, &mine, planned_ns));
        } else {
            screen.result(&text);
        }
        return Ok(Exit::Done);
    }
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let mut sweep_folder = opened(&folder, &file, &args.sharing)?;
    screen.remark(preview::text(&file, &setups, &mine, planned_ns).trim_end());
    if args.shard.splits_blocks(file.repetitions) {
        screen.warning(
            "there are more parts than repetitions, so machines run different configurations: differences between \
             machines \
             will look like differences between configurations",
        );
    }
    let sweep = Sweep {
        runner: Runner::new(&file, &args.sharing, &register, &interrupt, &screen),
        setups: &setups,
        planned_ns,
    };
    let stopped = sweep.run_all(&mine, &mut sweep_folder)?;
    screen.rest();
    let exit = sweep.close(&mine, &sweep_folder, &folder, stopped, args.output.json);
    Ok(exit)
}

/// Whole seconds.
fn rounded(left_ns: u64) -> Nanoseconds {
    Nanoseconds(left_ns / 1_000_000_000 * 1_000_000_000)
}

impl Sweep<'_> {
    /// Runs the unfinished cells. Returns whether it was stopped before the end.
    fn run_all(&self, mine: &[Cell], sweep_folder: &mut SweepFolder) -> Result<bool, Failure> {
        let done = mine.iter().filter(|cell| sweep_folder.has(cell)).count();
        if done > 0 {
            self.runner.screen.remark(&format!("resuming: {done} of {} finished", counted(mine.len() as u64, "run")));
        }
        for (position, cell) in mine.iter().enumerate() {
            if sweep_folder.has(cell) {
                continue;
            }
            if self.runner.interrupt.requests() > 0 {
                return Ok(true);
            }
            let began = Instant::now();
            let setup = &self.setups[cell.setup];
            let directory = sweep_folder.run_directory(cell, setup).map_err(Failure::machine)?;
            let left = mine[position..].iter().filter(|cell| !sweep_folder.has(cell)).count() as u64;
            let each_ns = sweep_folder.mean_took_ns().unwrap_or(self.planned_ns);
            let what = format!("run {} of {}: {}", position + 1, mine.len(), setup.name);
            self.announce(&what, left * each_ns);
            let show = |phase: &str| {
                let left = rounded((left * each_ns).saturating_sub(began.elapsed().as_nanos() as u64));
                self.runner.screen.doing(format!("{what}: {phase}, about {left} left"));
            };
            let made = self.runner.run(&SingleRun { cell, setup, directory: &directory, show: &show });
            if !matches!(made, Ok(Some(_))) {
                sweep_folder.move_aside(cell, setup).map_err(Failure::machine)?;
            }
            let Some(exit_code) = made? else { return Ok(true) };
            let run = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if exit_code != 0 {
                self.runner.screen.warning(&format!("{run}: the run found errors; `stallscope show` lists them"));
            }
            let took_ns = began.elapsed().as_nanos() as u64;
            sweep_folder
                .finish(FinishedRun { cell: cell.number, run, exit_code, took_ns })
                .map_err(Failure::machine)?;
        }
        Ok(false)
    }

    /// A line for each run where nobody sees the progress, as in a log.
    fn announce(&self, what: &str, left_ns: u64) {
        if !self.runner.screen.is_live() {
            self.runner.screen.remark(&format!("{what}, about {} left", rounded(left_ns)));
        }
    }

    fn close(
        &self,
        mine: &[Cell],
        sweep_folder: &SweepFolder,
        folder: &std::path::Path,
        stopped: bool,
        json: bool,
    ) -> Exit {
        let finished: Vec<&FinishedRun> = sweep_folder
            .finished()
            .iter()
            .filter(|finished| mine.iter().any(|cell| cell.number == finished.cell))
            .collect();
        let with_errors = finished.iter().filter(|finished| finished.exit_code != 0).count();
        if json {
            self.runner.screen.json(&json!({
                "sweep": self.runner.file.name,
                "folder": folder.display().to_string(),
                "configurations": self.setups.iter().map(|setup| &setup.name).collect::<Vec<_>>(),
                "runs": mine.len(),
                "finished": finished.len(),
                "with_errors": with_errors,
                "stopped": stopped,
            }));
        }
        let folder = folder.display();
        if stopped {
            self.runner.screen.remark(&format!(
                "stopped: {} of {} finished; the same command resumes here",
                finished.len(),
                counted(mine.len() as u64, "run")
            ));
            return Exit::Interrupted;
        }
        self.runner
            .screen
            .remark(&format!("runs: {} in {folder}/runs\nTry next:\n  stallscope compare {folder}", finished.len()));
        if with_errors > 0 { Exit::FoundErrors } else { Exit::Done }
    }
}

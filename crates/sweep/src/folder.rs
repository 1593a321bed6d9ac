//! The folder of a sweep, with its runs and the list of finished ones.
//!
//! ```text
//! FOLDER/sweep.json        the sweep's definition: written first, never changed; marks the folder as a sweep's
//! FOLDER/finished.jsonl    one line for each finished run, synced before the next run begins
//! FOLDER/runs/0007-...     the run directories
//! FOLDER/cut-off/          run directories of runs that were stopped or killed
//! ```

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Cell, Setup, SweepError, SweepFile};

const SWEEP: &str = "sweep.json";
const FINISHED: &str = "finished.jsonl";
const RUNS: &str = "runs";
const CUT_OFF: &str = "cut-off";

/// A finished run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedRun {
    /// Number of its cell.
    pub cell: u32,
    /// Its directory in `runs`.
    pub run: String,
    /// The exit code that `run` ended with: 0, or 1 where the run found errors.
    pub exit_code: i32,
    /// Duration with set-up and removal, ns.
    pub took_ns: u64,
}

/// An open sweep folder.
#[derive(Debug)]
pub struct SweepFolder {
    folder: PathBuf,
    file: File,
    finished: Vec<FinishedRun>,
}

impl SweepFolder {
    /// Opens the sweep's folder, or creates it. A folder of another sweep, or with other contents, is refused.
    pub fn open(folder: &Path, sweep: &SweepFile) -> Result<SweepFolder, SweepError> {
        let description = folder.join(SWEEP);
        let text = serde_json::to_string_pretty(sweep).expect("a sweep is plain data");
        match fs::read_to_string(&description) {
            Ok(found) if found == text => {}
            Ok(_) => {
                let why = "holds another sweep, or the sweep file has changed since the sweep started".to_owned();
                return Err(SweepError::Foreign { path: folder.to_owned(), why });
            }
            Err(_) => {
                let is_empty = fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none());
                if !is_empty {
                    let why = "exists and is not a sweep directory".to_owned();
                    return Err(SweepError::Foreign { path: folder.to_owned(), why });
                }
                for folder in [folder.join(RUNS), folder.join(CUT_OFF)] {
                    access::make_directories_in(&folder).map_err(SweepError::folder(&folder))?;
                }
                write_whole(&description, &text).map_err(SweepError::folder(&description))?;
            }
        }
        let path = folder.join(FINISHED);
        let file = access::open_or_create(&path, File::options().append(true)).map_err(SweepError::folder(&path))?;
        if file.try_lock().is_err() {
            let why = "is in use by a running sweep".to_owned();
            return Err(SweepError::Foreign { path: folder.to_owned(), why });
        }
        let finished = read(&file).map_err(SweepError::folder(&path))?;
        Ok(SweepFolder { folder: folder.to_owned(), file, finished })
    }

    /// The finished runs.
    pub fn finished(&self) -> &[FinishedRun] {
        &self.finished
    }

    /// Whether a cell's run is finished.
    pub fn has(&self, cell: &Cell) -> bool {
        self.finished.iter().any(|finished| finished.cell == cell.number)
    }

    /// The directory of a cell's run. Moves the remains of an earlier attempt to `cut-off`.
    pub fn run_directory(&self, cell: &Cell, setup: &Setup) -> Result<PathBuf, SweepError> {
        self.move_aside(cell, setup)?;
        Ok(self.folder.join(RUNS).join(run_name(cell, setup)))
    }

    /// Moves the remains of an unfinished run to `cut-off`, so it is not taken for a finished one.
    pub fn move_aside(&self, cell: &Cell, setup: &Setup) -> Result<(), SweepError> {
        let name = run_name(cell, setup);
        let path = self.folder.join(RUNS).join(&name);
        if path.exists() {
            let aside = |n: u32| self.folder.join(CUT_OFF).join(format!("{name}-{n}"));
            let free = (1..).map(aside).find(|path| !path.exists()).expect("some number is unused");
            fs::rename(&path, &free).map_err(SweepError::folder(&path))?;
        }
        Ok(())
    }

    /// Records a finished run, durably.
    pub fn finish(&mut self, finished: FinishedRun) -> Result<(), SweepError> {
        let path = self.folder.join(FINISHED);
        let line = serde_json::to_string(&finished).expect("plain data") + "\n";
        let write = |mut file: &File| file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        write(&self.file).map_err(SweepError::folder(&path))?;
        self.finished.push(finished);
        Ok(())
    }

    /// Mean duration of the finished runs, ns; `None` before the first.
    pub fn mean_took_ns(&self) -> Option<u64> {
        let sum: u64 = self.finished.iter().map(|finished| finished.took_ns).sum();
        sum.checked_div(self.finished.len() as u64)
    }
}

/// Whether a directory is a sweep's.
pub fn is_sweep(directory: &Path) -> bool {
    directory.join(SWEEP).symlink_metadata().is_ok_and(|metadata| metadata.is_file())
}

/// The name of a cell's run directory: number, configuration, repetition.
pub fn run_name(cell: &Cell, setup: &Setup) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "=-_.".contains(c) { c } else { '-' };
    let mut what: String = setup.name.chars().map(plain).collect();
    what.truncate(80);
    let twin = if cell.is_twin { "-twin" } else { "" };
    format!("{:04}-{what}{twin}-r{}", cell.number, cell.repetition)
}

/// The run of a truncated or damaged line is repeated.
fn read(file: &File) -> std::io::Result<Vec<FinishedRun>> {
    let mut finished = Vec::new();
    let mut ends_with_newline = true;
    let mut reader = BufReader::new(file);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        ends_with_newline = line.ends_with('\n');
        finished.extend(serde_json::from_str::<FinishedRun>(&line));
        line.clear();
    }
    if !ends_with_newline {
        let mut file = file;
        file.write_all(b"\n")?;
    }
    Ok(finished)
}

fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let fresh = path.with_extension("new");
    let mut file = access::create(&fresh)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&fresh, path)
}

//! Reads a state back with the real reader, and compares it with what the writer had promised.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use model::event::RunEvent;

use super::power::State;
use super::run::{TABLES, rows_of};
use crate::read::check::RunState;
use crate::read::rows::Batches;
use crate::read::run::Run;

/// What had been promised when the crash came.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Promise {
    /// Whether the run had begun.
    pub(super) has_begun: bool,
    /// Flushes whose rows are on the disk, for each of [`TABLES`].
    pub(super) flushes: [u32; TABLES],
    /// Flushes whose event is on the disk.
    pub(super) events: u32,
    /// Whether the run was closed.
    pub(super) is_closed: bool,
}

/// What a reader found in a state.
#[derive(Debug)]
pub(super) struct Seen {
    rows: [Vec<(u32, u32)>; TABLES],
    events: Vec<u32>,
    damage: Vec<String>,
    is_closed: bool,
}

/// Reads states, equal ones once.
pub(super) struct Reader {
    folder: tempfile::TempDir,
    read: BTreeMap<State, Rc<Result<Seen, String>>>,
    ids: HashMap<PathBuf, PathBuf>,
}

impl Reader {
    pub(super) fn new() -> Reader {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Reader { folder: folder.unwrap(), read: BTreeMap::new(), ids: HashMap::new() }
    }

    /// Different states that were read.
    pub(super) fn count(&self) -> usize {
        self.read.len()
    }

    /// What is wrong with a state, if anything is.
    pub(super) fn check(&mut self, state: &State, promise: &Promise) -> Result<(), String> {
        if !self.read.contains_key(state) {
            let seen = self.open(state);
            self.read.insert(state.clone(), Rc::new(seen));
        }
        promise.compare(&self.read[state])
    }

    fn open(&mut self, state: &State) -> Result<Seen, String> {
        let dir = self.folder.path();
        for entry in fs::read_dir(dir).unwrap().flatten() {
            fs::remove_file(entry.path()).unwrap();
        }
        for (path, bytes) in state {
            let own = self.ids.entry(path.clone()).or_insert_with(|| dir.join(path.file_name().unwrap()));
            fs::write(own, &**bytes).unwrap();
        }
        let run = Run::open(dir).map_err(|error| error.to_string())?;
        Ok(Seen::of(&run))
    }
}

impl Seen {
    fn of(run: &Run) -> Seen {
        run.verify();
        let rows = [
            all(run.samples(), |row| (row.sample, 0)),
            all(run.changes(), |row| (row.sample, 0)),
            all(run.operations(), |row| (row.tid, row.start_ns as u32)),
        ];
        let number = |event: &RunEvent| match event {
            RunEvent::Note { text, .. } => text.parse().ok(),
            _ => None,
        };
        let events = run.events().iter().filter_map(number).collect();
        let damage = run.damage().iter().map(ToString::to_string).collect();
        Seen { rows, events, damage, is_closed: run.check().state == RunState::Closed }
    }
}

fn all<Row>(batches: Batches<Row>, key: impl Fn(&Row) -> (u32, u32)) -> Vec<(u32, u32)> {
    let mut rows: Vec<(u32, u32)> = batches.map_while(Result::ok).flatten().map(|row| key(&row)).collect();
    rows.sort_unstable();
    rows
}

impl Promise {
    fn compare(&self, seen: &Result<Seen, String>) -> Result<(), String> {
        let seen = match seen {
            Err(_) if !self.has_begun => return Ok(()),
            Err(why) => return Err(format!("it cannot be read: {why}")),
            Ok(seen) => seen,
        };
        if !seen.damage.is_empty() {
            return Err(format!("called damaged: {}", seen.damage.join("; ")));
        }
        for (table, (rows, flushes)) in seen.rows.iter().zip(self.flushes).enumerate() {
            let read = rows.last().map_or(0, |(step, _)| step + 1);
            if *rows != expected(table, 0..read) {
                return Err(format!("table {table} has not each row of its flushes once: {rows:?}"));
            }
            if read < flushes {
                return Err(format!("table {table} has {read} of {flushes} flushes"));
            }
        }
        if seen.events.len() < self.events as usize || !seen.events.iter().copied().eq(0..seen.events.len() as u32) {
            return Err(format!("its events are {:?} of {}", seen.events, self.events));
        }
        if self.is_closed && !seen.is_closed { Err("it is not closed".into()) } else { Ok(()) }
    }
}

fn expected(table: usize, steps: Range<u32>) -> Vec<(u32, u32)> {
    steps.flat_map(|step| (0..rows_of(table, step)).map(move |number| (step, number))).collect()
}

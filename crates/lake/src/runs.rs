//! Which runs a lake has: those with a row in `runs`.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use crate::error::LakeError;
use crate::files::{parquet_files, runs_of};
use crate::time::day_of_run;

/// The runs of a lake, by day and host, read when they are asked for.
pub(crate) struct Runs<'a> {
    lake: &'a Path,
    found: BTreeMap<(String, &'a OsStr), BTreeSet<String>>,
}

impl<'a> Runs<'a> {
    pub(crate) fn of(lake: &'a Path) -> Runs<'a> {
        Runs { lake, found: BTreeMap::new() }
    }

    /// Whether a run of the host's directory `host=HOST` has its row, which is on the day of its begin. An identity of
    /// another form counts as a run of the lake: what is not understood is not removed.
    pub(crate) fn has(&mut self, run: &str, host: &'a OsStr) -> Result<bool, LakeError> {
        let Some(day) = day_of_run(run) else { return Ok(true) };
        let key = (day, host);
        if !self.found.contains_key(&key) {
            let folder = self.lake.join("table=runs").join(format!("date={}", key.0)).join(host);
            let mut runs = BTreeSet::new();
            for file in parquet_files(&folder)? {
                runs.extend(runs_held(&file)?);
            }
            self.found.insert(key.clone(), runs);
        }
        Ok(self.found[&key].contains(run))
    }
}

/// The runs that a file of the lake holds. A file that is named after a run holds only this run, and need not be
/// opened.
pub(crate) fn runs_held(file: &Path) -> Result<BTreeSet<String>, LakeError> {
    match run_named(file) {
        Some(run) => Ok([run.to_owned()].into()),
        None => runs_of(file).map_err(LakeError::io(file, "read")),
    }
}

/// The run that a file is named after.
pub(crate) fn run_named(file: &Path) -> Option<&str> {
    file.file_stem().and_then(OsStr::to_str).filter(|name| day_of_run(name).is_some())
}

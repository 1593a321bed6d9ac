//! Many files of a partition become one.
//!
//! Readers list a partition and then open what they found, without any lock. So a partition is never changed in place:
//! the new directory is made aside, and changes places with the old one in a single system call. A reader that listed
//! the old one and comes to open its files finds them missing, which is an error, since no name is used for other
//! contents again; it never reads rows twice, nor misses some.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::directory::Lake;
use crate::error::LakeError;
use crate::files::{entries, exchange, file_name, is_parquet, synced};
use crate::fingerprint::Fnv;
use crate::merge::{Source, merge};
use crate::runs::{Runs, run_named, runs_held};

/// Tables of the lake.
pub(crate) const TABLES: [&str; 4] = [RUNS, "stalls", "intervals", "counters"];
const RUNS: &str = "runs";

/// What a compaction did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compaction {
    /// Partitions that it rewrote.
    pub partitions: u64,
    /// Files that these had.
    pub files: u64,
    /// Their size.
    pub bytes_before: u64,
    /// Size of the files that replace them; 0 where nothing was written.
    pub bytes_after: u64,
    /// Runs whose rows it removed: they have no row in `runs`, or are in the partition twice.
    pub removed_runs: BTreeSet<String>,
    /// Partitions that hold something else, and stay as they are.
    pub skipped: Vec<PathBuf>,
}

/// A partition to be rewritten.
#[derive(Debug)]
pub(crate) struct Plan {
    partition: PathBuf,
    /// What becomes one file; nothing: the partition goes.
    sources: Vec<Source>,
    name: String,
}

impl Lake {
    /// Makes one file of each partition's files, and removes rows of runs that the lake does not have, which a crash
    /// left. A second time it changes nothing. With `dry_run` nothing is written.
    pub fn compact(&self, dry_run: bool) -> Result<Compaction, LakeError> {
        let mut done = Compaction::default();
        for day in self.days()? {
            for table in TABLES {
                let plans = self.plans(table, &day, &mut done)?;
                if !dry_run && !plans.is_empty() {
                    done.bytes_after += self.stage(&plans)?;
                    self.publish_all(&plans)?;
                    self.clear_staging()?;
                }
            }
        }
        Ok(done)
    }

    /// Names of the days' directories in any table.
    pub(crate) fn days(&self) -> Result<BTreeSet<String>, LakeError> {
        let mut days = BTreeSet::new();
        for table in TABLES {
            for folder in entries(&self.directory.join(format!("table={table}")))? {
                let name = folder.file_name().and_then(|name| name.to_str());
                days.extend(name.filter(|name| name.starts_with("date=")).map(str::to_owned));
            }
        }
        Ok(days)
    }

    /// What there is to do on a day.
    pub(crate) fn plans(&self, table: &str, day: &str, done: &mut Compaction) -> Result<Vec<Plan>, LakeError> {
        let partitions = entries(&self.directory.join(format!("table={table}")).join(day))?;
        let mut runs = Runs::of(&self.directory);
        let mut plans = Vec::new();
        for partition in &partitions {
            let files = entries(partition)?;
            if !files.iter().all(|file| is_parquet(file) && file.is_file()) {
                done.skipped.push(partition.clone());
                continue;
            }
            let checked = (table != RUNS).then_some(&mut runs);
            let Some(sources) = sources(partition, &files, checked, &mut done.removed_runs)? else { continue };
            done.partitions += 1;
            done.files += files.len() as u64;
            done.bytes_before += size(&files)?;
            plans.push(Plan { partition: partition.clone(), sources, name: name_of(&files) });
        }
        Ok(plans)
    }

    /// Writes what will replace the partitions. Returns its size.
    pub(crate) fn stage(&self, plans: &[Plan]) -> Result<u64, LakeError> {
        let staging = self.staging()?;
        let mut bytes = 0;
        for (number, plan) in plans.iter().enumerate().filter(|(_, plan)| !plan.sources.is_empty()) {
            let folder = staging.join(number.to_string());
            let made = fs::create_dir(&folder)
                .and_then(|()| fs::set_permissions(&folder, fs::metadata(&plan.partition)?.permissions()));
            made.map_err(LakeError::io(&folder, "create"))?;
            let merged = merge(&plan.sources, &folder.join(&plan.name));
            bytes += merged.map_err(LakeError::io(&plan.partition, "compact"))?;
            synced(&folder).map_err(LakeError::io(&folder, "write to"))?;
        }
        Ok(bytes)
    }

    /// Puts what was staged in the partitions' places, and them among what is staged.
    pub(crate) fn publish_all(&self, plans: &[Plan]) -> Result<(), LakeError> {
        let staging = self.staging()?;
        let mut above = BTreeSet::from([staging.as_path()]);
        for (number, plan) in plans.iter().enumerate() {
            let (staged, partition) = (staging.join(number.to_string()), &plan.partition);
            if plan.sources.is_empty() {
                fs::rename(partition, &staged).map_err(LakeError::io(partition, "remove"))?;
            } else {
                exchange(&staged, partition)?;
            }
            above.extend(partition.parent());
        }
        // The old files go only when the new ones are there to stay.
        above.into_iter().try_for_each(|folder| synced(folder).map_err(LakeError::io(folder, "write to")))
    }
}

/// What becomes one file; `None` where the partition is as it should be.
fn sources<'a>(
    partition: &'a Path,
    files: &[PathBuf],
    mut runs: Option<&mut Runs<'a>>,
    removed: &mut BTreeSet<String>,
) -> Result<Option<Vec<Source>>, LakeError> {
    let host = partition.file_name().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut sources = Vec::new();
    // Files of several runs first: of a run that was copied into the lake again, the copy goes.
    let (one, several): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(|file| run_named(file).is_some());
    for file in several.into_iter().chain(one) {
        let held = runs_held(file)?;
        let mut kept = BTreeSet::new();
        for run in &held {
            let counts = runs.as_mut().map_or(Ok(true), |runs| runs.has(run, host))?;
            if counts && seen.insert(run.clone()) {
                kept.insert(run.clone());
            } else {
                removed.insert(run.clone());
            }
        }
        let all = kept.len() == held.len();
        if all || !kept.is_empty() {
            sources.push(Source { path: file.clone(), runs: (!all).then_some(kept) });
        }
    }
    let is_compact = files.len() == 1 && sources.iter().any(|source| source.runs.is_none());
    Ok((!is_compact && !files.is_empty()).then_some(sources))
}

/// A name that no file of the partition had: it is made of theirs.
fn name_of(files: &[PathBuf]) -> String {
    let mut hash = Fnv::default();
    files.iter().filter_map(|file| file.file_name()).for_each(|name| hash.part(&name.to_string_lossy()));
    file_name(&format!("compacted-{}", hash.digits()))
}

/// The size of files.
pub(crate) fn size(files: &[PathBuf]) -> Result<u64, LakeError> {
    let of = |file: &PathBuf| fs::metadata(file).map(|file| file.len()).map_err(LakeError::io(file, "read"));
    files.iter().map(of).sum()
}

#[cfg(test)]
mod tests;

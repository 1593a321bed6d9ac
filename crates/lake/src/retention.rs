//! Old days leave the lake.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::compaction::{TABLES, size};
use crate::directory::Lake;
use crate::error::LakeError;
use crate::files::{entries, synced};

/// What left the lake, or would.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// The days.
    pub days: BTreeSet<String>,
    /// Files of these days.
    pub files: u64,
    /// Their size.
    pub bytes: u64,
}

impl Lake {
    /// Removes all days before `first`, such as `2026-08-01`. Each table's day goes at once, its runs before their
    /// rows. With `dry_run` nothing is removed.
    pub fn expire(&self, first: &str, dry_run: bool) -> Result<Retention, LakeError> {
        let mut done = Retention::default();
        let days: Vec<String> =
            self.days()?.into_iter().filter(|day| day_in(day).is_some_and(|day| day < first)).collect();
        let mut staged = 0;
        for table in TABLES.map(|table| self.directory.join(format!("table={table}"))) {
            for folder in days.iter().map(|day| table.join(day)).filter(|folder| folder.is_dir()) {
                count(&folder, &mut done)?;
                if !dry_run {
                    let aside = self.staging()?.join(staged.to_string());
                    fs::rename(&folder, aside).map_err(LakeError::io(&folder, "remove"))?;
                    staged += 1;
                }
            }
            // The runs are gone for good before their rows are.
            if staged > 0 && table.is_dir() {
                synced(&table).map_err(LakeError::io(&table, "write to"))?;
            }
        }
        done.days.extend(days.iter().filter_map(|day| day_in(day)).map(str::to_owned));
        self.clear_staging()?;
        Ok(done)
    }
}

/// The day of a directory `date=2026-11-23`; `None` for another name, which is left alone.
fn day_in(folder: &str) -> Option<&str> {
    let day = folder.strip_prefix("date=")?;
    let date: jiff::civil::Date = day.parse().ok()?;
    (date.to_string() == day).then_some(day)
}

fn count(day: &Path, done: &mut Retention) -> Result<(), LakeError> {
    for host in entries(day)? {
        let files = if host.is_dir() { entries(&host)? } else { vec![host] };
        done.files += files.len() as u64;
        done.bytes += size(&files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::directory::Lake;
    use crate::retention::Retention;
    use crate::samples::{contents, files};

    #[test]
    fn days_before_the_first_go_and_a_run_over_midnight_goes_when_compacted() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open_or_create(folder.path()).unwrap();
        let day = 24 * 60;
        for minute in [-3 * day, -2, 10] {
            lake.add(&contents("a", minute)).unwrap();
        }
        fs::create_dir_all(folder.path().join("table=runs/date=unknown/host=a")).unwrap();
        let before = files(folder.path());
        assert_eq!(before.len(), 1 + 2 + 3 + 2);
        let planned = lake.expire("2026-11-23", true).unwrap();
        assert_eq!(files(folder.path()), before);
        let done = lake.expire("2026-11-23", false).unwrap();
        assert_eq!(planned, done);
        assert_eq!(
            (done.days.into_iter().collect::<Vec<_>>(), done.files),
            (vec!["2026-11-20".into(), "2026-11-22".into()], 4)
        );
        assert!(done.bytes > 0 && folder.path().join("table=runs/date=unknown").exists());
        assert!(!lake.has(&contents("a", -2)).unwrap() && lake.has(&contents("a", 10)).unwrap());
        // The rows after midnight of the run that began before it.
        assert_eq!(files(folder.path()).len(), 1 + 1 + 2);
        assert_eq!(lake.compact(false).unwrap().removed_runs.len(), 1);
        assert_eq!(files(folder.path()).len(), 1 + 1 + 1);
        assert_eq!(lake.expire("2026-11-23", false).unwrap(), Retention::default());
    }
}

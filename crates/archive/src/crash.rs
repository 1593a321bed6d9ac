//! Every crash of a small run, enumerated: after each change that the writer makes, and in its middle, the program is
//! killed, or the power is cut; without an error, and after an error of any of the changes. Each state is read with the
//! real reader.
//!
//! With `HOLES=1` a failing disk may also lose the first sectors of a write and keep its last, which is not handled
//! everywhere. `MORE_FLUSHES=1 cargo test -p archive --lib crash -- --nocapture` tries longer runs.

mod power;
mod reading;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustix::io::Errno;

use crate::directory::RESERVE_FILE;
use crate::disk::record::{Fault, Made, Recorded, record};
use power::{Disk, State};
use reading::{Promise, Reader};

/// Kinds of findings that are printed.
const SHOWN: usize = 8;
/// Findings after which a campaign ends.
const ENOUGH: usize = 1000;
const PAGE: u64 = 4096;

struct Campaign {
    reader: Reader,
    states: usize,
    /// By kind: how often, and where first.
    found: BTreeMap<String, (usize, String)>,
    flushes: u32,
}

/// A run as it was written.
struct Written {
    made: Vec<Made>,
    promises: Vec<Promise>,
    attempts: usize,
    /// Changes before the first failure: a crash after one of them is that of a run without it.
    before_fault: usize,
}

impl Campaign {
    fn new(flushes: u32) -> Campaign {
        let more: u32 = std::env::var("MORE_FLUSHES").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        Campaign { reader: Reader::new(), states: 0, found: BTreeMap::new(), flushes: flushes + more }
    }

    fn write(&self, fault: Option<Fault>) -> Written {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("new/run");
        let mut promises = Vec::new();
        let recorded = record(fault, || promises = run::write(&dir, self.flushes));
        let Recorded { made, attempts, before_fault } = recorded;
        let made = made.iter().map(|made| made.beneath(folder.path())).collect();
        Written { made, promises, attempts, before_fault }
    }

    /// A kill of the program after each change, and in the middle of each write.
    fn kills(&mut self, written: &Written, what: &str) {
        let (mut disk, mut promise) = (Disk::default(), 0);
        for (index, made) in written.made.iter().enumerate() {
            let is_new = index >= written.before_fault;
            if let (Made::Wrote(file, bytes, at), true) = (made, is_new) {
                // The kernel ends a write between two pages.
                let cut = (at.midpoint(at + bytes.len() as u64) / PAGE * PAGE).max(*at) - at;
                let mut torn = disk.clone();
                torn.take(&Made::Wrote(*file, bytes[..cut as usize].to_owned(), *at));
                self.check(
                    &torn.cached(is_read),
                    &written.promises[promise],
                    &format!("{what}, killed in change {index}"),
                );
            }
            disk.take(made);
            if let Made::Promised(number) = made {
                promise = *number;
            }
            if is_new {
                self.check(
                    &disk.cached(is_read),
                    &written.promises[promise],
                    &format!("{what}, killed after change {index}"),
                );
            }
        }
    }

    /// A power cut before each sync: what may be lost is most then.
    fn power_cuts(&mut self, written: &Written, what: &str, has_holes: bool) {
        let (mut disk, mut promise) = (Disk::new(has_holes), 0);
        let end = Made::Promised(written.promises.len() - 1);
        for (index, made) in written.made.iter().chain([&end]).enumerate() {
            let is_new = index >= written.before_fault && Disk::settles(made);
            let states = if is_new { disk.states(is_read) } else { BTreeSet::new() };
            for state in &states {
                let when = format!("{what}, power cut before change {index}, {}", short(made));
                self.check(state, &written.promises[promise], &when);
            }
            disk.take(made);
            if let Made::Promised(number) = made {
                promise = *number;
            }
        }
    }

    fn check(&mut self, state: &State, promise: &Promise, when: &str) {
        self.states += 1;
        if let Err(why) = self.reader.check(state, promise) {
            self.found.entry(why).or_insert((0, when.to_owned())).0 += 1;
            self.assert_less_than(ENOUGH);
        }
    }

    /// Runs in which one change fails, or all from there on.
    fn faults(&mut self, errno: Errno, lasts: bool, work: impl Fn(&mut Campaign, &Written, &str)) {
        for at in 0..self.write(None).attempts {
            let written = self.write(Some(Fault { at, errno, lasts }));
            if !written.promises.iter().any(|promise| promise.has_begun) {
                // The caller knows that there is no run.
                continue;
            }
            work(self, &written, &format!("{errno} of change {at}{}", if lasts { " and all later ones" } else { "" }));
        }
    }

    fn assert_less_than(&self, most: usize) {
        let count: usize = self.found.values().map(|(count, _)| count).sum();
        let shown =
            self.found.iter().take(SHOWN).map(|(why, (count, when))| format!("{count} times, first {when}: {why}"));
        assert!(count < most, "{count} findings:\n{}", shown.collect::<Vec<_>>().join("\n"));
    }

    fn end(self, name: &str) {
        println!(
            "{name}: {} states of {} flushes, {} of them different",
            self.states,
            self.flushes,
            self.reader.count()
        );
        self.assert_less_than(1);
    }
}

/// No reader opens the reserve.
fn is_read(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name != RESERVE_FILE)
}

fn short(made: &Made) -> String {
    format!("{made:?}").chars().take(80).collect()
}

impl Made {
    /// With paths relative to a folder.
    fn beneath(&self, folder: &Path) -> Made {
        let inside = |path: &Path| path.strip_prefix(folder).unwrap_or(path).to_owned();
        match self {
            Made::Directory(path) => Made::Directory(inside(path)),
            Made::Created(path, file) => Made::Created(inside(path), *file),
            Made::SyncedDirectory(path) => Made::SyncedDirectory(inside(path)),
            Made::Renamed(from, to) => Made::Renamed(inside(from), inside(to)),
            Made::Removed(path) => Made::Removed(inside(path)),
            other => other.clone(),
        }
    }
}

#[test]
fn a_run_killed_at_any_change_is_whole_up_to_its_last_flush() {
    let mut campaign = Campaign::new(6);
    let written = campaign.write(None);
    assert!(written.promises.last().is_some_and(|last| last.is_closed), "{:?}", written.promises);
    campaign.kills(&written, "no error");
    campaign.end("kills");
}

#[test]
fn a_run_whose_power_is_cut_at_any_change_is_whole_up_to_its_last_flush() {
    let mut campaign = Campaign::new(6);
    let written = campaign.write(None);
    campaign.power_cuts(&written, "no error", true);
    campaign.end("power cuts");
}

#[test]
fn a_run_on_a_full_disk_is_whole_after_any_crash() {
    let mut campaign = Campaign::new(1);
    for lasts in [false, true] {
        campaign.faults(Errno::NOSPC, lasts, |campaign, written, what| {
            campaign.kills(written, what);
            campaign.power_cuts(written, what, std::env::var_os("HOLES").is_some());
        });
    }
    campaign.end("full disk");
}

#[test]
fn a_run_on_a_broken_disk_is_whole_after_any_crash() {
    let mut campaign = Campaign::new(1);
    for lasts in [false, true] {
        campaign.faults(Errno::IO, lasts, |campaign, written, what| {
            campaign.kills(written, what);
            campaign.power_cuts(written, what, std::env::var_os("HOLES").is_some());
        });
    }
    campaign.end("broken disk");
}

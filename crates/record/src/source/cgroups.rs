//! All cgroups of the machine, of both versions: the busiest in full, the others by one figure each, in turn.
//!
//! The cost of a sample does not depend on the number of cgroups. Each sample looks into a bounded number of folders
//! and reads a bounded number of idle cgroups; what was seen of each decides which are read in full. So are those that
//! limit I/O, even while they do nothing: perhaps because of the limit.

mod group;
mod hierarchy;
mod walk;

use std::cmp::Reverse;
use std::path::Path;
use std::time::Instant;

use model::metric::{Semantics, Unit};

use self::group::Group;
use self::hierarchy::Hierarchy;
use self::walk::Walk;
use crate::last_values::SampleWriter;
use crate::source::{MetricSource, sample_all};
use crate::source_error::SourceError;

/// Cgroups that are read in full.
const FULL: usize = 16;
/// Other cgroups that are read at one sample, in turn.
const PROBED: usize = 96;

/// One cgroup.
struct Known {
    path: String,
    /// Where its figure is read: the first hierarchy that has it, or another one while nothing happens to it there.
    hierarchy: usize,
    /// Its figure when it was last read.
    last: Option<(Instant, u64)>,
    /// How fast the figure grew; it fades while the cgroup is idle.
    per_s: f64,
    /// It limited I/O when it was first read.
    limits_io: bool,
    full: bool,
}

/// All cgroups.
pub(crate) struct Cgroups {
    hierarchies: Vec<Hierarchy>,
    walk: Walk,
    known: Vec<Known>,
    at: usize,
    full: Vec<Group>,
    /// The limits of the root cgroup: those on disks of version 1, which has no others, and version 2 none.
    root: Group,
    /// CPU time that cgroups used while they were not read in full, ns. Only of those without others below, which would
    /// count twice.
    others_ns: u64,
}

impl Cgroups {
    pub(crate) fn open(root: &Path) -> Cgroups {
        let hierarchies = hierarchy::all(root);
        let walk = Walk::new(hierarchies.iter().map(|found| found.mount.clone()).collect());
        let root = Group::limits_of_root(&hierarchies);
        Cgroups { hierarchies, walk, known: Vec::new(), at: 0, full: Vec::new(), root, others_ns: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hierarchies.is_empty()
    }

    /// Controllers that no hierarchy has.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let has = |name: &&str| self.hierarchies.iter().any(|found| found.has(name));
        ["cpu", "memory", "io"].into_iter().filter(|name| !has(name)).collect()
    }

    fn discover(&mut self) {
        for found in self.walk.step() {
            let (path, hierarchy) = (found.path, found.hierarchy);
            let full = self.full.iter().any(|group| group.path == path);
            self.known.push(Known { path, hierarchy, last: None, per_s: 0.0, limits_io: false, full });
        }
    }

    /// Reads those that are read in full, and the next of the others.
    fn probe(&mut self) {
        let now = Instant::now();
        let count = self.known.len();
        let next = (0..count.min(PROBED)).map(|step| (self.at + step) % count);
        let full = (0..count).filter(|&at| self.known[at].full);
        let mut places: Vec<usize> = full.chain(next).collect();
        places.sort_unstable();
        places.dedup();
        self.at = (self.at + PROBED) % count.max(1);
        // From the last on: the last known takes the place of one that is gone.
        for at in places.into_iter().rev() {
            let known = &mut self.known[at];
            let hierarchy = &self.hierarchies[known.hierarchy];
            let Some(figure) = hierarchy.activity(&known.path) else {
                self.forget(at);
                continue;
            };
            if known.last.is_none() {
                known.limits_io = self.hierarchies.iter().any(|hierarchy| hierarchy.limits_io(&known.path));
            }
            let grown = known.take(now, figure);
            if grown == 0 && !hierarchy.counts_cpu() {
                known.look_elsewhere(now, &self.hierarchies);
            }
            if hierarchy.counts_cpu() && !self.walk.is_parent(&known.path) && !known.full {
                self.others_ns = self.others_ns.saturating_add(grown);
            }
        }
    }

    fn forget(&mut self, at: usize) {
        let known = self.known.swap_remove(at);
        self.walk.forget(&known.path);
    }

    /// Chooses those to read in full. One that is read in full stays until another one is twice as busy.
    fn choose(&mut self, writer: &mut SampleWriter<'_>) {
        let rank = |known: &Known| if known.full { known.per_s * 2.0 } else { known.per_s };
        let busy = self.known.iter().filter(|known| known.per_s > 0.0 || known.limits_io);
        let mut busiest: Vec<(&str, u64)> = busy.map(|known| (known.path.as_str(), rank(known) as u64)).collect();
        busiest.sort_unstable_by_key(|&(path, per_s)| (Reverse(per_s), path));
        let wanted: Vec<String> = busiest.iter().take(FULL).map(|(path, _)| (*path).to_owned()).collect();
        let is_new = |path: &&String| self.full.iter().all(|group| group.path != **path);
        let new: Vec<String> = wanted.iter().filter(is_new).cloned().collect();
        let is_gone = |group: &Group| !self.walk.knows(&group.path);
        if new.is_empty() && !self.full.iter().any(is_gone) {
            return;
        }
        let mut room = FULL.saturating_sub(wanted.len());
        let walk = &self.walk;
        self.full.retain_mut(|group| {
            let stays = wanted.contains(&group.path) || (room > 0 && walk.knows(&group.path));
            room -= usize::from(stays && !wanted.contains(&group.path));
            if !stays {
                group.vanish(writer);
            }
            stays
        });
        self.full.extend(new.into_iter().map(|path| Group::open(path, &self.hierarchies)));
        for known in &mut self.known {
            known.full = self.full.iter().any(|group| group.path == known.path);
        }
    }

    /// What the others used, and how many they are.
    fn rest(&self, writer: &mut SampleWriter<'_>) {
        let others = self.known.len().saturating_sub(self.full.len()) as i64;
        let count = writer.metric("cgroups.others".to_owned(), "", Unit::Count, Semantics::Gauge);
        writer.set(count, Some(others));
        let name = "cgroups.others.cpu_usage".to_owned();
        let used = writer.metric(name, "", Unit::Nanoseconds, Semantics::Counter);
        writer.set(used, i64::try_from(self.others_ns).ok());
        let unseen = writer.metric("cgroups.unseen".to_owned(), "", Unit::Count, Semantics::Counter);
        writer.set(unseen, i64::try_from(self.walk.refused()).ok());
    }
}

impl Known {
    /// A cgroup of several controllers may be idle for one of them, and busy for another: it may have a quota that
    /// never holds, and a memory limit that does. CPU time says enough.
    fn look_elsewhere(&mut self, now: Instant, hierarchies: &[Hierarchy]) {
        let count = hierarchies.len();
        let mut others = (1..count).map(|step| (self.hierarchy + step) % count);
        let figure = |at: usize| Some((at, hierarchies[at].activity(&self.path)?));
        if let Some((at, figure)) = others.find_map(figure) {
            (self.hierarchy, self.last) = (at, Some((now, figure)));
        }
    }

    /// Takes the figure now. Returns how much it grew.
    fn take(&mut self, now: Instant, figure: u64) -> u64 {
        let Some((then, before)) = self.last.replace((now, figure)) else { return 0 };
        let grown = figure.abs_diff(before);
        let seconds = now.duration_since(then).as_secs_f64().max(0.001);
        self.per_s = (grown as f64 / seconds).max(self.per_s / 2.0);
        if self.per_s < 1.0 {
            self.per_s = 0.0;
        }
        if figure >= before { grown } else { 0 }
    }
}

impl MetricSource for Cgroups {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        self.discover();
        self.probe();
        self.choose(writer);
        self.rest(writer);
        // A cgroup may be removed at any time: its metrics become absent, and the next walk forgets it.
        let _ = sample_all(self.full.iter_mut(), writer);
        self.root.sample(writer)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! CPU quotas of cgroups (CFS bandwidth control): which cgroup holds a task back, and by how much.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use model::detail::CpuQuota;

use crate::bytes::read_text;

/// Quotas are read again after this many calls of [`CpuQuotas::age`], one per second: they may change.
const KEPT: u32 = 10;

/// The quotas that tasks run under, by cgroup.
pub(super) struct CpuQuotas {
    proc: PathBuf,
    /// Where the hierarchy with the controller is mounted, and whether it is version 1.
    hierarchies: Vec<(PathBuf, bool)>,
    known: HashMap<String, Option<Tightest>>,
    /// Cgroups of tasks: a task may be gone when its last wait is read.
    cgroups: HashMap<u32, String>,
    age: u32,
}

impl CpuQuotas {
    pub(super) fn new(proc: PathBuf, cgroup: &Path) -> CpuQuotas {
        let v1 = ["cpu", "cpu,cpuacct", "cpuacct,cpu"].map(|name| (cgroup.join(name), true));
        let v2 = [cgroup.to_owned(), cgroup.join("unified")].map(|folder| (folder, false));
        let hierarchies = v1.into_iter().chain(v2).filter(|(folder, _)| folder.is_dir()).collect();
        CpuQuotas { proc, hierarchies, known: HashMap::new(), cgroups: HashMap::new(), age: 0 }
    }

    /// The tightest quota of the task's cgroup and those above. `None` where the task was gone before it was first
    /// asked for.
    pub(super) fn of_task(&mut self, tid: u32) -> Option<CpuQuota> {
        self.look_up(tid);
        let path = self.cgroups.get(&tid)?.clone();
        let Tightest { cgroup, quota } = self.tightest(&path)?;
        Some(CpuQuota { cgroup, quota_ns: quota.time_us * 1000, period_ns: quota.period_us * 1000 })
    }

    /// The cgroup of a process, and the one at or above it with the tightest quota. A process that is known is not
    /// looked up again.
    pub(super) fn place_of(&mut self, pid: u32) -> Option<(String, Option<String>)> {
        if !self.cgroups.contains_key(&pid) {
            self.look_up(pid);
        }
        let path = self.cgroups.get(&pid)?.clone();
        let limit = self.tightest(&path).map(|tightest| tightest.cgroup);
        Some((path, limit))
    }

    /// The cgroup in which a task is now.
    fn look_up(&mut self, tid: u32) {
        let text = read_text(self.proc.join(format!("{tid}/cgroup"))).ok();
        if let Some(path) = text.as_deref().and_then(cpu_cgroup) {
            self.cgroups.insert(tid, path.to_owned());
        }
    }

    fn tightest(&mut self, path: &str) -> Option<Tightest> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let found = self.hierarchies.iter().find_map(|(mount, is_v1)| tightest(mount, *is_v1, path));
        self.known.insert(path.to_owned(), found.clone());
        found
    }

    /// All that is known: quotas may have changed, and tasks their cgroups.
    pub(super) fn forget(&mut self) {
        self.known.clear();
        self.cgroups.clear();
    }

    /// Call this every second or so.
    pub(super) fn age(&mut self) {
        self.age += 1;
        if self.age >= KEPT {
            self.age = 0;
            self.forget();
        }
    }
}

/// The cgroup of controller `cpu` (v1), or the cgroup (v2), in /proc/PID/cgroup.
fn cpu_cgroup(text: &str) -> Option<&str> {
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let v1 = lines().find(|(controllers, _)| controllers.split(',').any(|name| name == "cpu"));
    v1.or_else(|| lines().find(|(controllers, _)| controllers.is_empty())).map(|(_, path)| path)
}

/// The tightest quota at or above a cgroup.
#[derive(Debug, Clone)]
struct Tightest {
    cgroup: String,
    quota: Quota,
}

fn tightest(mount: &Path, is_v1: bool, path: &str) -> Option<Tightest> {
    let quotas = Path::new(path).ancestors().filter_map(|path| {
        let cgroup = path.display().to_string();
        let folder = crate::bytes::below(mount, &cgroup);
        Some(Tightest { cgroup, quota: quota(&folder, is_v1)? })
    });
    quotas.min_by_key(|tightest| tightest.quota.per_second_ns())
}

/// A cgroup's CPU time, and the period in which it may use it.
#[derive(Debug, Clone, Copy)]
struct Quota {
    time_us: u64,
    period_us: u64,
}

impl Quota {
    /// CPU time in a second.
    fn per_second_ns(self) -> u64 {
        (u128::from(self.time_us) * 1_000_000_000 / u128::from(self.period_us)) as u64
    }
}

/// That of the cgroup in a folder; `None` without a quota.
fn quota(folder: &Path, is_v1: bool) -> Option<Quota> {
    let read = |name: &str| read_text(folder.join(name)).ok();
    let (quota, period) = match is_v1 {
        true => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
        false => read("cpu.max")?.split_once(' ').map(|(quota, period)| (quota.to_owned(), period.to_owned()))?,
    };
    // Without a quota, v1 has -1 and v2 `max`.
    let (time_us, period_us): (u64, u64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (period_us > 0 && time_us <= u64::MAX / 1000 && period_us <= u64::MAX / 1000)
        .then_some(Quota { time_us, period_us })
}

#[cfg(test)]
mod tests {
    use model::detail::Detail;

    use super::CpuQuotas;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    fn check(files: &[(&str, &str)], expected: Option<&str>) {
        let root = tree(files);
        let mut quotas = CpuQuotas::new(root.path().join("proc"), &root.path().join("cgroup"));
        let words = quotas.of_task(7).map(|quota| Detail::CpuQuota(quota).to_string());
        assert_eq!(words.as_deref(), expected, "{files:?}");
        assert_eq!(quotas.of_task(8), None);
    }

    #[test]
    fn the_tightest_quota_above_a_task_holds_it() {
        let v1 = ("proc/7/cgroup", "3:cpu,cpuacct:/a/b\n2:memory:/m\n0::/u\n");
        let of = |path, quota| [(path, quota)].map(|(path, quota): (&'static str, &'static str)| (path, quota));
        let [a] = of("cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "20000\n");
        let [b] = of("cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
        let [tight] = of("cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "5000\n");
        let [of_a] = of("cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
        let [of_b] = of("cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
        check(&[v1, a, b, of_a, of_b], Some("/a: 20.0 ms of 100 ms"));
        check(&[v1, a, tight, of_a, of_b], Some("/a/b: 5.00 ms of 100 ms"));
        check(&[v1, b, of_b], None);
        let v2 = ("proc/7/cgroup", "0::/a/b\n");
        check(
            &[v2, ("cgroup/a/cpu.max", "max 100000\n"), ("cgroup/a/b/cpu.max", "20000 50000\n")],
            Some("/a/b: 20.0 ms of 50.0 ms"),
        );
    }
}

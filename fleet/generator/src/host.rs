//! Machines of the fleet.

use crate::issue::ISSUES;
use statistics::SplitMix64;

pub(crate) const KERNELS: [&str; 5] = ["6.1.0-40-amd64", "6.6.99", "6.12.48", "6.12.57", "6.18.1"];
const MODELS: [&str; 6] = [
    "SAMSUNG MZQL2960HCJR",
    "INTEL SSDPE2KX040T8",
    "Micron_7450_MTFDKCC960TFR",
    "KIOXIA KCD6XLUL1T92",
    "ST12000NM0127",
    "",
];
const FILE_SYSTEMS: [&str; 4] = ["xfs", "xfs", "ext4", "btrfs"];
const ROLES: [(&str, &str, &str); 4] = [
    ("db", "/system.slice/postgresql.service", "postgres"),
    ("web", "/kubepods/burstable/pod-web", "nginx"),
    ("batch", "/kubepods/besteffort/pod-batch", "spark"),
    ("store", "/system.slice/ceph-osd.service", "ceph-osd"),
];

/// One machine.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) model: Option<&'static str>,
    pub(crate) file_system: &'static str,
    pub(crate) cgroup: &'static str,
    pub(crate) task: &'static str,
    kernel: usize,
    /// The day on which it gets the next kernel.
    upgrade: usize,
    /// The day since which it reports.
    pub(crate) since: usize,
    /// Numbers of its issues, and how often each happens on a day.
    pub(crate) issues: Vec<(usize, f64)>,
}

impl Host {
    /// A machine of a fleet.
    pub(crate) fn of(seed: u64, number: usize, days: usize, stalls: f64) -> Host {
        let mut random = SplitMix64::of_parts(&[seed, 1, number as u64]);
        let (role, cgroup, task) = *random.one(&ROLES);
        let file_system = *random.one(&FILE_SYSTEMS);
        let model = *random.one(&MODELS);
        let kernel = random.below(KERNELS.len());
        let upgrade = if random.happens(0.1) { random.below(days) } else { usize::MAX };
        let since = if random.happens(0.01) { random.below(days) } else { 0 };
        let activity = random.lognormal(0.5);
        let has = |(at, issue): (usize, &crate::issue::Issue)| {
            let there = random.happens(issue.prevalence) && issue.is_on(file_system);
            there.then(|| (at, issue.rate * activity * random.lognormal(0.4) * stalls / 100.0))
        };
        let issues = ISSUES.iter().enumerate().filter_map(has).collect();
        Host {
            number,
            name: format!("{role}-{number:04}"),
            model: (!model.is_empty()).then_some(model),
            file_system,
            cgroup,
            task,
            kernel,
            upgrade,
            since,
            issues,
        }
    }

    /// Its kernel on a day, by number.
    pub(crate) fn kernel(&self, day: usize) -> usize {
        if day >= self.upgrade { (self.kernel + 1) % KERNELS.len() } else { self.kernel }
    }

    /// What a fingerprint takes for the disk.
    pub(crate) fn disk(&self) -> &'static str {
        self.model.unwrap_or("vd")
    }

    /// Issue, file system and disk: what one fingerprint should be.
    pub(crate) fn seed_of(&self, issue: usize) -> String {
        format!("{issue:02}/{}/{}", self.file_system, self.disk())
    }
}

//! The mounted hierarchies of cgroups, and the figure that says how busy a cgroup is there.

use std::path::{Path, PathBuf};

use model::metric::Unit;

use crate::bytes::{below, read_text};

/// Limits of v1, per second.
pub(super) const THROTTLE: [(&str, Unit); 4] = [
    ("blkio.throttle.read_bps_device", Unit::Bytes),
    ("blkio.throttle.write_bps_device", Unit::Bytes),
    ("blkio.throttle.read_iops_device", Unit::Count),
    ("blkio.throttle.write_iops_device", Unit::Count),
];

/// The controllers of a hierarchy that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    CpuacctV1,
    CpuV1,
    MemoryV1,
    BlkioV1,
    V2,
}

/// A mounted hierarchy.
pub(super) struct Hierarchy {
    pub(super) mount: PathBuf,
    pub(super) kinds: Vec<Kind>,
    /// Controllers of version 2.
    controllers: String,
}

/// Hierarchies at their usual places below a folder. The v2 hierarchy of a hybrid system has no controllers.
pub(super) fn all(root: &Path) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    let v1 = [
        ("cpuacct", Kind::CpuacctV1, "cpuacct.usage"),
        ("cpu", Kind::CpuV1, "cpu.shares"),
        ("memory", Kind::MemoryV1, "memory.usage_in_bytes"),
        ("blkio", Kind::BlkioV1, "blkio.throttle.io_service_bytes"),
    ];
    for (name, kind, file) in v1 {
        let Ok(mount) = root.join(name).canonicalize() else { continue };
        if !mount.join(file).is_file() {
            continue;
        }
        match found.iter_mut().find(|known| known.mount == mount) {
            Some(known) => known.kinds.push(kind),
            None => found.push(Hierarchy { mount, kinds: vec![kind], controllers: String::new() }),
        }
    }
    for mount in [root.to_owned(), root.join("unified")] {
        let controllers = read_text(mount.join("cgroup.controllers")).unwrap_or_default();
        if !controllers.trim().is_empty() {
            found.push(Hierarchy { mount, kinds: vec![Kind::V2], controllers });
        }
    }
    found
}

impl Hierarchy {
    /// Whether it has that controller of version 2, or the one of version 1 that corresponds to it.
    pub(super) fn has(&self, controller: &str) -> bool {
        let v1 = match controller {
            "cpu" => Kind::CpuV1,
            "memory" => Kind::MemoryV1,
            _ => Kind::BlkioV1,
        };
        self.kinds.contains(&v1) || self.controllers.split_whitespace().any(|name| name == controller)
    }

    /// Whether the figure is CPU time.
    pub(super) fn counts_cpu(&self) -> bool {
        matches!(self.kinds.first(), Some(Kind::CpuacctV1 | Kind::V2))
    }

    /// Whether a cgroup has a limit on the I/O of any disk here.
    pub(super) fn limits_io(&self, path: &str) -> bool {
        let files = if self.kinds.contains(&Kind::BlkioV1) {
            &THROTTLE.map(|(name, _)| name)[..]
        } else if self.kinds.contains(&Kind::V2) {
            &["io.max"]
        } else {
            return false;
        };
        let folder = below(&self.mount, path);
        files.iter().any(|name| std::fs::read(folder.join(name)).is_ok_and(|text| !text.trim_ascii().is_empty()))
    }

    /// A figure that changes while the cgroup is busy: CPU time or throttled time in ns, or bytes. `None` if it is
    /// gone.
    pub(super) fn activity(&self, path: &str) -> Option<u64> {
        let folder = below(&self.mount, path);
        let read = |name: &str| read_text(folder.join(name)).ok();
        match self.kinds.first()? {
            Kind::CpuacctV1 => read("cpuacct.usage")?.trim().parse().ok(),
            Kind::CpuV1 => Some(after(&read("cpu.stat")?, "throttled_time ")),
            Kind::MemoryV1 => read("memory.usage_in_bytes")?.trim().parse().ok(),
            Kind::BlkioV1 => Some(after(&read("blkio.throttle.io_service_bytes")?, "Total ")),
            Kind::V2 => Some(after(&read("cpu.stat")?, "usage_usec ").saturating_mul(1000)),
        }
    }
}

/// The number after these words at the begin of a line; 0 without such a line.
fn after(text: &str, words: &str) -> u64 {
    let number = text.lines().find_map(|line| line.strip_prefix(words));
    number.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

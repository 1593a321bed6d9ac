//! Decides whether the issue of each request must be traced.
//!
//! Calling a program costs as much as most programs do themselves. Where requests pass an I/O scheduler, their
//! insertion is the first event, and where the kernel takes timestamps itself (for writeback throttling, say), their
//! completion has the issue time. The programs count the requests for which that does not hold; the first few of these
//! are recorded with fewer moments.

use std::path::Path;

use libbpf_rs::{Link, MapCore, MapFlags, Object};

use super::programs;
use super::tracepoints::{TraceSource, When};
use crate::clock::monotonic_ns;
use crate::file::read_trimmed;

/// Requests that show it. Fewer may result from programs that the kernel skipped.
const MANY: u64 = 8;

/// The programs of [`When::Wanted`] that are not attached yet.
pub(super) struct Issues {
    waiting: Vec<TraceSource>,
    links: Vec<Link>,
}

impl Issues {
    /// Call this when all other programs are attached.
    pub(super) fn new(object: &Object, sources: &[TraceSource], sys: &Path) -> Issues {
        let waiting = sources.iter().filter(|source| source.when == When::Wanted).copied().collect();
        let mut issues = Issues { waiting, links: Vec::new() };
        if is_needed(sys) {
            issues.attach(object);
        }
        // Without it all requests would count as earlier ones, and none would be emitted at its completion.
        if let Ok(map) = programs::map(object, "issues") {
            let value = [monotonic_ns().to_ne_bytes(), 0u64.to_ne_bytes()].concat();
            let _ = map.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY);
        }
        issues
    }

    /// Attaches the waiting programs once requests have shown that they are needed. Call this often.
    pub(super) fn poll(&mut self, object: &Object) {
        if self.waiting.is_empty() {
            return;
        }
        let Ok(map) = programs::map(object, "issues") else { return };
        let value = map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten();
        let wanted = value.and_then(|value| value.last_chunk().map(|bytes| u64::from_ne_bytes(*bytes)));
        if wanted.is_some_and(|wanted| wanted >= MANY) {
            self.attach(object);
        }
    }

    /// Whether they turned out to be needed.
    pub(super) fn are_traced(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Detaches the programs; attaching all programs again includes these.
    pub(super) fn detach(&mut self) {
        self.links.clear();
    }

    /// Attaches once: if that fails, requests are recorded without their issue time.
    fn attach(&mut self, object: &Object) {
        for source in self.waiting.drain(..) {
            self.links.extend(programs::attach_source(object, &source).unwrap_or_default());
        }
    }
}

/// Whether a disk in use has no scheduler, or the kernel does not time its requests.
fn is_needed(sys: &Path) -> bool {
    let disks = std::fs::read_dir(sys.join("block")).into_iter().flatten().flatten();
    disks.map(|disk| disk.path()).any(|disk| {
        let setting = |name: &str| read_trimmed(&disk.join(name));
        let is_used = setting("size").is_some_and(|size| size != "0");
        // Devices without requests have no scheduler.
        let scheduler = setting("queue/scheduler").filter(|_| disk.join("mq").is_dir());
        let is_timed = setting("queue/wbt_lat_usec").is_some_and(|target| target != "0");
        is_used && scheduler.is_some_and(|list| !is_timed || list == "none" || list.contains("[none]"))
    })
}

#[cfg(test)]
mod tests {
    use super::is_needed;
    use crate::fake::Kernel;

    #[track_caller]
    fn check(size: &str, scheduler: &str, target: &str, expected: bool) {
        let kernel = Kernel::new();
        kernel.write("sys/block/sda/mq/0/nr_tags", "1");
        kernel.write("sys/block/sda/size", size);
        kernel.write("sys/block/sda/queue/scheduler", scheduler);
        kernel.write("sys/block/sda/queue/wbt_lat_usec", target);
        assert_eq!(is_needed(&kernel.roots().sys), expected, "{size} {scheduler} {target}");
    }

    #[test]
    fn issues_are_traced_without_insertions_or_kernel_timestamps() {
        check("8\n", "none [mq-deadline] bfq\n", "2000\n", false);
        check("8\n", "[none] mq-deadline bfq\n", "2000\n", true);
        check("8\n", "none\n", "2000\n", true);
        check("8\n", "none [bfq]\n", "0\n", true);
        check("0\n", "[none] mq-deadline\n", "2000\n", false);
    }
}

//! Which sources this machine has.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use model::preflight::Finding;

use super::options::SamplerOptions;
use crate::host;
use crate::roots::Roots;
use crate::rows::Table;
use crate::source::bdi::Bdi;
use crate::source::buddyinfo::BuddyinfoTable;
use crate::source::cgroups::Cgroups;
use crate::source::diskstats::Diskstats;
use crate::source::ext4::Ext4;
use crate::source::jbd2::Jbd2;
use crate::source::meminfo::MeminfoTable;
use crate::source::mountstats::Mountstats;
use crate::source::pressure::Pressure;
use crate::source::recorder::Recorder;
use crate::source::slabinfo::Slabinfo;
use crate::source::stat::{CPU_LIMIT, StatTable};
use crate::source::tracepoint::Tracepoints;
use crate::source::vmstat::VmstatTable;
use crate::source::{MetricSource, TableFile, xfs};
use crate::source_error::SourceError;

const AS_ROOT: &str = "run as root";
const CGROUPS: &str = "CPU time, memory and I/O of the busiest cgroups, and their throttling";
const MOUNT_PROC: &str = "mount procfs";

/// A source and its name.
pub(super) type NamedSource = (&'static str, Box<dyn MetricSource>);

/// The sources that this machine has, in the order of reading, and what is missing.
#[derive(Default)]
pub(super) struct Discovered {
    pub(super) sources: Vec<NamedSource>,
    pub(super) findings: Vec<Finding>,
}

struct Discovery<'a> {
    roots: &'a Roots,
    options: &'a SamplerOptions,
    found: Discovered,
}

/// Opens the sources that this machine has. `archived_bytes`: what `recorder.archived_bytes` reports.
pub(super) fn discover(roots: &Roots, options: &SamplerOptions, archived_bytes: &Arc<AtomicU64>) -> Discovered {
    let mut discovery = Discovery { roots, options, found: Discovered::default() };
    discovery.memory();
    discovery.machine();
    discovery.cgroups();
    discovery.devices();
    discovery.file_systems();
    discovery.tracepoints();
    discovery.recorder(archived_bytes);
    discovery.found
}

impl Discovery<'_> {
    fn memory(&mut self) {
        let proc = &self.roots.proc;
        self.table("vmstat", proc.join("vmstat"), VmstatTable, "Reclaim, writeback and compaction", MOUNT_PROC);
        self.table("meminfo", proc.join("meminfo"), MeminfoTable, "Memory by use", MOUNT_PROC);
        self.table("buddyinfo", proc.join("buddyinfo"), BuddyinfoTable, "Memory fragmentation", MOUNT_PROC);
        let path = proc.join("slabinfo");
        let make = || Slabinfo::new(path.clone(), &self.roots.sys);
        self.probed("slabinfo", path.clone(), "Slab caches that shrinkers can shrink", AS_ROOT, make);
    }

    fn machine(&mut self) {
        let proc = &self.roots.proc;
        self.table("stat", proc.join("stat"), StatTable, "CPU time and blocked tasks", MOUNT_PROC);
        let cpus = host::online_cpus(self.roots).len();
        if cpus > CPU_LIMIT as usize {
            self.found.findings.push(Finding::missing(
                "times of each CPU",
                "CPU time of single CPUs",
                format!("{cpus} CPUs; the first {CPU_LIMIT} are recorded, the others in the sum"),
                "none; the sum of all CPUs is complete",
            ));
        }
        if self.wanted("pressure") {
            match Pressure::open(&proc.join("pressure")) {
                Ok(source) => self.add("pressure", source),
                Err(error) => self.missing(
                    "pressure",
                    "PSI: time that tasks wait for CPU, memory and I/O",
                    &error,
                    "use a kernel with CONFIG_PSI, booted with psi=1",
                ),
            }
        }
    }

    fn cgroups(&mut self) {
        if !self.wanted("cgroups") {
            return;
        }
        let cgroups = Cgroups::open(&self.roots.cgroup);
        if cgroups.is_empty() {
            self.found.findings.push(Finding::missing(
                "cgroups",
                CGROUPS,
                format!("no hierarchy at {} has controllers that are read", self.roots.cgroup.display()),
                "mount one with the controllers cpu, memory and io (v1: blkio)",
            ));
            return;
        }
        for controller in cgroups.missing() {
            self.found.findings.push(Finding::missing(
                format!("cgroups: {controller}"),
                CGROUPS,
                format!("no hierarchy at {} has the controller '{controller}'", self.roots.cgroup.display()),
                "mount it, or enable it in cgroup.subtree_control",
            ));
        }
        self.add("cgroups", cgroups);
    }

    fn devices(&mut self) {
        let path = self.roots.proc.join("diskstats");
        let purpose = "Requests and times of each block device";
        self.probed("diskstats", path.clone(), purpose, MOUNT_PROC, || Diskstats::new(path));
        let path = self.roots.debug.join("bdi");
        let debug = &self.roots.debug;
        let purpose = "Dirty limit and writeback bandwidth of each device";
        self.folder("bdi", path, purpose, "as root: mount -t debugfs nodev /sys/kernel/debug", || Bdi::new(debug));
    }

    fn file_systems(&mut self) {
        let (proc, sys) = (self.roots.proc.clone(), self.roots.sys.clone());
        let path = proc.join("self/mountstats");
        let purpose = "Operations of NFS mounts";
        self.probed("mountstats", path.clone(), purpose, MOUNT_PROC, || Mountstats::new(path));
        if self.wanted("ext4") {
            self.add("ext4", Ext4::new(sys.join("fs/ext4")));
        }
        if self.wanted("jbd2") {
            self.add("jbd2", Jbd2::new(proc.join("fs/jbd2")));
        }
        if self.wanted("xfs") {
            let old = proc.join("fs/xfs/stat");
            // The folders of ext4, jbd2 and XFS appear when the modules are loaded, perhaps by the run itself.
            match old.is_file() && !sys.join("fs/xfs").is_dir() {
                true => self.add("xfs", xfs::global(old)),
                false => self.add("xfs", xfs::Xfs::new(sys.join("fs/xfs"))),
            }
        }
    }

    fn tracepoints(&mut self) {
        if self.wanted("tracepoint") {
            let tracing = self.roots.mounted_tracing();
            let cpus = host::online_cpus(self.roots);
            let limit = self.options.tracepoint_cpu_limit;
            if let Some(source) = Tracepoints::open(tracing.as_deref(), &cpus, limit, &mut self.found.findings) {
                self.add("tracepoint", source);
            }
        }
    }

    fn recorder(&mut self, archived_bytes: &Arc<AtomicU64>) {
        if self.wanted("recorder") {
            self.add("recorder", Recorder::new(self.roots.proc.join("self/statm"), Arc::clone(archived_bytes)));
        }
    }

    fn add(&mut self, name: &'static str, source: impl MetricSource + 'static) {
        self.found.sources.push((name, Box::new(source)));
    }

    fn wanted(&self, name: &str) -> bool {
        !self.options.disabled.iter().any(|disabled| disabled == name)
    }

    fn table<T: Table + Send + 'static>(
        &mut self,
        name: &'static str,
        path: PathBuf,
        table: T,
        purpose: &str,
        remedy: &str,
    ) {
        self.probed(name, path.clone(), purpose, remedy, || TableFile::new(path, table));
    }

    fn probed<S: MetricSource + 'static>(
        &mut self,
        name: &'static str,
        path: PathBuf,
        purpose: &str,
        remedy: &str,
        make: impl FnOnce() -> S,
    ) {
        if !self.wanted(name) {
            return;
        }
        match crate::file::TextFile::new(path).read() {
            Ok(_) => self.add(name, make()),
            Err(error) => self.missing(name, purpose, &error, remedy),
        }
    }

    fn folder<S: MetricSource + 'static>(
        &mut self,
        name: &'static str,
        path: PathBuf,
        purpose: &str,
        remedy: &str,
        make: impl FnOnce() -> S,
    ) {
        if !self.wanted(name) {
            return;
        }
        match std::fs::read_dir(&path) {
            Ok(_) => self.add(name, make()),
            Err(error) => {
                let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
                self.missing(name, purpose, &SourceError::Read { path, errno }, remedy);
            }
        }
    }

    fn missing(&mut self, name: &str, purpose: &str, error: &SourceError, remedy: &str) {
        self.found.findings.push(Finding::missing(name, purpose, error.to_string(), remedy));
    }
}

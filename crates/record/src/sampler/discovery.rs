//! Which sources this machine has.

use std::path::PathBuf;

use model::preflight::Finding;

use crate::rows::Table;
use crate::source::bdi::Bdi;
use crate::source::buddyinfo::BuddyinfoTable;
use crate::source::diskstats::Diskstats;
use crate::source::ext4::Ext4;
use crate::source::jbd2::Jbd2;
use crate::source::meminfo::MeminfoTable;
use crate::source::mountstats::Mountstats;
use crate::source::pressure::Pressure;
use crate::source::recorder::Recorder;
use crate::source::slabinfo::SlabinfoTable;
use crate::source::stat::{CPU_LIMIT, StatTable};
use crate::source::tracepoint::Tracepoints;
use crate::source::vmstat::VmstatTable;
use crate::source::{Source, SourceError, TableFile, xfs};
use crate::{Options, Roots, SamplerSet, host};

const AS_ROOT: &str = "run as root";
const MOUNT_PROC: &str = "mount procfs";

struct Discovery<'a> {
    set: &'a mut SamplerSet,
    roots: &'a Roots,
    options: &'a Options,
    findings: Vec<Finding>,
}

pub(super) fn discover(set: &mut SamplerSet, roots: &Roots, options: &Options) -> Vec<Finding> {
    let mut discovery = Discovery { set, roots, options, findings: Vec::new() };
    discovery.memory();
    discovery.machine();
    discovery.devices();
    discovery.file_systems();
    discovery.tracepoints();
    discovery.recorder();
    discovery.findings
}

impl Discovery<'_> {
    fn memory(&mut self) {
        let proc = &self.roots.proc;
        self.table("vmstat", proc.join("vmstat"), VmstatTable, "shows reclaim, writeback and compaction", MOUNT_PROC);
        self.table("meminfo", proc.join("meminfo"), MeminfoTable, "shows where memory is", MOUNT_PROC);
        self.table("buddyinfo", proc.join("buddyinfo"), BuddyinfoTable, "shows fragmentation", MOUNT_PROC);
        let slabs = SlabinfoTable::new(&self.roots.sys);
        self.table("slabinfo", proc.join("slabinfo"), slabs, "shows the caches that shrinkers work on", AS_ROOT);
    }

    fn machine(&mut self) {
        let proc = &self.roots.proc;
        self.table("stat", proc.join("stat"), StatTable, "shows CPU time and blocked tasks", MOUNT_PROC);
        let cpus = host::online_cpus(self.roots).len();
        if cpus > CPU_LIMIT as usize {
            self.findings.push(Finding::missing(
                "times of each CPU",
                "shows a single busy CPU",
                format!("{cpus} CPUs; the first {CPU_LIMIT} are recorded, the others in the sum"),
                "none; the sum of all CPUs is complete",
            ));
        }
        if self.wanted("pressure") {
            match Pressure::open(&proc.join("pressure")) {
                Ok(source) => self.set.add("pressure", source),
                Err(error) => self.missing(
                    "pressure",
                    "shows how long tasks waited for CPU, memory and I/O",
                    &error,
                    "use a kernel with CONFIG_PSI, booted with psi=1",
                ),
            }
        }
    }

    fn devices(&mut self) {
        let path = self.roots.proc.join("diskstats");
        let purpose = "shows requests and times of each block device";
        self.probed("diskstats", path.clone(), purpose, MOUNT_PROC, || Diskstats::new(path));
        let path = self.roots.debug.join("bdi");
        let debug = &self.roots.debug;
        let purpose = "shows each device's dirty limit and writeback bandwidth";
        self.folder("bdi", path, purpose, "as root: mount -t debugfs nodev /sys/kernel/debug", || Bdi::new(debug));
    }

    fn file_systems(&mut self) {
        let (proc, sys) = (self.roots.proc.clone(), self.roots.sys.clone());
        let path = proc.join("self/mountstats");
        let purpose = "shows the operations of NFS mounts";
        self.probed("mountstats", path.clone(), purpose, MOUNT_PROC, || Mountstats::new(path));
        if self.wanted("ext4") {
            self.set.add("ext4", Ext4::new(sys.join("fs/ext4")));
        }
        if self.wanted("jbd2") {
            self.set.add("jbd2", Jbd2::new(proc.join("fs/jbd2")));
        }
        if self.wanted("xfs") {
            let old = proc.join("fs/xfs/stat");
            // The folders of ext4, jbd2 and XFS appear when the modules are loaded, perhaps by the run itself.
            match old.is_file() && !sys.join("fs/xfs").is_dir() {
                true => self.set.add("xfs", xfs::global(old)),
                false => self.set.add("xfs", xfs::Xfs::new(sys.join("fs/xfs"))),
            }
        }
    }

    fn tracepoints(&mut self) {
        if self.wanted("tracepoint") {
            let tracing = self.roots.mounted_tracing();
            let cpus = host::online_cpus(self.roots);
            let limit = self.options.tracepoint_cpu_limit;
            if let Some(source) = Tracepoints::open(tracing.as_deref(), &cpus, limit, &mut self.findings) {
                self.set.add("tracepoint", source);
            }
        }
    }

    fn recorder(&mut self) {
        if self.wanted("recorder") {
            let archived_bytes = self.set.archived_bytes.clone();
            self.set.add("recorder", Recorder::new(self.roots.proc.join("self/statm"), archived_bytes));
        }
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

    fn probed<S: Source + 'static>(
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
            Ok(_) => self.set.add(name, make()),
            Err(error) => self.missing(name, purpose, &error, remedy),
        }
    }

    fn folder<S: Source + 'static>(
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
            Ok(_) => self.set.add(name, make()),
            Err(error) => {
                let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
                self.missing(name, purpose, &SourceError::Read { path, errno }, remedy);
            }
        }
    }

    fn missing(&mut self, name: &str, purpose: &str, error: &SourceError, remedy: &str) {
        self.findings.push(Finding::missing(name, purpose, error.to_string(), remedy));
    }
}

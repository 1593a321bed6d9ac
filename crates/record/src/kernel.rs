//! How the running kernel was built and what it forbids: facts that determine what can be recorded.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

use crate::bytes::read_text;
use crate::roots::Roots;

/// Maximum size of a configuration; a longer file is not one.
const LONGEST_CONFIG: u64 = 8 << 20;

/// Options of the configuration, and what depends on them.
const OPTIONS: [(&str, &str); 17] = [
    ("CONFIG_BPF_SYSCALL", "tracing"),
    ("CONFIG_DEBUG_INFO_BTF", "tracing"),
    ("CONFIG_KPROBES", "funclat by kprobe"),
    ("CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS", "funclat by fexit"),
    ("CONFIG_PSI", "pressure"),
    ("CONFIG_TASK_DELAY_ACCT", "task delays"),
    ("CONFIG_MEMCG", "memory cgroup"),
    ("CONFIG_BLK_CGROUP", "disk throttling"),
    ("CONFIG_BLK_DEV_THROTTLING", "disk throttling"),
    ("CONFIG_BLK_DEV_LOOP", "temporary file systems"),
    ("CONFIG_XFS_FS", "temporary file systems"),
    ("CONFIG_EXT4_FS", "temporary file systems"),
    ("CONFIG_BTRFS_FS", "temporary file systems"),
    ("CONFIG_MQ_IOSCHED_DEADLINE", "sweep over schedulers"),
    ("CONFIG_IOSCHED_BFQ", "sweep over schedulers"),
    ("CONFIG_IO_URING", "--engine io_uring"),
    ("CONFIG_BLK_DEV_IO_TRACE", "blktrace(8), input of 'blk'"),
];

/// Settings below /proc/sys, and what depends on them.
const SETTINGS: [(&str, &str); 5] = [
    ("kernel.unprivileged_bpf_disabled", "tracing without root"),
    ("kernel.perf_event_paranoid", "tracepoint counters without root"),
    ("kernel.bpf_stats_enabled", "cost of tracing"),
    ("kernel.task_delayacct", "task delays"),
    ("kernel.sched_schedstats", "scheduler statistics"),
];

/// A fact about the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFact {
    /// The kernel's own name for it.
    pub name: &'static str,
    /// As the kernel spells it: `y`, `m`, `not set`, a number, `integrity`; `None` if unknown.
    pub value: Option<String>,
    /// What depends on it.
    pub affects: &'static str,
}

/// All facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelFacts {
    /// The file of the configuration; `None` if this kernel does not expose it.
    pub config_file: Option<PathBuf>,
    /// In a fixed order.
    pub facts: Vec<KernelFact>,
}

/// Reads the facts of the kernel of that release (`uname -r`).
pub fn facts(roots: &Roots, release: &str) -> KernelFacts {
    let fact = |name, affects, value| KernelFact { name, value, affects };
    let config = config(roots, release);
    let mut facts = vec![
        fact("lockdown", "tracing, funclat, blktrace(8)", lockdown(roots)),
        fact("BTF", "tracing", Some(yes_or_no(&roots.sys.join("kernel/btf/vmlinux")))),
        fact("kprobes", "funclat by kprobe", Some(yes_or_no(&roots.sys.join("bus/event_source/devices/kprobe")))),
        fact("pressure", "pressure", Some(yes_or_no(&roots.proc.join("pressure")))),
        fact("cgroup", "memory cgroup, disk throttling", cgroups(roots)),
    ];
    facts.extend(OPTIONS.map(|(name, affects)| {
        let value = config.as_ref().map(|(_, text)| option(text, name));
        fact(name, affects, value)
    }));
    facts.extend(SETTINGS.map(|(name, affects)| {
        let path = roots.proc.join("sys").join(name.replace('.', "/"));
        fact(name, affects, read_text(path).ok().map(|value| value.trim().to_owned()))
    }));
    KernelFacts { config_file: config.map(|(path, _)| path), facts }
}

fn yes_or_no(path: &Path) -> String {
    if path.exists() { "yes" } else { "no" }.to_owned()
}

/// The mode in brackets: `none [integrity] confidentiality`.
fn lockdown(roots: &Roots) -> Option<String> {
    let modes = read_text(roots.sys.join("kernel/security/lockdown")).ok()?;
    let chosen = modes.split_whitespace().find_map(|mode| mode.strip_prefix('[')?.strip_suffix(']'));
    chosen.map(str::to_owned)
}

/// Versions that are mounted, with the controllers that matter here: `v1: memory blkio`.
fn cgroups(roots: &Roots) -> Option<String> {
    let there = |names: &[&'static str], has: &dyn Fn(&str) -> bool| {
        names.iter().copied().filter(|name| has(name)).collect::<Vec<_>>().join(" ")
    };
    let unified = [roots.cgroup.clone(), roots.cgroup.join("unified")];
    let v2 = unified.iter().find_map(|folder| read_text(folder.join("cgroup.controllers")).ok());
    let v2 = v2.map(|all| there(&["memory", "io"], &|name| all.split_whitespace().any(|word| word == name)));
    let v1 = there(&["memory", "blkio"], &|name| roots.cgroup.join(name).join("cgroup.procs").exists());
    let mounted = [("v1", Some(v1)), ("v2", v2)].map(|(version, controllers)| {
        controllers.filter(|controllers| !controllers.is_empty()).map(|controllers| format!("{version}: {controllers}"))
    });
    let mounted: Vec<String> = mounted.into_iter().flatten().collect();
    (!mounted.is_empty()).then(|| mounted.join("; "))
}

/// The configuration where this kernel or its distribution keeps it.
fn config(roots: &Roots, release: &str) -> Option<(PathBuf, String)> {
    let root = roots.proc.parent().unwrap_or(Path::new("/"));
    let places = [
        roots.proc.join("config.gz"),
        root.join("boot").join(format!("config-{release}")),
        root.join("lib/modules").join(release).join("config"),
    ];
    places.into_iter().find_map(|path| read(&path).ok().map(|text| (path, text)))
}

fn read(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let mut text = String::new();
    if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(file).take(LONGEST_CONFIG).read_to_string(&mut text)?;
    } else {
        file.take(LONGEST_CONFIG).read_to_string(&mut text)?;
    }
    Ok(text)
}

fn option(config: &str, name: &str) -> String {
    let value = config.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or("not set").to_owned()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::{KernelFacts, facts};
    use crate::roots::Roots;

    const CONFIG: &str = "CONFIG_PSI=y\nCONFIG_XFS_FS=m\n# CONFIG_KPROBES is not set\nCONFIG_KPROBES_ON_FTRACE=y\n";

    fn put(root: &Path, path: &str, bytes: &[u8]) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn value(facts: &KernelFacts, name: &str) -> Option<String> {
        facts.facts.iter().find(|fact| fact.name == name).unwrap().value.clone()
    }

    #[test]
    fn facts_that_cannot_be_read_are_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let found = facts(&Roots::below(folder.path()), "6.1");
        assert_eq!(found.config_file, None);
        assert_eq!(
            [value(&found, "CONFIG_PSI"), value(&found, "lockdown"), value(&found, "cgroup")],
            [None, None, None]
        );
        assert_eq!(value(&found, "BTF").as_deref(), Some("no"));
    }

    #[test]
    fn facts_are_as_the_kernel_spells_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, "boot/config-6.1", CONFIG.as_bytes());
        put(root, "sys/kernel/security/lockdown", b"none [integrity] confidentiality\n");
        put(root, "sys/kernel/btf/vmlinux", b"");
        put(root, "proc/sys/kernel/perf_event_paranoid", b"2\n");
        put(root, "sys/fs/cgroup/memory/cgroup.procs", b"");
        put(root, "sys/fs/cgroup/unified/cgroup.controllers", b"hugetlb io\n");
        let found = facts(&Roots::below(root), "6.1");
        assert_eq!(found.config_file, Some(root.join("boot/config-6.1")));
        let check = |name, expected: &str| assert_eq!(value(&found, name).as_deref(), Some(expected), "{name}");
        check("CONFIG_PSI", "y");
        check("CONFIG_XFS_FS", "m");
        check("CONFIG_KPROBES", "not set");
        check("CONFIG_MEMCG", "not set");
        check("lockdown", "integrity");
        check("BTF", "yes");
        check("kernel.perf_event_paranoid", "2");
        check("cgroup", "v1: memory; v2: io");
    }

    #[test]
    fn the_running_kernels_copy_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        put(root, "boot/config-6.1", b"");
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(CONFIG.as_bytes()).unwrap();
        put(root, "proc/config.gz", &packed.finish().unwrap());
        let found = facts(&Roots::below(root), "6.1");
        assert_eq!(value(&found, "CONFIG_XFS_FS").as_deref(), Some("m"));
    }
}

//! Tests on the real kernel. Those that need root are skipped without it, with a message.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use model::metric::MetricId;
use record::{LoadCgroup, Roots, Sample, SamplerOptions, SamplerSet};

/// A recording of this machine, by metric.
struct Recording {
    set: SamplerSet,
    out: Sample,
    next: u32,
    names: HashMap<(String, String), MetricId>,
    values: HashMap<MetricId, Option<i64>>,
}

impl Recording {
    fn start(roots: &Roots, cgroup: Option<LoadCgroup>) -> Recording {
        let (set, findings) = SamplerSet::discover(roots, &SamplerOptions { cgroup, ..SamplerOptions::default() });
        for finding in findings {
            println!("missing here: {}: {:?}", finding.capability, finding.why);
        }
        Recording { set, out: Sample::default(), next: 0, names: HashMap::new(), values: HashMap::new() }
    }

    fn sample(&mut self) {
        self.set.sample(self.next, &mut self.out);
        self.next += 1;
        for descriptor in &self.out.new_descriptors {
            self.names.insert((descriptor.name.clone(), descriptor.instance.clone()), descriptor.id);
        }
        self.values.extend(self.out.changes.iter().map(|change| (change.metric, change.value)));
    }

    fn value(&self, name: &str, instance: &str) -> Option<i64> {
        let id = self.names.get(&(name.to_owned(), instance.to_owned()))?;
        self.values.get(id).copied().flatten()
    }
}

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: this test makes cgroups and mounts, and needs root");
    }
    root
}

fn run(command: &str, arguments: &[&str]) -> bool {
    Command::new(command).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[test]
fn counters_of_this_machine_grow() {
    let mut recording = Recording::start(&Roots::default(), None);
    recording.sample();
    let names = ["vmstat.pgfault", "stat.ctxt", "recorder.cpu_ns"];
    let before = names.map(|name| recording.value(name, ""));
    // New memory causes faults, and another process causes context switches.
    let memory = vec![1u8; 4 << 20];
    assert!(run("true", &[]) && memory[5] == 1);
    recording.sample();
    for (name, before) in names.into_iter().zip(before) {
        assert!(before.is_some() && recording.value(name, "") > before, "{name}: {before:?}");
    }
    assert!(recording.value("recorder.resident_kib", "").is_some_and(|kib| kib > 100));
}

#[test]
fn this_machine_is_described() {
    let host = record::host::host(&Roots::default());
    assert!(host.cpus > 0 && host.memory_bytes > 0 && !host.kernel_release.is_empty(), "{host:?}");
    assert!(host.sysctl.iter().any(|(name, _)| name == "vm.dirty_background_ratio"), "{host:?}");
    let mounts = record::host::mounts(&Roots::default());
    assert!(mounts.iter().any(|mount| mount.point == "/proc" && mount.fs_type == "proc"));
}

/// A memory cgroup, removed when dropped.
struct MemoryCgroup(PathBuf);

impl MemoryCgroup {
    fn v1(limit_bytes: u64) -> Option<MemoryCgroup> {
        let hierarchy = Path::new("/sys/fs/cgroup/memory");
        if !hierarchy.join("memory.usage_in_bytes").exists() {
            println!("skipped: no memory cgroup of version 1 here");
            return None;
        }
        let folder = hierarchy.join(format!("stallscope-test-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let cgroup = MemoryCgroup(folder);
        fs::write(cgroup.0.join("memory.limit_in_bytes"), limit_bytes.to_string()).unwrap();
        Some(cgroup)
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        // A group whose last process has just ended may still be busy for a moment.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} is left behind", self.0.display());
    }
}

/// A kernel file system mounted for one test.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(fs_type: &str) -> Option<Mounted> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = run("mount", &["-t", fs_type, "nodev", folder.path().to_str().unwrap()]);
        mounted.then_some(Mounted(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[self.0.path().to_str().expect("paths of tests are UTF-8")]);
    }
}

#[test]
fn reclaim_in_a_cgroup_is_counted() {
    if !is_root() {
        return;
    }
    let Some(cgroup) = MemoryCgroup::v1(32 << 20) else { return };
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let load_cgroup =
        LoadCgroup { label: "box".to_owned(), memory_v1: Some(cgroup.0.clone()), ..LoadCgroup::default() };
    let tracing = Mounted::new("tracefs");
    let mut roots = Roots::default();
    if let Some(tracing) = &tracing {
        roots.tracing = tracing.0.path().to_owned();
    }
    let mut recording = Recording::start(&roots, Some(load_cgroup));
    recording.sample();
    let reclaim = "tracepoint.vmscan.mm_vmscan_memcg_reclaim_begin";
    let before = (recording.value(reclaim, ""), recording.value("cgroup.memory.failcnt", "box"));
    // Synced: reclaim finds clean pages, and the OOM killer is not invoked.
    let script = format!(
        "echo $$ > {}/cgroup.procs && exec dd if=/dev/zero of={}/filler bs=1M count=96 oflag=dsync",
        cgroup.0.display(),
        folder.path().display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    recording.sample();
    assert!(recording.value("cgroup.memory.failcnt", "box") > before.1, "{before:?}");
    match before.0 {
        Some(count) => assert!(recording.value(reclaim, "") > Some(count), "{count}"),
        None => println!("skipped: tracepoints cannot be counted here"),
    }
}

/// An ext4 file system in a file, unmounted when dropped.
struct Image {
    folder: tempfile::TempDir,
}

impl Image {
    fn mounted() -> Option<Image> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let image = Image { folder };
        fs::create_dir(image.point()).unwrap();
        fs::File::create(image.file()).unwrap().set_len(64 << 20).unwrap();
        let (file, point) = (image.file(), image.point());
        let (file, point) = (file.to_str().unwrap(), point.to_str().unwrap());
        if run("mkfs.ext4", &["-q", "-F", file]) && run("mount", &["-o", "loop", file, point]) {
            return Some(image);
        }
        println!("skipped: no mkfs.ext4, or no loop devices here");
        None
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn point(&self) -> PathBuf {
        self.folder.path().join("mount")
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        run("umount", &[self.point().to_str().expect("paths of tests are UTF-8")]);
    }
}

#[test]
fn a_file_system_that_comes_and_goes() {
    if !is_root() {
        return;
    }
    let mut recording = Recording::start(&Roots::default(), None);
    recording.sample();
    let Some(image) = Image::mounted() else { return };
    let identity = image.file().canonicalize().unwrap().to_str().unwrap().to_owned();
    recording.sample();
    let names = ["diskstats.write_ios", "ext4.session_write_kbytes", "jbd2.transactions"];
    let before = names.map(|name| recording.value(name, &identity));
    fs::write(image.point().join("file"), vec![7; 1 << 20]).unwrap();
    fs::File::open(image.point().join("file")).unwrap().sync_all().unwrap();
    recording.sample();
    for (name, before) in names.into_iter().zip(before) {
        assert!(before.is_some() && recording.value(name, &identity) > before, "{name}: {before:?}");
    }
    drop(image);
    // Without I/O a detached device is noticed in rotation; and a process that reads the device holds it for a moment.
    let begin = Instant::now();
    while let Some(name) = names.iter().find(|name| recording.value(name, &identity).is_some()) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{name} is still recorded");
        recording.sample();
        std::thread::sleep(Duration::from_millis(5));
    }
}

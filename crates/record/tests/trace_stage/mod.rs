//! File systems on loop devices for the tracer's tests, and the tracer around a command. All of it is removed
//! afterwards.
#![allow(dead_code)] // Not every test file uses all of it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use model::stall::{StallKind, StallRecord, TraceSettings, Traced};
use record::{BlockedNow, LostEvents, Roots, TraceOptions, Tracing, clock};

/// A file system on a loop device backed by memory.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    device: Option<String>,
}

impl Stage {
    /// `None` where this machine allows no mounts; as root it does.
    pub(crate) fn new(make: &[&str], mebibytes: u64) -> Option<Stage> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: not root");
            return None;
        }
        let mut stage = Stage { folder: tempfile::tempdir().unwrap(), device: None };
        for name in ["memory", "mounted"] {
            std::fs::create_dir(stage.path(name)).unwrap();
        }
        run("mount", &["-t", "tmpfs", "-o", "size=2g", "none", &stage.name("memory")]);
        let image = stage.name("memory/image");
        run("truncate", &["-s", &(mebibytes << 20).to_string(), &image]);
        if let [program, options @ ..] = make {
            run(program, &[options, &[image.as_str()]].concat());
        }
        let attached = Command::new("losetup").args(["--find", "--show", &image]).output().unwrap();
        assert!(attached.status.success(), "{attached:?}");
        let device = String::from_utf8(attached.stdout).unwrap().trim().to_owned();
        stage.device = Some(device.clone());
        if !make.is_empty() {
            run("mount", &[&device, &stage.name("mounted")]);
        }
        Some(stage)
    }

    pub(crate) fn xfs() -> Option<Stage> {
        Stage::new(&["mkfs.xfs", "-q"], 512)
    }

    pub(crate) fn ext4() -> Option<Stage> {
        Stage::new(&["mkfs.ext4", "-q", "-F"], 512)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn name(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Where the file system is mounted.
    pub(crate) fn mounted(&self) -> String {
        self.name("mounted")
    }

    /// Remounts it, which drops its caches.
    pub(crate) fn remount(&self) {
        run("umount", &[&self.mounted()]);
        run("mount", &[self.device(), &self.mounted()]);
    }

    /// `/dev/loop3`.
    pub(crate) fn device(&self) -> &str {
        self.device.as_deref().unwrap()
    }

    /// `7:3`.
    pub(crate) fn number(&self) -> String {
        number(self.device())
    }
}

fn number(device: &str) -> String {
    let name = device.trim_start_matches("/dev/");
    std::fs::read_to_string(format!("/sys/block/{name}/dev")).unwrap().trim().to_owned()
}

/// A loop device on the device of a stage, without a file system between them, which it reads and writes by direct I/O.
pub(crate) struct Upper(String);

impl Upper {
    pub(crate) fn new(stage: &Stage) -> Upper {
        let attach = ["--find", "--show", "--direct-io=on", stage.device()];
        let attached = Command::new("losetup").args(attach).output().unwrap();
        assert!(attached.status.success(), "{attached:?}");
        Upper(String::from_utf8(attached.stdout).unwrap().trim().to_owned())
    }

    /// `/dev/loop4`.
    pub(crate) fn device(&self) -> &str {
        &self.0
    }

    /// `7:4`.
    pub(crate) fn number(&self) -> String {
        number(self.device())
    }
}

impl Drop for Upper {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", self.device()]).status();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let quietly = |program: &str, arguments: &[&str]| {
            let _ = Command::new(program).args(arguments).stderr(std::process::Stdio::null()).status();
        };
        quietly("umount", &[&self.name("mounted")]);
        if let Some(device) = &self.device {
            quietly("losetup", &["--detach", device]);
        }
        quietly("umount", &[&self.name("memory")]);
    }
}

/// A cgroup of version 1, removed when dropped.
pub(crate) struct Group(PathBuf);

impl Group {
    pub(crate) fn new(controller: &str, settings: &[(&str, &str)]) -> Option<Group> {
        let parent = PathBuf::from("/sys/fs/cgroup").join(controller);
        if !parent.join("tasks").exists() {
            println!("skipped: no {controller} controller of cgroup version 1");
            return None;
        }
        let group =
            Group(parent.join(format!("stallscope-trace-test-{}-{}", std::process::id(), clock::monotonic_ns())));
        std::fs::create_dir(&group.0).unwrap();
        for (name, value) in settings {
            std::fs::write(group.0.join(name), value).unwrap();
        }
        Some(group)
    }

    /// The shell commands that move the shell into the group.
    pub(crate) fn enter(&self) -> String {
        format!("echo $$ > {}/tasks; ", self.0.display())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..50 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

pub(crate) fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What was seen while a shell's command ran.
pub(crate) struct Seen {
    pub(crate) traced: Traced,
    pub(crate) lost: Vec<LostEvents>,
    /// Each task that was blocked at a poll, once for each poll.
    pub(crate) blocked: Vec<BlockedNow>,
    /// The shell, and the program that it executed.
    pub(crate) shell: u32,
}

/// Everything, however short.
pub(crate) fn all_of_it(all_requests: bool) -> TraceOptions {
    TraceOptions {
        settings: TraceSettings { slow_ns: 1, interval_ns: 1, all_requests },
        user_stacks: false,
        blocked_ns: 1_000_000_000,
        follow: Vec::new(),
    }
}

/// Waits of at least 20 us: shorter ones would fill the ring on a slow machine.
pub(crate) fn most_of_it() -> TraceOptions {
    let settings = TraceSettings { slow_ns: 100_000, interval_ns: 20_000, all_requests: false };
    TraceOptions { settings, ..all_of_it(false) }
}

/// Traces while the shell runs. `None` where there is no BPF.
pub(crate) fn trace(options: &TraceOptions, command: &str) -> Option<Seen> {
    trace_and_look(options, command, |_| ())
}

/// Also passes the blocked tasks of each poll.
pub(crate) fn trace_and_look(
    options: &TraceOptions,
    command: &str,
    mut look: impl FnMut(&[BlockedNow]),
) -> Option<Seen> {
    let (mut tracing, findings) = Tracing::open(&Roots::default(), options);
    if !tracing.is_tracing() {
        println!("skipped: {}", findings.last().and_then(|finding| finding.why.clone()).unwrap_or_default());
        return None;
    }
    // The programs for early kernels make no sums, and follow no loop devices and commands.
    if let Some(why) =
        findings.iter().find_map(|finding| finding.why.as_ref().filter(|why| why.contains("older than Linux 5.17")))
    {
        println!("skipped: {why}");
        return None;
    }
    // The kernels of `make test-vm` lack some sources; suite `vm` has a test of how that is said.
    let may_lack = |why: &Option<String>| {
        let of_kernel = why.as_deref().is_some_and(|why| why.contains("no tracepoint") || why.contains("older than"));
        of_kernel && std::env::var_os("STALLSCOPE_VM").is_some()
    };
    let missing: Vec<_> = findings.iter().filter(|finding| !finding.available && !may_lack(&finding.why)).collect();
    assert!(missing.is_empty() || !rustix::process::geteuid().is_root(), "{missing:?}");
    let mut traced = Traced::default();
    let (mut blocked, mut polls) = (Vec::new(), 0u32);
    let mut shell = Command::new("sh").args(["-c", command]).spawn().unwrap();
    while shell.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(10));
        tracing.poll(&mut traced);
        polls += 1;
        if polls.is_multiple_of(30) {
            let now = tracing.interval(clock::monotonic_ns(), &mut traced);
            look(&now);
            blocked.extend(now);
        }
    }
    tracing.finish(clock::monotonic_ns(), &mut traced);
    Some(Seen { traced, lost: tracing.lost(), blocked, shell: shell.id() })
}

impl Seen {
    /// Rows of a kind and tracepoint.
    pub(crate) fn of(&self, kind: StallKind, tracepoint: &str) -> Vec<&StallRecord> {
        let wanted = |row: &&StallRecord| row.kind == kind && row.tracepoint.as_deref() == Some(tracepoint);
        self.traced.stalls.iter().filter(wanted).collect()
    }

    /// The details of such rows.
    pub(crate) fn details(&self, kind: StallKind, tracepoint: &str) -> Vec<String> {
        self.of(kind, tracepoint).iter().filter_map(|row| row.detail.as_ref()).map(ToString::to_string).collect()
    }

    pub(crate) fn stack(&self, number: Option<u32>) -> String {
        let stack = self.traced.stacks.iter().find(|stack| Some(stack.stack) == number);
        stack.map(|stack| stack.frames.join(" < ")).unwrap_or_default()
    }
}

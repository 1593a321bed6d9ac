//! What happens to a machine under a recording: the recorder is stopped for a while, its cgroup is removed, the disk of
//! its archive is unmounted, pulled out, becomes read-only or full; disks and cgroups come and go.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::aftermath::{ask, last_line};
use crate::disk::{Mounted, RecordedDisk, output};
use crate::report::Report;
use crate::victim::program;

const DISK_BYTES: usize = 64 << 20;
/// No recording of 4 s takes longer to end.
const LIMIT: Duration = Duration::from_secs(30);

/// What is done to a recorder whose archive is on a tmpfs of its own.
type Disturbance = fn(&Child, &Path);

const DISTURBANCES: &[(&str, Disturbance)] = &[
    ("nothing", |_, _| {}),
    ("stopped for 2 s", |recorder, _| {
        signal(recorder, "STOP");
        std::thread::sleep(Duration::from_secs(2));
        signal(recorder, "CONT");
    }),
    ("stopped and continued 200 times", |recorder, _| {
        for _ in 0..200 {
            signal(recorder, "STOP");
            signal(recorder, "CONT");
        }
    }),
    ("the archive's file system is unmounted", |_, place| tool("umount", &["-l", &text(place)])),
    ("the archive's file system becomes read-only", |_, place| tool("mount", &["-o", "remount,ro", &text(place)])),
    ("the archive's file system is full", |_, place| {
        let _ = fs::write(place.join("ballast"), vec![1; 64 << 20]);
    }),
    ("the archive is removed", |_, place| {
        let _ = fs::remove_dir_all(place.join("run"));
    }),
    ("the archive is moved", |_, place| {
        let _ = fs::rename(place.join("run"), place.join("moved"));
    }),
    ("its cgroup is removed", |recorder, _| empty_cgroups_of(recorder.id())),
    ("disks come and go", |_, _| come_and_go()),
    ("cgroups come and go", |_, _| cgroups_come_and_go()),
];

pub fn campaign() -> Report {
    let mut report = Report::default();
    for (name, disturb) in DISTURBANCES {
        println!("{name}");
        report.tried("disturbances");
        let problems = suffer(*disturb);
        problems.into_iter().for_each(|problem| report.finding(format!("{name}: {problem}")));
    }
    println!("the archive's disk is pulled out");
    report.tried("disturbances");
    pulled_out().into_iter().for_each(|problem| report.finding(format!("the archive's disk is pulled out: {problem}")));
    report
}

/// Disturbs a recording whose archive is on a tmpfs, and returns what is wrong with its end.
fn suffer(disturb: Disturbance) -> Vec<String> {
    let home = crate::remains::folder();
    let place = home.path().join("place");
    fs::create_dir(&place).expect("a folder can be made");
    tool("mount", &["-t", "tmpfs", "-o", "size=48m", "none", &text(&place)]);
    let problems = recorded(&place, |recorder| disturb(recorder, &place));
    tool("umount", &["-l", &text(&place)]);
    problems
}

/// Records on a disk of its own that is pulled out meanwhile.
fn pulled_out() -> Vec<String> {
    let home = crate::remains::folder();
    let place = home.path().join("place");
    let disk = match RecordedDisk::new(DISK_BYTES) {
        Ok(disk) => disk,
        Err(error) => return vec![format!("no disk: {error}")],
    };
    let made = output("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", disk.device()]);
    match made.and_then(|_| Mounted::device(disk.device(), &place)) {
        Ok(mounted) => {
            let problems = recorded(&place, |_| disk.pull_out());
            drop(mounted);
            problems
        }
        Err(error) => vec![format!("no file system: {error}")],
    }
}

/// Disks appear, are read and vanish while it records them.
fn come_and_go() {
    let home = crate::remains::folder();
    let image = home.path().join("image");
    fs::write(&image, vec![7; 1 << 20]).expect("a file can be written");
    for _ in 0..20 {
        let Ok(device) = output("losetup", &["--find", "--show", &text(&image)]) else { continue };
        let _ = output("dd", &[&format!("if={device}"), "of=/dev/null", "bs=64k", "iflag=direct", "status=none"]);
        let _ = output("losetup", &["--detach", &device]);
    }
}

/// Cgroups appear and vanish while it records them.
fn cgroups_come_and_go() {
    for round in 0..20 {
        let made = crate::ceilings::Cgroups::new(&format!("torture-{}-{round}", std::process::id()), 20);
        drop(made);
    }
}

/// Records into a folder, with a disturbance after 1.2 s, and returns what is wrong with its end.
fn recorded(place: &Path, disturb: impl FnOnce(&Child)) -> Vec<String> {
    let home = crate::remains::folder();
    let out = place.join("run");
    let stderr = home.path().join("stderr");
    let mut command = Command::new(program());
    command.args("record --memory 64m --interval 100ms --runtime 4s -q --out".split(' ')).arg(&out);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(fs::File::create(&stderr).expect("a file can be made"));
    let mut recorder = command.spawn().expect("the program starts");
    let began = Instant::now();
    while !out.join("run.json").exists() && began.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(1200));
    disturb(&recorder);
    let code = wait(&mut recorder);
    let said = fs::read_to_string(&stderr).unwrap_or_default();
    let mut problems = problems(code, &said, &[out, place.join("moved")]);
    let (register, pid) = (rig::Register::open().err(), recorder.id());
    problems.extend(register.map(|error| format!("the next start fails: {error}")));
    let left = fs::read_dir("/run/stallscope").into_iter().flatten().flatten().map(|entry| entry.file_name());
    problems.extend(
        left.filter(|name| name.to_string_lossy().starts_with(&format!("{pid}-")))
            .map(|name| format!("left: {name:?}")),
    );
    problems
}

fn problems(code: Option<i32>, said: &str, places: &[std::path::PathBuf]) -> Vec<String> {
    let mut problems = Vec::new();
    match code {
        None => problems.push(format!("hung for {LIMIT:?}")),
        Some(0) => {}
        Some(1..=3) if !said.trim().is_empty() => println!("    {}", last_line(said)),
        Some(code) => problems.push(format!("code {code}: {}", last_line(said))),
    }
    problems.extend(said.contains("panicked").then(|| said.to_owned()));
    for run in places.iter().filter(|run| run.join("run.json").exists()) {
        for words in [["check", "--json"], ["show", "--json"], ["explain", "--json"]] {
            let answer = ask(&words, run);
            problems.extend(answer.broken().map(|problem| format!("{}: {problem}", words[0])));
            let lost = code == Some(0) && answer.code != Some(0) && said.trim().is_empty();
            problems.extend(lost.then(|| format!("{}: code {:?} after a silent end with 0", words[0], answer.code)));
        }
    }
    problems
}

fn wait(recorder: &mut Child) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let began = Instant::now();
    loop {
        if let Some(status) = recorder.try_wait().expect("a child can be waited for") {
            return status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        }
        if began.elapsed() > LIMIT {
            let _ = recorder.kill();
            let _ = recorder.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Removes the cgroups of a recording, which hold no process as long as it has no command.
fn empty_cgroups_of(pid: u32) {
    let found = rig::Hierarchies::detect(&rig::Roots::default()).ok();
    let parents = found.into_iter().flat_map(|all| [all.memory, all.blkio, all.unified]).flatten();
    for parent in parents.flat_map(|hierarchy| [hierarchy.own, hierarchy.mount]) {
        for child in fs::read_dir(parent).into_iter().flatten().flatten() {
            if child.file_name().to_string_lossy().starts_with(&format!("stallscope-{pid}-")) {
                let _ = fs::remove_dir(child.path());
            }
        }
    }
}

fn signal(recorder: &Child, name: &str) {
    tool("kill", &["-s", name, &recorder.id().to_string()]);
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn tool(program: &str, arguments: &[&str]) {
    let _ = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).status();
}

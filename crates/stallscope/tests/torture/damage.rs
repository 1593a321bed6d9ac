//! Truncations and bit flips of the files of a run: nothing is shown as whole that differs from the original.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::Plan;
use crate::aftermath::{Answer, ask, last_line};
use crate::calls::{self, Known};
use crate::every_byte;
use crate::pool::side_by_side;
use crate::random::Random;
use crate::remains;
use crate::report::Report;
use crate::victim::{Scene, VICTIMS, Verdict};

const COMMANDS: [[&str; 2]; 2] = [["show", "--json"], ["explain", "--json"]];

/// Damages a closed run and one that was cut off, at that number of places each.
pub fn campaign(plan: &Plan) -> Report {
    let mut report = Report::default();
    let traced = VICTIMS.iter().find(|victim| victim.name == "traced").expect("a victim is traced");
    for (name, kill_after_flush) in [("closed", false), ("cut off", true)] {
        let scene = Scene::new(*traced);
        if let Err(error) = recorded(&scene, kill_after_flush) {
            report.finding(format!("no run to damage: {error}"));
            continue;
        }
        let original = Original::of(&scene.folder().join("run"));
        if let Some(flips) = plan.flips {
            // They do not sleep.
            let at_a_time = std::thread::available_parallelism().map_or(1, usize::from).min(plan.at_a_time);
            report.add(every_byte::campaign(name, &original.files, flips / 2, plan.seed, at_a_time));
            continue;
        }
        let mut random = Random::new(plan.seed);
        let damages: Vec<Damage> = (0..plan.points).map(|_| original.choose(&mut random)).collect();
        side_by_side(plan.at_a_time, &damages, &mut report, |damage| original.suffer(name, damage));
    }
    report
}

/// Records a run, closed or killed after its first flush.
fn recorded(scene: &Scene, killed: bool) -> std::io::Result<()> {
    let mut syncs = 0;
    let judge = |_: i32, call: &crate::sys::Call, program: i32| {
        syncs += u64::from(call.number == libc::SYS_fdatasync);
        let flushed = scene.folder().join("run/recent-0001").metadata().map_or(0, |file| file.len());
        if killed && syncs > 3 && flushed > 0 { Verdict::KillBefore(program) } else { Verdict::Pass }
    };
    let course = scene.attack(Duration::from_secs(60), syncs_of(), judge)?;
    let expected = if killed { 128 + libc::SIGKILL } else { 0 };
    match course.code == expected {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("code {}: {}", course.code, course.stderr))),
    }
}

fn syncs_of() -> impl Iterator<Item = &'static Known> {
    calls::CALLS.iter().filter(|known| known.number == libc::SYS_fdatasync)
}

/// A change of one file.
struct Damage {
    /// Its place among the files.
    file: usize,
    what: What,
}

enum What {
    Truncate(usize),
    Flip(usize, u8),
}

/// A run, its files, and what is said of it.
struct Original {
    files: Vec<(OsString, Vec<u8>)>,
    answers: Vec<Answer>,
}

impl Original {
    fn of(run: &Path) -> Original {
        let paths = fs::read_dir(run).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut files: Vec<(OsString, Vec<u8>)> =
            paths.filter_map(|path| Some((path.file_name()?.to_owned(), fs::read(&path).ok()?))).collect();
        files.sort();
        let answers = COMMANDS.iter().map(|words| said(words, run)).collect();
        Original { files, answers }
    }

    /// Each file as often as any other, since the small ones say what the large ones mean.
    fn choose(&self, random: &mut Random) -> Damage {
        // `reserve` holds no data.
        let files: Vec<usize> = (0..self.files.len())
            .filter(|at| self.files[*at].0 != "reserve" && !self.files[*at].1.is_empty())
            .collect();
        let file = files[random.below(files.len() as u64) as usize];
        let bytes = &self.files[file].1;
        let at = random.below(bytes.len() as u64) as usize;
        let what = match random.below(3) {
            0 => What::Truncate(at),
            _ => What::Flip(at, 1 << random.below(8)),
        };
        Damage { file, what }
    }

    /// A copy of the run on a file system in memory is damaged, beside other copies.
    fn suffer(&self, kind: &str, damage: &Damage) -> Report {
        let mut report = Report::default();
        let (file, whole) = &self.files[damage.file];
        let (mut bytes, file) = (whole.clone(), file.to_string_lossy());
        let name = match damage.what {
            What::Truncate(at) => {
                bytes.truncate(at);
                format!("{kind} run, {file} truncated at {at} of {}", whole.len())
            }
            What::Flip(at, bit) => {
                bytes[at] ^= bit;
                format!("{kind} run, {file} at {at}: bit {bit:#x}")
            }
        };
        let copy = remains::folder_in("/dev/shm".as_ref());
        let run = copy.path().join("run");
        fs::create_dir(&run).expect("a folder can be made");
        for (at, (name, content)) in self.files.iter().enumerate() {
            let content = if at == damage.file { &bytes } else { content };
            fs::write(run.join(name), content).expect("a file can be written");
        }
        report.tried(format!(
            "{} of a {kind} run",
            if matches!(damage.what, What::Flip(..)) { "bit flips" } else { "truncations" }
        ));
        for (words, original) in COMMANDS.iter().zip(&self.answers) {
            let problem = misread(&said(words, &run), original);
            problem.into_iter().for_each(|problem| report.finding(format!("{name}: {}: {problem}", words[0])));
        }
        report
    }
}

/// A command's answer, without the size and the place of the run's files: those do change.
fn said(words: &[&str], run: &Path) -> Answer {
    let mut answer = ask(words, run);
    let lines = answer.stdout.split_inclusive(|byte| *byte == b'\n');
    let is_size = |line: &&[u8]| line.windows(15).any(|window| window == b"\"archive_bytes\"");
    let text = String::from_utf8_lossy(&lines.filter(|line| !is_size(line)).collect::<Vec<_>>().concat()).into_owned();
    answer.stdout = text.replace(&run.display().to_string(), "RUN").into_bytes();
    answer
}

/// Why an answer of a damaged run is wrong.
fn misread(answer: &Answer, original: &Answer) -> Option<String> {
    if let Some(broken) = answer.broken() {
        return Some(broken);
    }
    match answer.code {
        Some(0) if answer.stdout != original.stdout => Some("exit code 0, and it differs from the original".into()),
        Some(1) if answer.document()["complete"] != false => Some("exit code 1 without \"complete\": false".into()),
        // That the end is missing is true of each run that was cut off: it must say which damage, or that it ends
        // earlier.
        Some(1) if answer.stdout != original.stdout && !answer.has_damage() && answer.end_ns() >= original.end_ns() => {
            Some("it differs from the original, and no damage is named".into())
        }
        Some(2 | 3) if !answer.stdout.is_empty() => {
            Some(format!("an error and an answer: {}", last_line(&answer.stderr)))
        }
        _ => None,
    }
}

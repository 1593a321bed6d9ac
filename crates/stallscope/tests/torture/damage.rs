//! Truncations and bit flips of the files of a run: nothing is shown as whole that differs from the original.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::aftermath::{Answer, ask, last_line};
use crate::random::Random;
use crate::report::Report;
use crate::victim::{Scene, VICTIMS, Verdict};

const COMMANDS: [[&str; 2]; 2] = [["show", "--json"], ["explain", "--json"]];

/// Damages a closed run and one that was cut off, at that number of places each.
pub fn campaign(seed: u64, points: u64) -> Report {
    let mut report = Report::default();
    let traced = VICTIMS.iter().find(|victim| victim.name == "traced").expect("a victim is traced");
    for (name, kill_after_flush) in [("closed", false), ("cut off", true)] {
        let scene = Scene::new(*traced);
        if let Err(error) = recorded(&scene, kill_after_flush) {
            report.finding(format!("no run to damage: {error}"));
            continue;
        }
        let original = Original::of(&scene.folder().join("run"));
        let mut random = Random::new(seed);
        for _ in 0..points {
            let damage = original.choose(&mut random);
            original.suffer(name, &damage, &mut report);
        }
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
    let course = scene.attack(Duration::from_secs(60), judge)?;
    let expected = if killed { 128 + libc::SIGKILL } else { 0 };
    match course.code == expected {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("code {}: {}", course.code, course.stderr))),
    }
}

/// A change of one file.
struct Damage {
    file: PathBuf,
    what: What,
}

enum What {
    Truncate(usize),
    Flip(usize, u8),
}

/// A run, its files, and what is said of it.
struct Original {
    run: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
    answers: Vec<Answer>,
}

impl Original {
    fn of(run: &Path) -> Original {
        let paths = fs::read_dir(run).into_iter().flatten().flatten().map(|entry| entry.path());
        // `reserve` holds no data.
        let mut files: Vec<(PathBuf, Vec<u8>)> = paths
            .filter(|path| !path.ends_with("reserve"))
            .filter_map(|path| Some((path.clone(), fs::read(&path).ok().filter(|bytes| !bytes.is_empty())?)))
            .collect();
        files.sort();
        let answers = COMMANDS.iter().map(|words| said(words, run)).collect();
        Original { run: run.to_owned(), files, answers }
    }

    /// Each file as often as any other, since the small ones say what the large ones mean.
    fn choose(&self, random: &mut Random) -> Damage {
        let (file, bytes) = &self.files[random.below(self.files.len() as u64) as usize];
        let at = random.below(bytes.len() as u64) as usize;
        let what = match random.below(3) {
            0 => What::Truncate(at),
            _ => What::Flip(at, 1 << random.below(8)),
        };
        Damage { file: file.clone(), what }
    }

    fn suffer(&self, kind: &str, damage: &Damage, report: &mut Report) {
        let (_, whole) = self.files.iter().find(|(path, _)| *path == damage.file).expect("it was chosen");
        let mut bytes = whole.clone();
        let file = damage.file.file_name().unwrap_or_default().to_string_lossy();
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
        fs::write(&damage.file, bytes).expect("the run can be damaged");
        report.tried(format!(
            "{} of a {kind} run",
            if matches!(damage.what, What::Flip(..)) { "bit flips" } else { "truncations" }
        ));
        for (words, original) in COMMANDS.iter().zip(&self.answers) {
            let problem = misread(&said(words, &self.run), original);
            problem.into_iter().for_each(|problem| report.finding(format!("{name}: {}: {problem}", words[0])));
        }
        fs::write(&damage.file, whole).expect("the damage can be undone");
    }
}

/// A command's answer, without the size of the run's files: that does change.
fn said(words: &[&str], run: &Path) -> Answer {
    let mut answer = ask(words, run);
    let lines = answer.stdout.split_inclusive(|byte| *byte == b'\n');
    let is_size = |line: &&[u8]| line.windows(15).any(|window| window == b"\"archive_bytes\"");
    answer.stdout = lines.filter(|line| !is_size(line)).collect::<Vec<_>>().concat();
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
        // That the end is missing is true of each run that was cut off: it must say which damage, or that it ends earlier.
        Some(1) if answer.stdout != original.stdout && !answer.has_damage() && answer.end_ns() >= original.end_ns() => {
            Some("it differs from the original, and no damage is named".into())
        }
        Some(2 | 3) if !answer.stdout.is_empty() => {
            Some(format!("an error and an answer: {}", last_line(&answer.stderr)))
        }
        _ => None,
    }
}

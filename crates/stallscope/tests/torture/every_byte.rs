//! Truncations at every byte of a run's files, and flips of bits, answered by the program's own readers in this
//! process.
//!
//! Each worker has a copy of the run in memory, damages a file of it in place, asks, and restores it. Damage that is
//! named when a run is opened is in every answer, whose exit code is then 1, since all have it from there; whether they
//! can be made at all is tried at some of these points.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use explain::blame::Scope;
use remedy::Remedies;
use serde_json::Value;

use crate::aftermath::ask;
use crate::random::Random;
use crate::reading::answer::{Explained, Question, Shown};
use crate::reading::archived_run;
use crate::reading::explanation::STALLS_LISTED;
use crate::remains;
use crate::report::Report;

/// No answer takes longer, of a build without optimization beside other work.
const LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(200);
const SAY_EVERY: Duration = Duration::from_secs(15);
/// The program itself is asked at one point of so many, and must have the same exit code.
const PROGRAM_EVERY: usize = 5_000;
/// Of points whose damage is named when the run is opened, one of so many is answered in full.
const FULL_EVERY: usize = 17;
/// Findings that are listed.
const MOST: usize = 50;
const VERBS: [&str; 2] = ["show", "explain"];

/// A run's files, by name.
pub type Files = [(OsString, Vec<u8>)];

/// A change of one file.
#[derive(Debug, Clone, Copy)]
enum Damage {
    Truncate(usize),
    Flip(usize, u8),
}

/// What is said of a run.
struct Said {
    code: u8,
    /// Null with an error.
    document: Value,
}

/// Truncates each file at each byte, and flips that many bits of all files, chosen by the seed.
pub fn campaign(kind: &'static str, files: &Files, flips: u64, seed: u64, at_a_time: usize) -> Report {
    let mut report = Report::default();
    let points = points(files, flips, seed);
    report.note(format!("{kind} run: {} bytes in {} files", bytes_of(files), files.len()));
    let home = remains::folder_in("/dev/shm".as_ref());
    let originals = match Worker::new(home.path().join("original"), files).and_then(|worker| originals(&worker)) {
        Ok(originals) => originals,
        Err(why) => {
            report.finding(format!("{kind} run: {why}"));
            return report;
        }
    };
    let shared = Shared { kind, files, points, originals, next: AtomicUsize::new(0), report: Mutex::new(report) };
    let busy: Vec<Mutex<Option<(Instant, usize)>>> = (0..at_a_time).map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        let start = |(number, busy)| {
            let (place, shared) = (home.path().join(format!("{number}")), &shared);
            scope.spawn(move || shared.work(place, busy))
        };
        let workers: Vec<_> = busy.iter().enumerate().map(start).collect();
        let mut said = Instant::now();
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(POLL);
            shared.end_if_one_hangs(&busy);
            if said.elapsed() > SAY_EVERY {
                said = Instant::now();
                println!("{} of {}", shared.next.load(Ordering::Relaxed), shared.points.len());
            }
        }
    });
    shared.report.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// `reserve` holds no data.
fn is_read(name: &OsString) -> bool {
    name != "reserve"
}

fn bytes_of(files: &Files) -> usize {
    files.iter().filter(|(name, _)| is_read(name)).map(|(_, bytes)| bytes.len()).sum()
}

fn points(files: &Files, flips: u64, seed: u64) -> Vec<(usize, Damage)> {
    let read = || files.iter().enumerate().filter(|(_, (name, _))| is_read(name));
    let mut points: Vec<(usize, Damage)> =
        read().flat_map(|(file, (_, bytes))| (0..bytes.len()).map(move |at| (file, Damage::Truncate(at)))).collect();
    let (mut random, all) = (Random::new(seed), bytes_of(files));
    points.extend((0..flips).filter_map(|_| {
        let (mut at, bit) = (random.below(all as u64) as usize, 1 << random.below(8));
        let found = read().find(|(_, (_, bytes))| {
            let is_here = at < bytes.len();
            at -= if is_here { 0 } else { bytes.len() };
            is_here
        });
        found.map(|(file, _)| (file, Damage::Flip(at, bit)))
    }));
    points
}

/// What is said of the undamaged run, also by the program.
fn originals(worker: &Worker<'_>) -> Result<Vec<Said>, String> {
    let mut originals = Vec::new();
    for verb in VERBS {
        let (said, answer) = (said(verb, &worker.run)?, ask(&[verb, "--json"], &worker.run));
        let document = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap_or_default();
        // Both as text: a number that is read may differ in its last bit from the one that was printed.
        let (printed, here) = (document(&answer.stdout), document(said.document.to_string().as_bytes()));
        if answer.code != Some(i32::from(said.code)) || !is_same(&printed, &here, ("", "")) {
            return Err(format!("{verb} says something else here than the program does"));
        }
        originals.push(said);
    }
    Ok(originals)
}

/// What the workers share.
struct Shared<'a> {
    kind: &'static str,
    files: &'a Files,
    points: Vec<(usize, Damage)>,
    originals: Vec<Said>,
    next: AtomicUsize,
    report: Mutex<Report>,
}

impl Shared<'_> {
    fn work(&self, place: PathBuf, busy: &Mutex<Option<(Instant, usize)>>) {
        let worker = match Worker::new(place, self.files) {
            Ok(worker) => worker,
            Err(why) => return self.find(&why),
        };
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&(file, damage)) = self.points.get(at) else { break };
            *busy.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), at));
            // An abort leaves it there.
            let _ = fs::write(worker.run.with_extension("point"), self.name(at));
            let (how, problems) = worker.damaged(file, damage, || self.problems(&worker.run, at));
            let what = if matches!(damage, Damage::Flip(..)) { "bit flips" } else { "truncations" };
            self.report().tried(format!("{what} of a {} run, {how}", self.kind));
            problems.into_iter().for_each(|problem| self.find(&format!("{}: {problem}", self.name(at))));
        }
        *busy.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn report(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, problem: &str) {
        let mut report = self.report();
        if report.findings() < MOST { report.finding(problem) } else { report.tried("further findings") }
    }

    fn name(&self, at: usize) -> String {
        let (file, damage) = self.points[at];
        let (name, bytes) = (self.files[file].0.display(), self.files[file].1.len());
        match damage {
            Damage::Truncate(at) => format!("{} run, {name} truncated at {at} of {bytes}", self.kind),
            Damage::Flip(at, bit) => format!("{} run, {name} at {at}: bit {bit:#x}", self.kind),
        }
    }

    /// How the run was answered, and what is wrong with that.
    fn problems(&self, run: &Path, at: usize) -> (&'static str, Vec<String>) {
        let mut problems = Vec::new();
        if !at.is_multiple_of(FULL_EVERY) {
            match catch_unwind(|| archived_run::open(run).map(|run| run.damage().is_empty())) {
                Err(_) => return ("refused", vec!["opening it panicked".to_owned()]),
                Ok(Err(failure)) if (2..=3).contains(&failure.exit.code()) => return ("refused", problems),
                Ok(Ok(false)) => return ("with named damage", problems),
                Ok(_) => {}
            }
        }
        for (verb, original) in VERBS.iter().zip(&self.originals) {
            let problem = match catch_unwind(AssertUnwindSafe(|| said(verb, run))) {
                Err(_) => Some("it panicked".to_owned()),
                Ok(Err(why)) => Some(why),
                Ok(Ok(said)) => {
                    let by_program = || ask(&[verb, "--json"], run).code;
                    let differs = at.is_multiple_of(PROGRAM_EVERY) && by_program() != Some(i32::from(said.code));
                    misread(&said, original, run).or(differs.then(|| "the program has another exit code".to_owned()))
                }
            };
            problems.extend(problem.map(|problem| format!("{verb}: {problem}")));
        }
        ("answered in full", problems)
    }

    /// A thread cannot be ended: the campaign ends.
    fn end_if_one_hangs(&self, busy: &[Mutex<Option<(Instant, usize)>>]) {
        let hung = |busy: &Mutex<Option<(Instant, usize)>>| {
            let busy = *busy.lock().unwrap_or_else(PoisonError::into_inner);
            busy.filter(|(since, _)| since.elapsed() > 2 * LIMIT).map(|(_, at)| at)
        };
        if let Some(at) = busy.iter().find_map(hung) {
            println!("FOUND {}: no answer within {:?}", self.name(at), 2 * LIMIT);
            std::process::exit(1);
        }
    }
}

/// A copy of the run.
struct Worker<'a> {
    run: PathBuf,
    files: &'a Files,
    open: Vec<File>,
}

impl Worker<'_> {
    fn new(run: PathBuf, files: &Files) -> Result<Worker<'_>, String> {
        let text = |error: std::io::Error| error.to_string();
        fs::create_dir(&run).map_err(text)?;
        let create = |(name, bytes): &(OsString, Vec<u8>)| {
            fs::write(run.join(name), bytes)?;
            File::options().write(true).open(run.join(name))
        };
        let open = files.iter().map(create).collect::<Result<_, _>>().map_err(text)?;
        Ok(Worker { run, files, open })
    }

    fn damaged<T>(&self, file: usize, damage: Damage, work: impl FnOnce() -> T) -> T {
        let (open, whole) = (&self.open[file], &self.files[file].1);
        let done = match damage {
            Damage::Truncate(at) => open.set_len(at as u64),
            Damage::Flip(at, bit) => open.write_all_at(&[whole[at] ^ bit], at as u64),
        };
        done.expect("a file in memory can be changed");
        let result = work();
        let (Damage::Truncate(at) | Damage::Flip(at, _)) = damage;
        let restored = if matches!(damage, Damage::Truncate(_)) { &whole[at..] } else { &whole[at..=at] };
        open.write_all_at(restored, at as u64).expect("a file in memory can be changed");
        result
    }
}

/// Asks the readers; an error takes too long.
fn said(verb: &str, run: &Path) -> Result<Said, String> {
    let began = Instant::now();
    let answer = if verb == "show" {
        Shown::read(run, |_| {}).map(|shown| (shown.integrity.exit(), shown.document()))
    } else {
        let remedies = Remedies::shipped();
        let question =
            Question { scope: Scope::default(), slower_than_ns: None, worst: STALLS_LISTED, remedies: &remedies };
        let explained = Explained::open(run).map(|run| Explained::read(&run, question, |_| {}));
        explained.map(|explained| (explained.integrity.exit(), explained.into_document()))
    };
    if began.elapsed() > LIMIT {
        return Err(format!("it took {:?}", began.elapsed()));
    }
    Ok(match answer {
        Ok((exit, document)) => Said { code: exit.code(), document },
        Err(failure) => Said { code: failure.exit.code(), document: Value::Null },
    })
}

/// Why an answer of a damaged run is wrong.
fn misread(said: &Said, original: &Said, run: &Path) -> Option<String> {
    let original_run = run.with_file_name("original").display().to_string();
    let differs = || !is_same(&said.document, &original.document, (&run.display().to_string(), &original_run));
    let has_damage = said.document["damage"].as_array().is_some_and(|damage| !damage.is_empty());
    match said.code {
        0 if differs() => Some("exit code 0, and it differs from the original".to_owned()),
        0 if original.code != 0 => Some("exit code 0 of a run that lacks its end".to_owned()),
        1 if said.document["complete"] != false => Some("exit code 1 without \"complete\": false".to_owned()),
        // That the end is missing is true of each run that was cut off: it must say which damage, or that it ends
        // earlier.
        1 if !has_damage && end_ns(&said.document) >= end_ns(&original.document) && differs() => {
            Some("it differs from the original, and no damage is named".to_owned())
        }
        0..=3 => None,
        code => Some(format!("exit code {code}")),
    }
}

/// When the end begins that a run lacks.
fn end_ns(document: &Value) -> Option<u64> {
    let lost = document["lost"].as_array()?;
    lost.iter().find(|lost| lost["what"] == "the end of the run")?["at_ns"].as_u64()
}

/// Whether two documents say the same of a run in two places, beside the size of its files.
fn is_same(a: &Value, b: &Value, places: (&str, &str)) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let is_same = |((name, a), (other, b)): ((&String, &Value), (&String, &Value))| {
                name == other && (name == "archive_bytes" || is_same(a, b, places))
            };
            a.len() == b.len() && a.iter().zip(b).all(is_same)
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b, places)),
        (Value::String(a), Value::String(b)) => a == b || a.replace(places.0, "") == b.replace(places.1, ""),
        _ => a == b,
    }
}

//! Each run of the corpus, fed row by row as it was recorded: what is said of a stall while the recording goes on is
//! what is said of it afterwards, its cause and the end of its chain always. Who is to blame for a shared disk or limit
//! is weighed by all who used it in the time that is known: live that is the window and a few seconds before it, and
//! afterwards the whole run.
//!
//!     cargo test -p stallscope --test live
//!     STALLSCOPE_LIVE=word cargo test -p stallscope --test live -- --nocapture
#![allow(unreachable_pub)]

#[path = "../corpus/pack.rs"]
#[allow(dead_code)]
mod pack;
mod said;
mod slices;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use archive::Run;

use said::{batch, live};

/// What was compared of one run.
#[derive(Debug, Default)]
struct Compared {
    /// Stalls that are said afterwards, and of those that are said live: with the same times.
    afterwards: usize,
    both: usize,
    /// Stalls that are said live alone.
    live_alone: usize,
    /// Those of them that are longer than a window, or began before what was kept.
    longer: usize,
    differ: Vec<String>,
    /// Of another root blocker, with the same cause and chain.
    other_blocker: usize,
}

/// At most this part (1/100) may have another root blocker.
const OTHER_BLOCKERS: usize = 100;

fn runs() -> Vec<PathBuf> {
    let wanted = std::env::var("STALLSCOPE_LIVE").unwrap_or_default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/runs");
    let mut runs: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    runs.retain(|run| run.file_name().is_some_and(|name| name.to_string_lossy().contains(&wanted)));
    runs.sort();
    runs
}

fn compare(packed: &Path) -> Option<Compared> {
    let directory = tempfile::tempdir().unwrap();
    let unpacked = directory.path().join("run");
    pack::unpack(packed, &unpacked).unwrap();
    // Of a set of runs, or one that is too damaged, nothing is fed.
    let run = Run::open(&unpacked).ok()?;
    let afterwards = batch(&run);
    let mut compared = Compared { afterwards: afterwards.len(), ..Compared::default() };
    for (key, (said, is_whole)) in live(&run) {
        let Some(expected) = afterwards.get(&key) else {
            compared.live_alone += 1;
            continue;
        };
        compared.both += 1;
        if !is_whole {
            compared.longer += 1;
        } else if said.blocker != expected.blocker && said.why == expected.why {
            compared.other_blocker += 1;
        } else if said.why != expected.why {
            let (operation, tid, start_ns, ns) = &key;
            let what = format!("{operation} of {tid} at {start_ns}, {} ms", ns / 1_000_000);
            compared.differ.push(format!("{what}:\n    live  {}\n    batch {}", said.why, expected.why));
        }
    }
    Some(compared)
}

#[test]
fn a_stall_has_the_same_cause_and_culprit_live_and_afterwards() {
    let runs = runs();
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = run.file_name().unwrap().to_string_lossy().into_owned();
            let compared = compare(run);
            all.lock().unwrap().extend(compared.map(|compared| (name, compared)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut all = all.into_inner().unwrap();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let sum = |of: &dyn Fn(&Compared) -> usize| all.iter().map(|(_, one)| of(one)).sum::<usize>();
    let (both, longer, differ) = (sum(&|one| one.both), sum(&|one| one.longer), sum(&|one| one.differ.len()));
    println!(
        "{} runs: {both} stalls said live and afterwards, {longer} longer than a window, {differ} differ",
        all.len()
    );
    for (name, one) in
        all.iter().filter(|(_, one)| !one.differ.is_empty() || one.both + 9 < one.afterwards || one.live_alone > 9)
    {
        println!(
            "{name}: {} of {} differ, {} afterwards, {} live alone",
            one.differ.len(),
            one.both,
            one.afterwards,
            one.live_alone
        );
        one.differ.iter().take(6).for_each(|what| println!("  {what}"));
    }
    assert!(both > 0, "nothing was compared");
    let blockers = sum(&|one| one.other_blocker);
    println!("{blockers} have another root blocker");
    assert_eq!(differ, 0);
    assert!(blockers * OTHER_BLOCKERS <= both, "{blockers} of {both} have another root blocker");
}

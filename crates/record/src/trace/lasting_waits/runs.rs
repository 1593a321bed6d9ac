//! How often threads have run, to know those that have not since some moment.

use std::collections::HashMap;
use std::path::Path;

use crate::bytes::read_text;
use crate::clock::monotonic_ns;
use crate::trace::threads::{Thread, each_thread};

/// Threads whose runs are counted.
const MOST_COUNTED: usize = 16_384;

/// How often a thread had run, and since when it has not run again.
#[derive(Debug, Clone, Copy)]
struct Run {
    count: u64,
    since_ns: u64,
}

/// How often the threads that do not run now had run.
#[derive(Debug, Default)]
pub(super) struct Runs(HashMap<u32, Run>);

impl Runs {
    /// Counts. Threads of `own_pid` are left out.
    pub(super) fn count(proc: &Path, own_pid: u32) -> Runs {
        let mut counts = HashMap::new();
        each_thread(proc, own_pid, |Thread { pid, tid, state, .. }| {
            if b"SDTt".contains(&state) && counts.len() < MOST_COUNTED {
                counts.extend(count_of(proc, pid, tid).map(|count| (tid, count)));
            }
        });
        // A thread may have run after others were counted: none is said to wait since before the last was.
        let since_ns = monotonic_ns();
        Runs(counts.into_iter().map(|(tid, count)| (tid, Run { count, since_ns })).collect())
    }

    /// The same, with the earlier moments of threads that have not run since those.
    pub(super) fn since(mut self, earlier: &Runs) -> Runs {
        for (tid, run) in &mut self.0 {
            let known = earlier.0.get(tid).filter(|known| known.count == run.count);
            run.since_ns = known.map_or(run.since_ns, |known| known.since_ns);
        }
        self
    }

    /// Of the threads that have not run since a moment.
    pub(super) fn by(&self, at_ns: u64) -> Runs {
        Runs(self.0.iter().filter(|(_, run)| run.since_ns <= at_ns).map(|(tid, run)| (*tid, *run)).collect())
    }

    /// Whether there may be threads that were not counted.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MOST_COUNTED
    }

    /// Whether the thread did not run when it was counted.
    pub(super) fn knows(&self, tid: u32) -> bool {
        self.0.contains_key(&tid)
    }

    /// Since when a thread has not run; `None` if it has since it was counted.
    pub(super) fn since_ns(&self, proc: &Path, pid: u32, tid: u32) -> Option<u64> {
        let run = self.0.get(&tid)?;
        (count_of(proc, pid, tid) == Some(run.count)).then_some(run.since_ns)
    }
}

/// How often a thread has run: the third number of its `schedstat`.
fn count_of(proc: &Path, pid: u32, tid: u32) -> Option<u64> {
    let text = read_text(proc.join(format!("{pid}/task/{tid}/schedstat"))).ok()?;
    text.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Runs;

    #[test]
    fn a_thread_that_has_run_waits_since_it_was_counted_again() {
        let proc = tempfile::tempdir().unwrap();
        let runs = |tid: u32, count: u64| {
            let folder = proc.path().join(format!("{tid}/task/{tid}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("schedstat"), format!("1 2 {count}\n")).unwrap();
            fs::write(proc.path().join(format!("{tid}/stat")), format!("{tid} (x) S 1{}", " 1".repeat(30))).unwrap();
        };
        runs(7, 40);
        runs(8, 3);
        let first = Runs::count(proc.path(), 0);
        let since = |runs: &Runs, tid| runs.since_ns(proc.path(), tid, tid);
        let first_ns = since(&first, 7).unwrap();
        runs(8, 4);
        assert_eq!(since(&first, 8), None);
        let second = Runs::count(proc.path(), 0).since(&first);
        assert_eq!(since(&second, 7), Some(first_ns));
        assert!(since(&second, 8).unwrap() > first_ns);
        let long = second.by(first_ns);
        assert!(long.knows(7) && !long.knows(8));
    }
}

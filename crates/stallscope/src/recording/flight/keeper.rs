//! Keeps runs: slices are joined beside the recording, which goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use archive::{FlushState, Run, WriterOptions};
use model::quantity::Bytes;
use model::run::RunDescription;
use record::clock;

use super::directory::{self, FlightDirectory};
use crate::recording::run_directory;
use crate::ui::failure::Failure;

/// Space beside the run itself that must be free before one is kept.
const AIR_BYTES: u64 = 8 << 20;

/// Something to be kept.
pub struct Job {
    /// One word for it, which names the run.
    pub word: String,
    /// Why it is kept.
    pub reason: String,
    /// Its slices, opened, so that they are there also when the ring has moved on; oldest first.
    pub slices: Vec<Run>,
    /// What they take on the disk.
    pub bytes: u64,
    /// A directory to be removed afterwards.
    pub remove: Option<PathBuf>,
}

/// What became of it.
pub struct Outcome {
    /// Why it was to be kept.
    pub reason: String,
    /// The run's directory and size; or why there is none.
    pub run: Result<(PathBuf, u64), String>,
    /// What is missing in it.
    pub remark: Option<String>,
}

/// The thread that keeps.
pub struct Keeper {
    jobs: Sender<Job>,
    outcomes: Receiver<Outcome>,
    thread: JoinHandle<()>,
    under_way: usize,
}

impl Keeper {
    /// Keeps runs in `flight_directory` up to `limit_bytes` of all of them together.
    pub fn start(flight_directory: Arc<FlightDirectory>, limit_bytes: u64) -> Result<Keeper, Failure> {
        let (jobs, todo) = channel::<Job>();
        let (tell, outcomes) = channel();
        let keep = move || {
            for job in todo {
                let reason = job.reason.clone();
                let remove = job.remove.clone();
                let (run, remark) = match keep(&flight_directory, limit_bytes, job) {
                    Ok((path, bytes, remark)) => (Ok((path, bytes)), remark),
                    Err(why) => (Err(why), None),
                };
                let removed = remove.map_or(Ok(()), |directory| directory::remove(&directory));
                let remark = remark.or(removed.err().map(|error| format!("an old ring cannot be removed: {error}")));
                let _ = tell.send(Outcome { reason, run, remark });
            }
        };
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(keep);
        let thread = thread.map_err(|error| Failure::machine(format_args!("cannot start a thread: {error}")))?;
        Ok(Keeper { jobs, outcomes, thread, under_way: 0 })
    }

    /// Keeps something, after what it was told before.
    pub fn keep(&mut self, job: Job) {
        self.under_way += usize::from(self.jobs.send(job).is_ok());
    }

    /// What was kept since the last look.
    pub fn outcomes(&mut self) -> Vec<Outcome> {
        let outcomes: Vec<Outcome> = self.outcomes.try_iter().collect();
        self.under_way -= outcomes.len();
        outcomes
    }

    /// Whether nothing is to be kept any more.
    pub fn is_idle(&self) -> bool {
        self.under_way == 0 || self.thread.is_finished()
    }
}

fn keep(
    flight_directory: &FlightDirectory,
    limit_bytes: u64,
    job: Job,
) -> Result<(PathBuf, u64, Option<String>), String> {
    let (Some(first), Some(last)) = (job.slices.first(), job.slices.last()) else {
        return Err("the ring is empty".to_owned());
    };
    let directory = flight_directory.directory();
    let kept_bytes = flight_directory.kept_bytes();
    if kept_bytes.saturating_add(job.bytes) > limit_bytes {
        let (kept, limit) = (Bytes(kept_bytes), Bytes(limit_bytes));
        let directory = directory.display();
        return Err(format!(
            "it takes up to {}, and the kept runs in {directory} take {kept} of {limit} (--keep-size); remove some",
            Bytes(job.bytes)
        ));
    }
    let free_bytes = free_bytes(directory).unwrap_or(u64::MAX);
    if free_bytes < job.bytes.saturating_add(AIR_BYTES) {
        return Err(format!(
            "{} are free on the disk of {}, and it takes up to {}",
            Bytes(free_bytes),
            directory.display(),
            Bytes(job.bytes)
        ));
    }
    // The newest look at mounts and devices: what stalled last was there then.
    let description = RunDescription { started: first.description().started, ..last.description().clone() };
    let path = run_directory::unused(directory, &job.word);
    let unfinished = flight_directory.unfinished(&path.file_name().unwrap_or_default().to_string_lossy());
    let options = WriterOptions { reserve_bytes: 1 << 20, ..WriterOptions::default() };
    let merged = archive::merge(job.slices, &unfinished, &description, &options, clock::now());
    let closed = merged.map_err(|error| error.to_string()).inspect_err(|_| drop(directory::remove(&unfinished)))?;
    let named = fs::rename(&unfinished, &path).and_then(|()| sync(directory));
    named.map_err(|error| format!("{}: {error}", path.display()))?;
    let remark = (closed.state != FlushState::Whole).then(|| format!("{}: {}", path.display(), closed.state));
    let bytes = directory::bytes_of(&path);
    Ok((path, bytes, remark))
}

fn free_bytes(directory: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(directory).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}

fn sync(directory: &Path) -> std::io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

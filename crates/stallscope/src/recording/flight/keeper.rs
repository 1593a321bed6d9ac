//! Keeping runs: joins slices in the background while recording continues.

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

/// Free space that must remain besides a kept run.
const HEADROOM_BYTES: u64 = 8 << 20;

/// A run to keep.
pub struct Job {
    /// One word that names the run.
    pub word: String,
    /// The reason.
    pub reason: String,
    /// Its slices, opened so that they stay readable when the ring moves on; oldest first.
    pub slices: Vec<Run>,
    /// Their size on disk.
    pub bytes: u64,
    /// A directory to remove afterwards.
    pub remove: Option<PathBuf>,
}

/// The result of a job.
pub struct Outcome {
    /// The reason.
    pub reason: String,
    /// The run's directory and size, or why it was not kept.
    pub run: Result<(PathBuf, u64), String>,
    /// What is missing in it, if anything.
    pub remark: Option<String>,
}

/// The thread that keeps runs.
pub struct Keeper {
    jobs: Sender<Job>,
    outcomes: Receiver<Outcome>,
    thread: JoinHandle<()>,
    pending: usize,
}

impl Keeper {
    /// Keeps runs in `flight_directory`, up to `limit_bytes` in total.
    pub fn start(flight_directory: Arc<FlightDirectory>, limit_bytes: u64) -> Result<Keeper, Failure> {
        let (jobs, todo) = channel::<Job>();
        let (report, outcomes) = channel();
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
                let _ = report.send(Outcome { reason, run, remark });
            }
        };
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(keep);
        let thread = thread.map_err(|error| Failure::machine(format_args!("cannot start a thread: {error}")))?;
        Ok(Keeper { jobs, outcomes, thread, pending: 0 })
    }

    /// Queues a job.
    pub fn keep(&mut self, job: Job) {
        self.pending += usize::from(self.jobs.send(job).is_ok());
    }

    /// The jobs completed since the last call.
    pub fn outcomes(&mut self) -> Vec<Outcome> {
        let outcomes: Vec<Outcome> = self.outcomes.try_iter().collect();
        self.pending -= outcomes.len();
        outcomes
    }

    /// Whether no job is pending.
    pub fn is_idle(&self) -> bool {
        self.pending == 0 || self.thread.is_finished()
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
    refuse_without_space(flight_directory, limit_bytes, &job)?;
    // The newest view of mounts and devices includes what stalled last.
    let description = RunDescription { started: first.description().started, ..last.description().clone() };
    let path = run_directory::unused(directory, &job.word);
    let unfinished = flight_directory.unfinished(&path.file_name().unwrap_or_default().to_string_lossy());
    let options = WriterOptions { reserve_bytes: 1 << 20, ..WriterOptions::default() };
    access::make_directory_in(&unfinished).map_err(|error| format!("{}: {error}", unfinished.display()))?;
    let merged = archive::merge(job.slices, &unfinished, &description, &options, clock::now());
    let closed = merged.map_err(|error| error.to_string()).inspect_err(|_| drop(directory::remove(&unfinished)))?;
    let named = fs::rename(&unfinished, &path).and_then(|()| sync(directory));
    named.map_err(|error| format!("{}: {error}", path.display()))?;
    let remark = (closed.state != FlushState::Whole).then(|| format!("{}: {}", path.display(), closed.state));
    let bytes = directory::bytes_of(&path);
    Ok((path, bytes, remark))
}

fn refuse_without_space(flight_directory: &FlightDirectory, limit_bytes: u64, job: &Job) -> Result<(), String> {
    let directory = flight_directory.directory();
    let kept_bytes = flight_directory.kept_bytes();
    if kept_bytes.saturating_add(job.bytes) > limit_bytes {
        let (kept, limit) = (Bytes(kept_bytes), Bytes(limit_bytes));
        let directory = directory.display();
        return Err(format!(
            "it needs up to {}, and the saved runs in {directory} take {kept} of {limit} (--keep-size); remove some",
            Bytes(job.bytes)
        ));
    }
    let free_bytes = free_bytes(directory).unwrap_or(u64::MAX);
    if free_bytes < job.bytes.saturating_add(HEADROOM_BYTES) {
        return Err(format!(
            "{} are free on the disk of {}, and it needs up to {}",
            Bytes(free_bytes),
            directory.display(),
            Bytes(job.bytes)
        ));
    }
    Ok(())
}

fn free_bytes(directory: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(directory).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}

fn sync(directory: &Path) -> std::io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

//! The totals of a plan, and whether the machine can run it.

use model::quantity::Bytes;

use super::actor::{Actor, StepWork, TransferDirection};
use super::definition::Plan;
use super::totals::{FileSystemSpace, PlanTotals, Refusal};
use crate::data::{DataDirectoryStatus, FileId, FileSet};
use crate::facts::{DirectoryFacts, MachineFacts};
use crate::job::Job;

/// Memory of the load process: code, board, and the buffers of the fill.
const BASE_BYTES: u64 = 8 << 20;
/// Memory of a thread without its buffers: kernel stack, touched user stack, page tables.
const THREAD_BYTES: u64 = 48 << 10;

pub(super) fn add_up(plan: &mut Plan, facts: &MachineFacts, force: bool) {
    let data_bytes = set_bytes(&plan.file_sets);
    let peak = |actor: &Actor| actor.threads.saturating_mul(1 + forks(actor));
    plan.totals = PlanTotals {
        threads: plan.actor_threads(),
        peak_threads: plan.actors.iter().map(peak).fold(0, u64::saturating_add),
        bytes_to_write: facts.directories.iter().map(|d| fill_bytes(d, &plan.file_sets)).fold(0, u64::saturating_add),
        data_bytes: data_bytes.saturating_mul(facts.directories.len() as u64),
        memory_bytes: plan.actors.iter().map(memory_bytes).fold(BASE_BYTES, u64::saturating_add),
        memory_available_bytes: facts.memory_bytes,
        file_systems: file_systems(facts, data_bytes),
    };
    plan.refusals = directory_refusals(plan, facts);
    plan.refusals.extend(memory_refusal(plan, facts));
    plan.refusals.extend(thread_refusal(plan, facts));
    if !force {
        plan.refusals.extend(plan.totals.file_systems.iter().filter_map(space_refusal));
    }
}

fn set_bytes(sets: &[FileSet]) -> u64 {
    sets.iter().map(|set| set.files.saturating_mul(set.size_bytes)).fold(0, u64::saturating_add)
}

/// Maximum threads that one actor thread starts.
fn forks(actor: &Actor) -> u64 {
    let fork = |work: &StepWork| if let StepWork::Transfer(transfer) = work { transfer.fork } else { None };
    actor.steps.iter().filter_map(|step| fork(&step.work)).max().unwrap_or(0)
}

fn memory_bytes(actor: &Actor) -> u64 {
    let step_bytes = |work: &StepWork| match work {
        StepWork::Allocate { bytes } => *bytes,
        _ => 0,
    };
    let buffer_bytes = |work: &StepWork| match work {
        StepWork::Transfer(transfer) if transfer.direction == TransferDirection::Read => {
            transfer.fork.unwrap_or(1).saturating_mul(transfer.block_bytes)
        }
        _ => 0,
    };
    let largest =
        |bytes: &dyn Fn(&StepWork) -> u64| actor.steps.iter().map(|step| bytes(&step.work)).max().unwrap_or(0);
    let thread = [
        actor.holds_bytes,
        largest(&step_bytes),
        largest(&buffer_bytes),
        actor.job.as_ref().map_or(0, Job::memory_bytes),
        (1 + forks(actor)).saturating_mul(THREAD_BYTES),
    ];
    thread.into_iter().fold(0, u64::saturating_add).saturating_mul(actor.threads)
}

fn fill_bytes(directory: &DirectoryFacts, sets: &[FileSet]) -> u64 {
    let DataDirectoryStatus::Ours(marker) = &directory.standing else { return set_bytes(sets) };
    if marker.state != crate::data::FillState::Complete {
        return set_bytes(sets);
    }
    let kept = |set: &FileSet| {
        if !set.filled || set.stamped {
            return 0;
        }
        let same = marker.file_sets.iter().find(|kept| kept.name == set.name && kept.size_bytes == set.size_bytes);
        same.map_or(0, |kept| kept.files.min(set.files))
    };
    let missing = |set: &FileSet| (set.files - kept(set)).saturating_mul(set.size_bytes);
    sets.iter().map(missing).fold(0, u64::saturating_add)
}

fn file_systems(facts: &MachineFacts, data_bytes: u64) -> Vec<FileSystemSpace> {
    let mut spaces: Vec<(u64, FileSystemSpace)> = Vec::new();
    for directory in &facts.directories {
        let needed = data_bytes.saturating_sub(directory.kept_bytes());
        let index = spaces.iter().position(|(id, _)| *id == directory.file_system).unwrap_or_else(|| {
            let free_bytes = directory.free_bytes;
            let space = FileSystemSpace { directories: Vec::new(), free_bytes, needed_bytes: 0, left_bytes: 0 };
            spaces.push((directory.file_system, space));
            spaces.len() - 1
        });
        let space = &mut spaces[index].1;
        space.directories.push(directory.path.clone());
        space.needed_bytes = space.needed_bytes.saturating_add(needed);
        space.left_bytes = space.free_bytes.saturating_sub(space.needed_bytes);
    }
    spaces.into_iter().map(|(_, space)| space).collect()
}

fn space_refusal(space: &FileSystemSpace) -> Option<Refusal> {
    (space.needed_bytes > space.free_bytes).then(|| Refusal {
        what: format!(
            "the files need {} on the file system of {}, which has {} free",
            Bytes(space.needed_bytes),
            space.directories.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
            Bytes(space.free_bytes)
        ),
        remedy: "make the set smaller, free some space, or use --force".to_owned(),
    })
}

fn directory_refusals(plan: &Plan, facts: &MachineFacts) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    if facts.directories.is_empty() && !plan.file_sets.is_empty() {
        refusals.push(Refusal {
            what: format!("'{}' needs a directory and none was given", plan.recipe),
            remedy: "name one directory for each file system under test".to_owned(),
        });
    }
    if facts.directories.len() > FileId::MAX_DIRECTORIES {
        refusals.push(Refusal { what: "too many directories".to_owned(), remedy: "name fewer".to_owned() });
    }
    for (directory, data) in facts.directories.iter().zip(&plan.data_directories) {
        match &directory.standing {
            DataDirectoryStatus::Foreign(why) => refusals.push(Refusal {
                what: format!("{} {why}; it is not touched", data.display()),
                remedy: "move it away or choose another directory; no option overrides this".to_owned(),
            }),
            DataDirectoryStatus::InUse => refusals.push(Refusal {
                what: format!("{} is in use by another run", data.display()),
                remedy: "wait until it ends, or choose another directory; no option overrides this".to_owned(),
            }),
            DataDirectoryStatus::Absent | DataDirectoryStatus::Ours(_) => {}
        }
        if let Some(why) = directory.unwritable.as_ref().filter(|_| !plan.file_sets.is_empty()) {
            refusals.push(Refusal {
                what: format!("{} is not writable: {why}", directory.path.display()),
                remedy: "choose another directory, or run as a user with write permission".to_owned(),
            });
        }
        let twins = facts.directories.iter().filter(|other| other.path == directory.path).count();
        if twins > 1 && !refusals.iter().any(|refusal| refusal.what.starts_with("the same directory")) {
            refusals.push(Refusal {
                what: format!("the same directory was given twice: {}", directory.path.display()),
                remedy: "name each directory once".to_owned(),
            });
        }
    }
    refusals
}

fn memory_refusal(plan: &Plan, facts: &MachineFacts) -> Option<Refusal> {
    let (needed, available) = (plan.totals.memory_bytes, facts.memory_bytes);
    (needed >= available).then(|| Refusal {
        what: format!(
            "the load needs {} of memory and {} {}",
            Bytes(needed),
            if facts.in_memory_cgroup { "its memory cgroup has" } else { "this machine has" },
            Bytes(available)
        ),
        remedy: "use fewer threads, less memory per thread, or a larger memory cgroup".to_owned(),
    })
}

fn thread_refusal(plan: &Plan, facts: &MachineFacts) -> Option<Refusal> {
    let limit = facts.thread_limit?;
    (plan.totals.peak_threads.saturating_add(16) > limit).then(|| Refusal {
        what: format!("the load starts up to {} threads and {limit} are allowed", plan.totals.peak_threads),
        remedy: "use fewer threads, or raise ulimit -u, kernel.threads-max, kernel.pid_max or pids.max".to_owned(),
    })
}

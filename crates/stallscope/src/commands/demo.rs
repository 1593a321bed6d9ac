//! `demo`: an end-to-end run on a temporary file system.

mod proof;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use model::quantity::{Bytes, Nanoseconds, parse_duration, parse_size};
use rig::{FsKind, Register, TemporaryFileSystem};

use crate::commands::run;
use crate::commands::run::request::RunRequest;
use crate::commands::run::workload::{self, Offer};
use crate::reading::explanation;
use crate::recording::own_path::refuse_replaceable;
use crate::recording::sharing::SharingArgs;
use crate::recording::{machine, scratch};
use crate::ui::args::OutputArgs;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Size of the temporary file system; its image is sparse and uses less.
const IMAGE_BYTES: u64 = 3 << 30;
const MEMORY: &str = "512m";
/// The demo throttles its disk to the speed of a hard disk, so waits for it show on any machine.
const DISK: &str = "48m";

/// The load, small enough for a laptop.
const LOAD: [&str; 6] = ["run", "simoop", "-t", "4", "-n", "10"];

/// Stalls explained in detail.
const STALLS: usize = 2;
const HOW_TO_READ: &str = "
The summary shows what happened. The explanation shows why: it divides the time of each slow operation among the causes
that the kernel trace shows. The root blockers and the worst operations with their wait chains follow: each line waits
for the line below it, down to a disk request, a running task, or a limit.";

/// Options of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Measured time, after a short warmup.
    #[arg(long, value_name = "T", default_value = "45s", value_parser = parse_duration)]
    pub runtime: u64,
    /// Directory of the temporary image and the run [default: one with enough space].
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub sharing: SharingArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub output: OutputArgs,
}

/// Creates a file system, runs a scaled simoop in a memory cgroup on it, prints the stalls, and removes everything.
pub fn demo(args: &DemoArgs, offers: Vec<Offer>) -> Result<Exit, Failure> {
    let screen = Screen::new(args.output.json, args.output.quiet);
    let interrupt = Interrupt::install()?;
    let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
    let is_root = rustix::process::geteuid().is_root();
    let directory = scratch_directory(args.scratch.as_deref())?;

    screen.spin("creating a temporary file system");
    let file_system =
        TemporaryFileSystem::best_available(IMAGE_BYTES, &directory, &register).map_err(Failure::machine)?;
    screen.rest();
    for note in file_system.notes() {
        screen.remark(note);
    }
    screen.remark(&introduction(&file_system, args.runtime, is_root));

    let proves = is_root && proof::is_possible(args.output.json, &file_system);
    let words = words(args, &file_system, is_root, proves);
    let outcome =
        workload::command(&offers).try_get_matches_from(&words[1..]).map_err(Failure::usage).and_then(|matches| {
            if interrupt.requests() > 0 {
                return Ok(run::Outcome { exit: Exit::Interrupted, directory: None });
            }
            run::perform(RunRequest::from_matches(&matches, offers)?, &screen, &interrupt, &register)
        });
    prove(outcome.as_ref().ok().filter(|_| proves), &file_system, &register, &screen);
    for leftover in file_system.remove().iter().filter(|removed| !removed.complete) {
        screen.warning(&leftover.to_string());
    }
    let outcome = outcome?;
    if let Some(directory) = &outcome.directory {
        if !proves && !args.output.json && outcome.exit != Exit::Interrupted {
            explain(directory, &screen);
        }
        screen.remark(&what_next(directory, is_root));
    }
    Ok(outcome.exit)
}

/// Explains the run while its load can still be started again, and tries the advice.
fn prove(outcome: Option<&run::Outcome>, file_system: &TemporaryFileSystem, register: &Register, screen: &Screen) {
    // One that only lacks a few events is explained as well.
    let done = outcome.filter(|outcome| matches!(outcome.exit, Exit::Done | Exit::FoundErrors));
    let Some(directory) = done.and_then(|outcome| outcome.directory.as_deref()) else { return };
    explain(directory, screen);
    if let Some(device) = file_system.device() {
        proof::prove(directory, &trial_words(file_system), (device, DISK), register, screen);
    }
}

fn explain(directory: &Path, screen: &Screen) {
    screen.remark(HOW_TO_READ);
    explanation::print_full(directory, STALLS, screen);
}

/// The directory for the image: the user's, or the first with enough space.
fn scratch_directory(requested: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(directory) = requested {
        refuse_replaceable(directory)?;
        return Ok(directory.to_owned());
    }
    scratch::directory_with_space(IMAGE_BYTES).ok_or_else(|| {
        Failure::machine(format_args!(
            "the demo needs {} of free space in /var/tmp, the temporary or the current directory; \
             choose another with --scratch DIR",
            Bytes(IMAGE_BYTES)
        ))
    })
}

fn introduction(file_system: &TemporaryFileSystem, runtime_ns: u64, is_root: bool) -> String {
    let on = match file_system.kind() {
        Some(FsKind::Xfs) => "on a temporary XFS file system (loop device)",
        Some(FsKind::Ext4) => "on a temporary ext4 file system (loop device)",
        Some(FsKind::Btrfs) => "on a temporary btrfs file system (loop device)",
        None => "in a plain directory",
    };
    let limits = if is_root {
        {
            let bytes = |size| Bytes(parse_size(size).unwrap_or(0));
            format!("limited to {} (memory cgroup), disk throttled to {}/s", bytes(MEMORY), bytes(DISK))
        }
    } else {
        "without a memory cgroup and a throttled disk, which need root: expect milder stalls".to_owned()
    };
    format!(
        "simoop {on},\n{limits}, for {}:\nreaders, writers, allocations and a directory walker compete for \
         too little memory.",
        Nanoseconds(runtime_ns)
    )
}

/// The demo is a `run` command line that a user could type. `keep`: the data set is needed again.
fn words(args: &DemoArgs, file_system: &TemporaryFileSystem, is_root: bool, keep: bool) -> Vec<OsString> {
    let runtime_s = format!("{}", args.runtime.div_ceil(1_000_000_000));
    let mut words: Vec<OsString> = ["stallscope"]
        .into_iter()
        .chain(LOAD)
        .chain(["--warmup", "5", "--report-interval", "5", "--runtime", &runtime_s, "--slower-than", "500ms"])
        .chain(keep.then_some("--keep"))
        .map(OsString::from)
        .collect();
    if is_root {
        words.extend(["--memory", MEMORY].map(OsString::from));
        if file_system.device().is_some() {
            words.extend(["--disk-bps", DISK].map(OsString::from));
        }
    } else {
        // Without a memory cgroup nothing limits the load: keep it small.
        words.extend(["-m", "48", "-M", "16"].map(OsString::from));
    }
    for (is_set, flag) in [(args.output.json, "--json"), (args.output.quiet, "--quiet")] {
        if is_set {
            words.push(flag.into());
        }
    }
    words.extend(args.sharing.words().into_iter().map(OsString::from));
    words.push(file_system.path().into());
    words
}

/// The same load for a trial: it is recorded by the trial, its disk is throttled already, and the trial ends it.
fn trial_words(file_system: &TemporaryFileSystem) -> Vec<OsString> {
    let longer = ["--warmup", "1", "--runtime", "300", "--no-trace", "--keep", "--quiet", "--memory", MEMORY];
    LOAD.into_iter().chain(longer).map(OsString::from).chain([file_system.path().into()]).collect()
}

fn what_next(run: &Path, is_root: bool) -> String {
    let run = run.display();
    let root = if is_root { "" } else { "\n  as root, `make demo` uses a real file system and a memory cgroup" };
    format!(
        "\nThe data set is removed; the run is in {run}\nTry next:\n  \
         stallscope explain {run}\n  \
         stallscope report {run} -o stalls.html\n  \
         stallscope run simoop --memory 1g --plan DIR     print the plan of a run on your file system\n  \
         stallscope record -- fio JOB.fio                 record any other load\n  \
         stallscope recipes show simoop                   print a recipe as a starting point{root}"
    )
}

//! A process that outlives the program, and restores what it left changed.
//!
//! The kernel signals it when the program's main thread dies, however that happens. (The end of a pipe would come
//! seconds later: the kernel first detaches the tracer's BPF programs.) It then removes what the program's register
//! still holds. After a regular end that is nothing.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rig::{Owner, Register, Roots};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::ui::failure::{Exit, Failure};

const POLL: Duration = Duration::from_millis(5);
/// Time for the main thread to be dead after the signal.
const DYING: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(200);

/// The watchdog of this process.
pub struct Watchdog(Child);

impl Watchdog {
    /// Starts it from the main thread, in a process group of its own: signals to the program's do not reach it. With
    /// `patience` it tries again while others use what the program left, and is silent: another one reports the death.
    pub fn start(patience: Duration) -> Result<Watchdog, Failure> {
        let failed = |error| Failure::machine(format_args!("cannot start the watchdog process: {error}"));
        let owner = Owner::current(&Roots::default()).map_err(Failure::machine)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg("__watchdog").arg(owner.pid.to_string()).arg(owner.start_ticks.to_string()).arg(&owner.boot_id);
        command.arg(patience.as_secs().to_string());
        let complaints = if patience.is_zero() { Stdio::inherit() } else { Stdio::null() };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints).process_group(0);
        command.spawn().map(Watchdog).map_err(failed)
    }

    /// Ends it: nothing is changed any more.
    pub fn dismiss(mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The watchdog process: waits for the death of `owner`, and restores.
pub fn watch(owner: &Owner, patience: Duration) -> Result<Exit, Failure> {
    let failed = |error: String| Failure::machine(format_args!("the watchdog cannot watch: {error}"));
    // Only the program's death ends it.
    let mut signals = Signals::new([SIGUSR1, SIGINT, SIGTERM, SIGHUP]).map_err(|error| failed(error.to_string()))?;
    set_parent_process_death_signal(Some(Signal::USR1)).map_err(|error| failed(error.to_string()))?;
    let parent = getppid().map(Pid::as_raw_pid);
    if parent.is_some_and(|parent| parent.cast_unsigned() == owner.pid) {
        signals.forever().find(|signal| *signal == SIGUSR1);
    }
    let signalled = Instant::now();
    while owner.is_alive(&Roots::default()) && signalled.elapsed() < DYING {
        std::thread::sleep(POLL);
    }
    let began = Instant::now();
    loop {
        let removed = Register::clean_up_after(owner).map_err(Failure::machine)?;
        if patience.is_zero() {
            removed.iter().for_each(|removed| eprintln!("stallscope: the trial was killed: {removed}"));
        }
        // Ranks that the launcher is about to end may still write.
        if began.elapsed() >= patience || removed.iter().all(|removed| removed.complete) {
            return Ok(Exit::Done);
        }
        std::thread::sleep(RETRY);
    }
}

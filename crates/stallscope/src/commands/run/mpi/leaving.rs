//! The end of a rank's process.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::Instant;

use super::patience::{FINALIZE_PATIENCE, POLL};
use crate::ui::failure::Exit;
use crate::ui::interrupt::Interrupt;
use crate::ui::screen;

/// Leaves MPI, which waits for all ranks. Without them, and when the launcher ends the ranks, the process ends at once.
pub(super) fn leave_mpi<E: ToString>(
    universe: ::mpi::environment::Universe,
    done: &Result<Exit, E>,
    interrupt: &Interrupt,
) {
    let (left, waits) = channel::<()>();
    let interrupt = interrupt.clone();
    let earlier = interrupt.requests();
    let (message, exit) = match done {
        Ok(exit) => (None, *exit),
        Err(failure) => (Some(failure.to_string()), Exit::Machine),
    };
    let end_at_once = move || {
        let began = Instant::now();
        while waits.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
            if interrupt.requests() > earlier || began.elapsed() > FINALIZE_PATIENCE {
                message.iter().for_each(|message| screen::error(message));
                std::process::exit(exit.code().into());
            }
        }
    };
    // Where there can be no thread, MPI waits as long as it waits.
    let _ = Builder::new().name("leaving".to_owned()).spawn(end_at_once);
    drop(universe);
    drop(left);
}

/// Ends this process without MPI: those whom it would wait for do not answer.
pub(super) fn leave_alone() -> ! {
    std::process::exit(Exit::FoundErrors.code().into())
}

/// The same of a node for which rank 0 has no answer.
pub(super) fn leave_without_first(node: &str) -> ! {
    screen::error(&format!("node {node}: rank 0 does not answer"));
    leave_alone()
}

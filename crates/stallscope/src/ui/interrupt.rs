//! Ctrl-C, SIGTERM and SIGHUP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::ui::failure::{Exit, Failure};

/// The request that always ends the program, also while it waits for a disk that does not respond.
const LAST_REQUEST: usize = 3;

/// Counts the requests to stop: the first is a clean stop, the second an immediate one. The third exits; the register
/// holds the leftovers for the next run.
#[derive(Debug, Clone)]
pub struct Interrupt {
    count: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Installs signal handlers for the rest of the process.
    pub fn install() -> Result<Interrupt, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|error| Failure::machine(format_args!("cannot handle signals: {error}")))?;
        let interrupt = Interrupt { count: Arc::new(AtomicUsize::new(0)) };
        let count = Arc::clone(&interrupt.count);
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                for _ in signals.forever() {
                    if count.fetch_add(1, Ordering::Relaxed) + 1 >= LAST_REQUEST {
                        eprintln!("stallscope: aborted; the next run removes the leftovers");
                        std::process::exit(Exit::Interrupted.code().into());
                    }
                }
            })
            .map_err(|error| Failure::machine(format_args!("cannot start a thread: {error}")))?;
        Ok(interrupt)
    }

    /// The number of requests so far.
    pub fn requests(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

//! Ctrl-C, and its relatives SIGTERM and SIGHUP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::ui::failure::{Exit, Failure};

/// The request that is obeyed wherever the program is, also where it waits for a disk that does not answer.
const LAST_REQUEST: usize = 3;

/// Counts the requests to stop: the first asks for a clean stop, the second for an immediate one. With the third the
/// program is gone, and what it leaves is in the register for the next run.
#[derive(Debug, Clone)]
pub struct Interrupt {
    count: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Takes the signals over from their default action, for the rest of the program's life.
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
                        eprintln!("stallscope: stopped at once; its next run takes away what this one leaves");
                        std::process::exit(Exit::Interrupted as i32);
                    }
                }
            })
            .map_err(|error| Failure::machine(format_args!("cannot start a thread: {error}")))?;
        Ok(interrupt)
    }

    /// How often a stop was asked for.
    pub fn requests(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

//! A spinner that turns while another thread works.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use indicatif::ProgressBar;

const TURN: Duration = Duration::from_millis(125);

/// Turns a bar until it is dropped. indicatif has the same, but panics where no thread can be created.
#[derive(Debug)]
pub(super) struct Spinner {
    stopped: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Without a thread, the bar stands still.
    pub(super) fn of(bar: &ProgressBar) -> Spinner {
        let stopped = Arc::new((Mutex::new(false), Condvar::new()));
        let (bar, seen) = (bar.clone(), Arc::clone(&stopped));
        let turn = move || {
            let (stopped, changed) = &*seen;
            let mut is_stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
            while !*is_stopped {
                bar.tick();
                is_stopped = changed.wait_timeout(is_stopped, TURN).unwrap_or_else(PoisonError::into_inner).0;
            }
        };
        Spinner { stopped, thread: Builder::new().name("spinner".to_owned()).spawn(turn).ok() }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        *self.stopped.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stopped.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

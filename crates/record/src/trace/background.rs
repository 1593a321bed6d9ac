//! What is read of /proc while the start goes on: it is needed later, or after other work.

use std::thread::{Builder, JoinHandle};

/// A value that a thread computes.
#[derive(Debug, Default)]
pub(super) struct Background<T> {
    running: Option<JoinHandle<T>>,
    done: T,
}

impl<T: Default + Send + 'static> Background<T> {
    /// Starts the thread. Where none can be started the value is the default, as where /proc cannot be read.
    pub(super) fn start(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Background<T> {
        Background { running: Builder::new().name(name.to_owned()).spawn(work).ok(), done: T::default() }
    }

    /// The value, which this waits for.
    pub(super) fn get(&mut self) -> &T {
        if let Some(running) = self.running.take() {
            self.done = running.join().unwrap_or_default();
        }
        &self.done
    }

    /// The value, which this waits for.
    pub(super) fn into_value(mut self) -> T {
        self.get();
        self.done
    }
}

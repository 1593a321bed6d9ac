//! What would help a run, predicted in the background: a live run grows with each poll, and of a large one the
//! prediction takes longer than that.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use explain::whatif::Advice;

use crate::reading::document::PendingAdvice;

/// Minimum time between the ends and begins of predictions.
const REST: Duration = Duration::from_secs(15);
/// A prediction that took long is followed by this many times as long a rest.
const RESTS: u32 = 10;

/// The advisor of one run.
#[derive(Default)]
pub(super) struct Advisor(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    advice: Option<Advice>,
    /// The state of the run that it is about, or that it is being predicted for.
    of: String,
    is_busy: bool,
    /// No prediction begins before.
    rests_until: Option<Instant>,
    /// Predictions so far.
    version: u64,
}

impl Advisor {
    /// What is known so far, and its version.
    pub(super) fn advice(&self) -> (Option<Advice>, u64) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (known.advice.clone(), known.version)
    }

    /// Whether the advice is about that state.
    pub(super) fn knows(&self, state: &str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.of == state && !known.is_busy
    }

    /// Predicts for a state of the run, if that is due, and lets the caller wait for the first prediction.
    pub(super) fn predict(&self, state: &str, pending: impl FnOnce() -> Option<PendingAdvice>) {
        let known = Arc::clone(&self.0);
        let Some(is_first) = begin(&known, state) else { return };
        let Some(pending) = pending() else { return end(&known, None) };
        let predict = move || {
            let began = Instant::now();
            let advice = pending.predict();
            end(&known, Some((advice, began.elapsed())));
        };
        if is_first {
            return predict();
        }
        let thread = std::thread::Builder::new().name("advice".into()).spawn(predict);
        if thread.is_err() {
            end(&self.0, None);
        }
    }
}

/// Whether a prediction for that state is due; then, whether it is the first.
fn begin(known: &Mutex<Known>, state: &str) -> Option<bool> {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let rests = known.rests_until.is_some_and(|until| Instant::now() < until);
    if known.is_busy || rests || known.of == state {
        return None;
    }
    known.is_busy = true;
    known.of = state.to_owned();
    Some(known.version == 0)
}

/// Takes a prediction, and how long it took; `None` where nothing can be predicted.
fn end(known: &Mutex<Known>, predicted: Option<(Advice, Duration)>) {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.is_busy = false;
    if let Some((advice, took)) = predicted {
        known.version += 1;
        known.advice = Some(advice);
        known.rests_until = Some(Instant::now() + REST.max(took * RESTS));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use explain::whatif::Advice;

    use super::{Known, begin, end};

    #[test]
    fn a_state_is_predicted_once_and_the_next_only_after_a_rest() {
        let known = Mutex::new(Known::default());
        assert_eq!(begin(&known, "a"), Some(true), "the first");
        assert_eq!(begin(&known, "b"), None, "while one runs");
        end(&known, Some((Advice::default(), Duration::ZERO)));
        assert_eq!(begin(&known, "b"), None, "it rests");
        known.lock().unwrap().rests_until = Some(Instant::now());
        assert_eq!(begin(&known, "a"), None, "it is known");
        assert_eq!(begin(&known, "b"), Some(false));
        end(&known, None);
        let known = known.into_inner().unwrap();
        assert!(known.advice.is_some() && known.version == 1, "a failure keeps what was known");
    }
}

//! Ends a program of the tests at one of its changes: it makes none any more, not even while its values are dropped.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};

thread_local! {
    /// Moments that are left to live, two for each change: before it, and in its middle. `None`: for ever.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    static IS_DEAD: Cell<bool> = const { Cell::new(false) };
}

struct Died;

/// Runs a program that dies at a moment of its changes; `None` if it ends before.
pub(crate) fn run_until<T>(moment: usize, program: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(Some(moment));
    let outcome = catch_unwind(AssertUnwindSafe(program));
    LEFT.set(None);
    IS_DEAD.set(false);
    match outcome {
        Ok(value) => Some(value),
        Err(cause) if cause.is::<Died>() => None,
        Err(cause) => panic_any(cause),
    }
}

fn die_if_due() {
    match LEFT.get() {
        Some(0) => {
            IS_DEAD.set(true);
            LEFT.set(None);
            // Without the message of a panic.
            resume_unwind(Box::new(Died));
        }
        left => LEFT.set(left.map(|left| left - 1)),
    }
}

/// Makes a change, unless the program dies or is dead.
pub(super) fn make<T>(partly: impl FnOnce(), act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    if IS_DEAD.get() {
        return Err(io::Error::other("the program is dead"));
    }
    die_if_due();
    if LEFT.get() == Some(0) {
        partly();
    }
    die_if_due();
    act()
}

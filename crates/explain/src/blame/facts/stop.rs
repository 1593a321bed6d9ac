//! How a task was stopped, by its state.

/// States as in the kernel's `__state`.
const TASK_TRACED: u32 = 0x8;
const TASK_FROZEN: u32 = 0x8000;

/// What keeps a task from running, whatever it would wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Signal,
    Debugger,
    Freezer,
}

impl Stop {
    /// By the state of a task that is stopped.
    pub(crate) fn of(state: u32) -> Stop {
        match state {
            _ if state & TASK_FROZEN != 0 => Stop::Freezer,
            _ if state & TASK_TRACED != 0 => Stop::Debugger,
            _ => Stop::Signal,
        }
    }
}

//! What a dump holds.

use model::kernel_function::{fits, locks, sleeps};

/// A dump, bounded: what exceeds the bounds is counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dump {
    /// Tasks with a stack, each once: the last of its stacks.
    pub tasks: Vec<Task>,
    /// Who is said to hold what others wait for.
    pub holders: Vec<Holder>,
    /// Other messages that bear on the cause.
    pub signs: Vec<Sign>,
    /// The kernel's release, as the first report names it.
    pub kernel: Option<String>,
    /// Tasks beyond [`Dump::TASKS`].
    pub more_tasks: u64,
}

impl Dump {
    /// Tasks that are kept.
    pub const TASKS: usize = 20_000;
    /// Functions of a stack that are kept, the innermost.
    pub const FRAMES: usize = 128;
    /// Holders that are kept.
    pub const HOLDERS: usize = 20_000;
    /// Signs that are kept.
    pub const SIGNS: usize = 100;
}

/// A task with its stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// Its name; empty where the dump has none.
    pub name: String,
    /// Its thread id; `None` where the dump has none.
    pub tid: Option<u32>,
    /// Its state: `D`, `S`, `R`; `None` where the dump does not say.
    pub state: Option<char>,
    /// Of a kernel worker: the function of its work, with what it works on.
    pub work: Option<String>,
    /// The longest time for which it was reported to be blocked, s.
    pub blocked_s: Option<u64>,
    /// How often the dump has it.
    pub reports: u32,
    /// Functions, the innermost first.
    pub frames: Vec<String>,
    /// The kernel module of each function; empty where it is the kernel's own or unknown.
    pub modules: Vec<String>,
}

impl Task {
    /// `name/tid`, as elsewhere.
    pub fn title(&self) -> String {
        match (self.name.as_str(), self.tid) {
            ("", Some(tid)) => format!("thread {tid}"),
            ("", None) => "a task".to_owned(),
            (name, Some(tid)) => format!("{name}/{tid}"),
            (name, None) => name.to_owned(),
        }
    }

    /// Whether it sleeps until a lock is released.
    pub(crate) fn sleeps_on_lock(&self) -> bool {
        self.frames.iter().take_while(|frame| sleeps(frame)).any(|frame| locks(frame))
    }

    /// Whether any of these functions is on its stack; a trailing `*` matches any end.
    pub(crate) fn calls(&self, functions: &[&str]) -> bool {
        self.frames.iter().any(|frame| functions.iter().any(|function| fits(function, frame)))
    }
}

/// The kernel says who holds, or likely holds, what a task waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holder {
    /// Thread id of the task that waits.
    pub waiter: u32,
    /// Thread id of the holder.
    pub holder: u32,
    /// Its name.
    pub name: String,
    /// What it holds: `mutex`, `rw-semaphore`, or the lock's class.
    pub lock: String,
    /// Whether it is only known to have held it last.
    pub is_last: bool,
}

/// A message that bears on the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    /// What it is a sign of, in words.
    pub of: &'static str,
    /// The message, without the log's prefix.
    pub text: String,
    /// How often a message of this kind was seen.
    pub count: u64,
}

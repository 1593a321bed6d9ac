//! What a dump holds.

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
        let sleeping = self.frames.iter().take_while(|frame| SLEEPING.iter().any(|pattern| fits(pattern, frame)));
        sleeping.into_iter().any(|frame| LOCKING.iter().any(|pattern| fits(pattern, frame)))
    }

    /// Whether any of these functions is on its stack; a trailing `*` matches any end.
    pub(crate) fn calls(&self, functions: &[&str]) -> bool {
        self.frames.iter().any(|frame| functions.iter().any(|function| fits(function, frame)))
    }
}

/// Functions that put a task to sleep until a lock is free.
pub(crate) const LOCKING: &[&str] = &[
    "mutex_lock*",
    "__mutex_lock*",
    "ww_mutex_lock*",
    "__ww_mutex_lock*",
    "rt_mutex_*",
    "rwsem_down_*",
    "rwbase_*",
    "call_rwsem_down_*",
    "down_read*",
    "down_write*",
    "__down_read*",
    "__down_write*",
    "down",
    "down_interruptible",
    "down_killable",
    "down_timeout",
    "__down*",
    "lock_sock_nested",
    "__lock_sock",
    "percpu_down_*",
    "queued_*_lock_slowpath",
];
/// Functions of the scheduler, of locks and of waits: what puts a task to sleep, for whatever reason. Recorded stacks lack them.
pub(crate) const SLEEPING: &[&str] = &[
    "mutex_lock*",
    "__mutex_lock*",
    "ww_mutex_lock*",
    "__ww_mutex_lock*",
    "rt_mutex_*",
    "rwsem_down_*",
    "rwbase_*",
    "call_rwsem_down_*",
    "down_read*",
    "down_write*",
    "__down_read*",
    "__down_write*",
    "down",
    "down_interruptible",
    "down_killable",
    "down_timeout",
    "__down*",
    "percpu_down_*",
    "__switch_to*",
    "__schedule*",
    "schedule",
    "schedule_timeout*",
    "schedule_preempt_disabled",
    "schedule_hrtimeout*",
    "preempt_schedule*",
    "io_schedule*",
    "thread_return",
    "wait_for_completion*",
    "wait_for_common*",
    "__wait_for_common*",
    "do_wait_for_common",
    "do_wait_intr*",
    "bit_wait*",
    "__wait_on_bit*",
    "out_of_line_wait_on_bit*",
    "wait_on_bit*",
    "__wait_on_atomic_t",
    "sleep_on_*",
    "sync_buffer",
    "sync_page*",
    "wait_woken",
    "prepare_to_wait*",
    "finish_wait",
    "autoremove_wake_function",
    "wake_atomic_t_function",
    "wake_bit_function",
    "var_wake_function",
    "default_wake_function",
    "__pfx_*",
    "srso_*",
    "context_switch",
];

/// Whether a function matches a pattern, of which a trailing `*` matches any end.
pub(crate) fn fits(pattern: &str, function: &str) -> bool {
    pattern.strip_suffix('*').map_or(function == pattern, |begin| function.starts_with(begin))
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

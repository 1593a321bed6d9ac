//! Functions of the kernel by what they do to the task that calls them.
//!
//! `stack_trace_save_tsk` omits the section `.sched.text`, so that recorded stacks of sleeping tasks lack them. Dumps
//! and the stacks of other tracers have them.

/// Functions that put a task to sleep until a lock is free.
const LOCKS: &[&str] = &[
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
];
/// Functions of the scheduler and of waits that put a task to sleep for any other reason.
const WAITS: &[&str] = &[
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
pub fn fits(pattern: &str, function: &str) -> bool {
    pattern.strip_suffix('*').map_or(function == pattern, |begin| function.starts_with(begin))
}

fn any(patterns: &[&str], function: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, function))
}

/// Whether a function puts its caller to sleep until a lock is free.
pub fn locks(function: &str) -> bool {
    any(LOCKS, function)
}

/// Whether a function puts its caller to sleep, for whatever reason.
pub fn sleeps(function: &str) -> bool {
    locks(function) || any(WAITS, function)
}

#[cfg(test)]
mod tests {
    use super::sleeps;

    #[test]
    fn functions_that_sleep() {
        assert!(sleeps("io_schedule_timeout") && sleeps("__mutex_lock_slowpath") && sleeps("down"));
        assert!(!sleeps("jbd2_log_wait_commit") && !sleeps("downgrade_write"));
    }
}

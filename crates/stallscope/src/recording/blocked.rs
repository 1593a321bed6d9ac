//! Remarks on tasks that are blocked now.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use model::quantity::Nanoseconds;
use record::{BlockedNow, clock};
use report::style::printable;

use crate::ui::screen::Screen;

/// A task blocked for this long is reported, once.
const REMARK_AFTER_NS: u64 = 2_000_000_000;
/// Minimum time between remarks: a stall has many victims.
const REMARK_EVERY: Duration = Duration::from_secs(5);
/// Stack frames shown.
const FRAMES: usize = 4;

/// The remarks on blocked tasks so far.
#[derive(Debug, Default)]
pub struct BlockedRemarks {
    reported: HashSet<(u32, u64)>,
    last: Option<Instant>,
}

impl BlockedRemarks {
    /// Reports the task that is blocked the longest, and how many others are blocked for long.
    pub fn remark(&mut self, blocked: &[BlockedNow], screen: &Screen) {
        if self.last.is_some_and(|last| last.elapsed() < REMARK_EVERY) {
            return;
        }
        let now_ns = clock::monotonic_ns();
        let key = |task: &BlockedNow| (task.tid, task.since_ns);
        let is_long = |task: &&BlockedNow| now_ns.saturating_sub(task.since_ns) >= REMARK_AFTER_NS;
        let long: Vec<&BlockedNow> = blocked.iter().filter(is_long).collect();
        self.reported.retain(|reported| long.iter().any(|task| key(task) == *reported));
        let Some(task) = long.iter().find(|task| !self.reported.contains(&key(task))) else { return };
        let others = match long.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        screen.remark(&format!("blocked: {}{others}", describe(task, now_ns)));
        self.reported.extend(long.into_iter().map(key));
        self.last = Some(Instant::now());
    }
}

/// How many tasks are blocked, and which the longest: part of the progress line. Empty if none is.
pub fn summary(blocked: &[BlockedNow]) -> String {
    let Some(longest) = blocked.first() else { return String::new() };
    format!(", {} blocked: {}", blocked.len(), describe(longest, clock::monotonic_ns()))
}

fn describe(task: &BlockedNow, now_ns: u64) -> String {
    let lasts = Nanoseconds(now_ns.saturating_sub(task.since_ns) / 100_000_000 * 100_000_000);
    let name = printable(&task.name);
    let frames: Vec<&str> = task.frames.iter().take(FRAMES).map(String::as_str).collect();
    let stack = if frames.is_empty() { String::new() } else { format!(" in {}", printable(&frames.join(" < "))) };
    let path = task.path.as_deref().map_or_else(String::new, |path| format!(" of {}", printable(path)));
    let call = task.call.map_or_else(String::new, |call| format!(" {call}{path}"));
    format!("{name}/{}{call} for {lasts}{stack}", task.tid)
}

#[cfg(test)]
mod tests {
    use record::BlockedNow;

    use super::describe;

    #[test]
    fn a_blocked_task_is_named_with_its_stack_and_without_control_characters() {
        let frames = ["folio_wait_bit", "folio_wait_writeback", "ext4_sync_file", "do_fsync", "vfs_fsync"];
        let task = BlockedNow {
            tid: 77,
            pid: 70,
            name: "a\x1b[2Jb".into(),
            since_ns: 1_000,
            call: None,
            path: None,
            frames: frames.map(str::to_owned).into(),
        };
        let words = describe(&task, 2_500_001_000);
        assert!(
            words.ends_with("/77 for 2.50 s in folio_wait_bit < folio_wait_writeback < ext4_sync_file < do_fsync"),
            "{words}"
        );
        assert!(!words.contains('\x1b'), "{words}");
        let task = BlockedNow { call: Some("fsync"), path: Some("/mnt/file".into()), ..task };
        let words = describe(&task, 2_500_001_000);
        assert!(words.contains("/77 fsync of /mnt/file for 2.50 s in folio_wait_bit"), "{words}");
    }
}

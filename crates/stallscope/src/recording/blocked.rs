//! Who is blocked right now, in words.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use model::quantity::Nanoseconds;
use record::{BlockedNow, clock};
use report::style::printable;

use crate::ui::screen::Screen;

/// A task that is blocked for so long is remarked on, once.
const REMARK_AFTER_NS: u64 = 2_000_000_000;
/// No more than one remark in so much time: a stall has many victims.
const REMARK_EVERY: Duration = Duration::from_secs(5);
/// Frames of a stack that are shown.
const FRAMES: usize = 4;

/// What was said of blocked tasks so far.
#[derive(Debug, Default)]
pub struct BlockedRemarks {
    told: HashSet<(u32, u64)>,
    last: Option<Instant>,
}

impl BlockedRemarks {
    /// Remarks on tasks that are blocked for long: the one that is so the longest, and how many others are.
    pub fn remark(&mut self, blocked: &[BlockedNow], screen: &Screen) {
        if self.last.is_some_and(|last| last.elapsed() < REMARK_EVERY) {
            return;
        }
        let now_ns = clock::monotonic_ns();
        let key = |task: &BlockedNow| (task.tid, task.since_ns);
        let is_long = |task: &&BlockedNow| now_ns.saturating_sub(task.since_ns) >= REMARK_AFTER_NS;
        let long: Vec<&BlockedNow> = blocked.iter().filter(is_long).collect();
        self.told.retain(|told| long.iter().any(|task| key(task) == *told));
        let Some(task) = long.iter().find(|task| !self.told.contains(&key(task))) else { return };
        let others = match long.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        screen.remark(&format!("blocked: {}{others}", in_words(task, now_ns)));
        self.told.extend(long.into_iter().map(key));
        self.last = Some(Instant::now());
    }
}

/// How many are blocked, and who the longest: a part of the progress line. Empty where nobody is.
pub fn in_short(blocked: &[BlockedNow]) -> String {
    let Some(longest) = blocked.first() else { return String::new() };
    format!(", {} blocked: {}", blocked.len(), in_words(longest, clock::monotonic_ns()))
}

fn in_words(task: &BlockedNow, now_ns: u64) -> String {
    let lasts = Nanoseconds(now_ns.saturating_sub(task.since_ns) / 100_000_000 * 100_000_000);
    let name = printable(&task.name);
    let frames: Vec<&str> = task.frames.iter().take(FRAMES).map(String::as_str).collect();
    let place = if frames.is_empty() { String::new() } else { format!(" in {}", printable(&frames.join(" < "))) };
    let path = task.path.as_deref().map_or_else(String::new, |path| format!(" of {}", printable(path)));
    let call = task.call.map_or_else(String::new, |call| format!(" {call}{path}"));
    format!("{name}/{}{call} for {lasts}{place}", task.tid)
}

#[cfg(test)]
mod tests {
    use record::BlockedNow;

    use super::in_words;

    #[test]
    fn a_blocked_task_is_named_with_its_stack_and_nothing_that_a_terminal_obeys() {
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
        let words = in_words(&task, 2_500_001_000);
        assert!(
            words.ends_with("/77 for 2.50 s in folio_wait_bit < folio_wait_writeback < ext4_sync_file < do_fsync"),
            "{words}"
        );
        assert!(!words.contains('\x1b'), "{words}");
        let task = BlockedNow { call: Some("fsync"), path: Some("/mnt/file".into()), ..task };
        let words = in_words(&task, 2_500_001_000);
        assert!(words.contains("/77 fsync of /mnt/file for 2.50 s in folio_wait_bit"), "{words}");
    }
}

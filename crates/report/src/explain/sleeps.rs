//! Sleeps of the recorded command that no operation holds.

use std::fmt::Write as _;

use explain::blame::{Explanation, OtherEnd, Sleep, TaskState};
use model::quantity::Nanoseconds;
use model::quantity::counted;

use crate::style::{Style, printable};

/// Sleeps shown.
const SHOWN: usize = 5;
/// Calls named of idle sleeps.
const CALLS: usize = 3;

pub(super) fn sleeps(text: &mut String, explanation: &Explanation, style: Style) {
    let sleeps = &explanation.sleeps;
    if sleeps.count == 0 {
        return;
    }
    let heading = match explanation.command {
        Some(_) => "Sleeps of the recorded command outside of these operations",
        None => "Sleeps outside of these operations that had not ended",
    };
    let _ = writeln!(text, "\n{}", style.heading(heading));
    for sleep in sleeps.longest.iter().take(SHOWN) {
        let _ = writeln!(text, " {}", one(sleep));
    }
    let more = sleeps.count.saturating_sub(SHOWN as u64);
    if more > 0 {
        let line = format!(" {more} more, {} together; see --json", Nanoseconds(sleeps.total_ns));
        let _ = writeln!(text, "{}", style.faint(&line));
    }
    if sleeps.idle_count > 0 {
        let calls: Vec<String> = sleeps.idle_calls.iter().take(CALLS).map(|call| printable(call)).collect();
        let (count, time) = (counted(sleeps.idle_count, "idle sleep"), Nanoseconds(sleeps.idle_ns));
        let _ =
            writeln!(text, "{}", style.faint(&format!(" besides {count} of {time} together ({})", calls.join(", "))));
    }
}

fn one(sleep: &Sleep) -> String {
    let call = sleep.call.as_deref().map_or_else(|| "outside of a system call".to_owned(), printable);
    if let Some(quota) = &sleep.cpu_quota {
        let quota = if quota.is_empty() { String::new() } else { format!(" ({})", printable(quota)) };
        let (task, time) = (printable(&sleep.task.to_string()), Nanoseconds(sleep.duration_ns));
        return format!("{call} by {task}: held for {time} by the CPU quota of its cgroup{quota}");
    }
    let stack = sleep.stack.as_deref().map_or_else(String::new, |stack| format!(" in {}", printable(stack)));
    let object =
        sleep.waits_for.as_ref().map_or_else(String::new, |what| format!(", for {}", printable(&what.to_string())));
    let waker =
        sleep.waker.as_ref().map_or_else(String::new, |waker| format!(", woken by {}", printable(&waker.to_string())));
    let until = match (sleep.throughout, sleep.unfinished) {
        (true, _) => ", throughout the recording",
        (false, true) => ", not ended",
        (false, false) => "",
    };
    let others = other_ends(&sleep.other_ends);
    let (task, time) = (printable(&sleep.task.to_string()), Nanoseconds(sleep.duration_ns));
    format!("{call} by {task}: {time}{until}{object}{stack}{waker}{others}")
}

/// `, waits for redis/7 (a TCP connection; 14 bytes not read), which is stopped`
fn other_ends(ends: &[OtherEnd]) -> String {
    let mut text = String::new();
    for (number, end) in ends.iter().enumerate() {
        let begin = match (number, end.is_certain) {
            (0, true) => ", waits for",
            (0, false) => ", perhaps waits for",
            (_, true) => " for",
            (_, false) => ", perhaps for",
        };
        let _ = write!(text, "{begin} {}", printable(&end.task.to_string()));
        let unread = end.unread_bytes.map(|bytes| format!("{} not read", counted(bytes, "byte")));
        let title = end.title.as_deref().map(|title| format!("\"{}\"", printable(title)));
        let of: Vec<String> = end
            .through
            .as_ref()
            .map(|through| printable(&through.to_string()))
            .into_iter()
            .chain(unread)
            .chain(title)
            .collect();
        if !of.is_empty() {
            let _ = write!(text, " ({})", of.join("; "));
        }
        match (end.state, &end.call) {
            (Some(TaskState::Asleep), Some(call)) => _ = write!(text, ", which sleeps in {}", printable(call)),
            (Some(TaskState::Asleep), None) => text.push_str(", which sleeps"),
            (Some(TaskState::Unknown) | None, _) => {}
            (Some(TaskState::Traced), _) => text.push_str(", which is stopped by a debugger"),
            (Some(state), _) => _ = write!(text, ", which is {}", state.name()),
        }
    }
    let on = ends.last().filter(|last| last.state == Some(TaskState::Asleep)).and_then(|last| last.on.as_ref());
    text + &on.map_or_else(String::new, |on| format!(" ({})", printable(&on.to_string())))
}

//! What a text has: the names of its events, its length, its losses.

use std::collections::BTreeMap;
use std::io::BufRead;

use crate::text_line::{event, frame};
use crate::text_signals::is_signal;

/// Longer lines are no events.
const LONGEST: u64 = 64 << 10;

/// What a text has, by the names of its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextContents {
    /// Events by name.
    pub events: BTreeMap<String, u64>,
    /// Functions below events.
    pub frames: u64,
    /// When the first one happened, on the source's clock.
    pub first_ns: Option<u64>,
    /// When the last one happened.
    pub last_ns: u64,
    /// How many events the source says that it lost.
    pub lost: u64,
}

/// Names of events that are counted, at most.
const NAMES: usize = 4096;

impl TextContents {
    /// Reads a source to its end.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn of(source: impl BufRead) -> std::io::Result<TextContents> {
        let mut contents = TextContents::default();
        each_line(source, |line| {
            if let Some(event) = event(line) {
                contents.first_ns.get_or_insert(event.at_ns);
                contents.last_ns = contents.last_ns.max(event.at_ns);
                if contents.events.len() < NAMES || contents.events.contains_key(event.name) {
                    *contents.events.entry(event.name.to_owned()).or_default() += 1;
                }
            } else if frame(line).is_some() {
                contents.frames += 1;
            }
            contents.lost += lost(line).unwrap_or(0);
        })?;
        Ok(contents)
    }

    /// Whether it has an event of that name, or one that begins with it.
    pub fn has(&self, name: &str) -> bool {
        let begins = |known: &String| name.strip_suffix('*').map_or(known == name, |begin| known.starts_with(begin));
        self.events.keys().any(begins)
    }

    /// Events that an import does not use, by name.
    pub fn unused(&self) -> Vec<&str> {
        let is_used = |name: &str| {
            const USED: [&str; 6] = [
                "sched_switch",
                "sched_waking",
                "sched_wakeup",
                "sched_wakeup_new",
                "sched_blocked_reason",
                "sched_process_exit",
            ];
            let begins = ["block_", "sys_", "<stack", "kernel_stack", "<user", "user_stack"];
            USED.contains(&name) || begins.iter().any(|begin| name.starts_with(begin)) || is_signal(name)
        };
        self.events.keys().map(String::as_str).filter(|name| !is_used(name)).collect()
    }

    /// Whether system calls are among the events.
    pub fn has_system_calls(&self) -> bool {
        self.has("sys_enter*") || self.has("sys_exit*") || self.events.keys().any(|name| name.starts_with("sys_"))
    }
}

/// `CPU:1 [LOST 42 EVENTS]`, `LOST 42 events!`, `CPU:1 [42 EVENTS DROPPED]`; one where nobody counted them.
pub(crate) fn lost(line: &str) -> Option<u64> {
    if let Some((before, _)) = line.split_once("EVENTS DROPPED]") {
        let (_, count) = before.split_once(" [").filter(|(cpu, _)| cpu.starts_with("CPU:"))?;
        return Some(count.trim().parse().unwrap_or(1));
    }
    let (_, rest) = line.split_once("LOST ")?;
    let mut words = rest.split_whitespace();
    let count = words.next()?.parse().ok()?;
    words.next()?.to_ascii_lowercase().starts_with("event").then_some(count)
}

/// Hands over each line; of one that is too long only its begin.
pub(crate) fn each_line(mut source: impl BufRead, mut take: impl FnMut(&str)) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        if std::io::Read::take(&mut source, LONGEST).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(());
        }
        take(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
    }
}

#[cfg(test)]
mod tests {
    use super::lost;

    #[test]
    fn losses_in_the_words_of_three_tools() {
        assert_eq!(lost("CPU:1 [LOST 42 EVENTS]"), Some(42));
        assert_eq!(lost("LOST 42 events!"), Some(42));
        assert_eq!(lost("CPU:0 [76 EVENTS DROPPED]"), Some(76));
        assert_eq!(lost("CPU:0 [EVENTS DROPPED]"), Some(1));
        assert_eq!(lost("dd-7 [001] 1.000001: print: [76 EVENTS DROPPED]"), None);
        assert_eq!(lost("LOST in translation"), None);
    }
}

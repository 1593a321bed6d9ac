//! Messages of the flight recorder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::quantity::counted;
use model::quantity::{Bytes, Nanoseconds};
use report::style::printable;
use serde_json::{Value, json};

use super::args::FlightArgs;
use super::keeper::Outcome;
use super::limiter::{Keeping, Trigger, Verdict};
use super::ring::{Extent, Figures};
use crate::ui::screen::Screen;

/// Joined stalls reported per keeping.
const REPORTED_JOINS: u32 = 3;
/// Minimum time between messages about stalls that come too soon.
const TOO_SOON_EVERY_NS: u64 = 60_000_000_000;

/// The message at the start.
pub fn begin(directory: &Path, args: &FlightArgs, extent: Extent) -> String {
    let conditions: Vec<String> = args.on_stall.iter().map(|condition| printable(&condition.to_string())).collect();
    let on = match conditions.is_empty() {
        true => String::new(),
        false => format!("{} or ", conditions.join(", ")),
    };
    format!(
        "keeping the last {} (at most {}) in {}; saves a run on {on}SIGUSR1 (kill -USR1 {})",
        Nanoseconds(extent.ring_ns),
        Bytes(extent.ring_bytes),
        directory.display(),
        std::process::id()
    )
}

/// Messages about triggers, limited in a storm.
#[derive(Debug, Default)]
pub struct TriggerMessages {
    joined: u32,
    /// When a trigger that came too soon was last reported, on the monotonic clock.
    too_soon_ns: Option<u64>,
    unreported: u64,
}

impl TriggerMessages {
    /// The message for a trigger; `None` if the limit is reached.
    pub fn message(&mut self, trigger: &Trigger, verdict: &Verdict, now_ns: u64) -> Option<String> {
        let reason = printable(&trigger.reason);
        match verdict {
            Verdict::Keep => {
                self.joined = 0;
                Some(format!("to be saved: {reason}"))
            }
            Verdict::Joins => {
                self.joined = self.joined.saturating_add(1);
                (self.joined <= REPORTED_JOINS).then(|| format!("to be saved with it: {reason}"))
            }
            Verdict::TooSoon { left_ns } => {
                let reported_ns = self.too_soon_ns.unwrap_or(0);
                if self.too_soon_ns.is_some() && now_ns.saturating_sub(reported_ns) < TOO_SOON_EVERY_NS {
                    self.unreported += 1;
                    return None;
                }
                self.too_soon_ns = Some(now_ns);
                let before = match std::mem::take(&mut self.unreported) {
                    0 => String::new(),
                    unreported => format!("; {unreported} more since the last message"),
                };
                let left = Nanoseconds(*left_ns);
                Some(format!("not saved: too soon (for another {left}, --keep-every{before}): {reason}"))
            }
        }
    }
}

/// The reasons of a keeping in one line.
pub fn reasons(keeping: &Keeping) -> String {
    let mut text = printable(&keeping.first.reason);
    let others = keeping.also.len() as u64 + keeping.further;
    if others > 0 {
        text.push_str(&format!(" (and {others} more)"));
    }
    text
}

/// What was kept so far, for the final summary.
pub struct KeptLog {
    directory: PathBuf,
    kept: Vec<(PathBuf, String, u64)>,
    not_kept: Vec<String>,
}

impl KeptLog {
    /// An empty log.
    pub fn new(directory: PathBuf) -> KeptLog {
        KeptLog { directory, kept: Vec::new(), not_kept: Vec::new() }
    }

    /// The progress line.
    pub fn progress(&self, lasted: Duration) -> String {
        format!("recording for {}, {} saved", Nanoseconds(lasted.as_secs() * 1_000_000_000), self.kept.len())
    }

    /// Logs and reports what was kept, or why not.
    pub fn outcome(&mut self, outcome: Outcome, screen: &Screen) {
        match outcome.run {
            Ok((path, bytes)) => {
                screen.result(&format!("saved {} ({}): {}\n", path.display(), Bytes(bytes), outcome.reason));
                self.kept.push((path, outcome.reason, bytes));
            }
            Err(why) => {
                screen.warning(&format!("not saved: {}: {why}", outcome.reason));
                self.not_kept.push(format!("{}: {why}", outcome.reason));
            }
        }
        if let Some(remark) = outcome.remark {
            screen.warning(&remark);
        }
    }

    /// Prints the final summary.
    pub fn end(&self, ring: Figures, too_soon: u64, json: bool, screen: &Screen) {
        if json {
            return screen.json(&self.document(ring, too_soon));
        }
        let mut text = format!(
            "{}, {} saved in {}",
            counted(ring.slices, "slice"),
            counted(self.kept.len() as u64, "run"),
            self.directory.display()
        );
        let losses = [
            (too_soon, "stalls came too soon to be saved"),
            (self.not_kept.len() as u64, "could not be saved"),
            (ring.shortened, "slices were shortened"),
            (ring.dropped_early, "slices were deleted early"),
            (ring.skipped, "slices could not be written"),
            (ring.lost_rows, "rows were lost"),
        ];
        for (count, what) in losses.into_iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!("; {count} {what}"));
        }
        screen.result(&format!("{text}\n"));
    }

    fn document(&self, ring: Figures, too_soon: u64) -> Value {
        let kept = |(path, reason, bytes): &(PathBuf, String, u64)| {
            json!({ "run": path.display().to_string(),
            "reason": reason, "bytes": bytes })
        };
        json!({
            "flight": self.directory.display().to_string(),
            "kept": self.kept.iter().map(kept).collect::<Vec<Value>>(),
            "not_kept": self.not_kept,
            "too_soon": too_soon,
            "ring": {
                "slices": ring.slices,
                "shortened": ring.shortened,
                "dropped_early": ring.dropped_early,
                "skipped": ring.skipped,
                "lost_rows": ring.lost_rows,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Trigger, TriggerMessages, Verdict};

    #[test]
    fn a_storm_of_stalls_is_reported_in_a_few_lines() {
        let mut messages = TriggerMessages::default();
        let trigger = Trigger { at_ns: 0, word: "stall".into(), reason: "a\x1b[31m stall".into(), by_hand: false };
        let mut message = |verdict, now_ns| messages.message(&trigger, &verdict, now_ns);
        assert!(
            message(Verdict::Keep, 0).is_some_and(|text| text.starts_with("to be saved: a") && !text.contains('\x1b'))
        );
        assert_eq!((0..100).filter_map(|now_ns| message(Verdict::Joins, now_ns)).count(), 3);
        let too_soon = || Verdict::TooSoon { left_ns: 5_000_000_000 };
        let reported: Vec<String> = (0..180).filter_map(|second| message(too_soon(), second * 1_000_000_000)).collect();
        assert_eq!(reported.len(), 3);
        assert!(
            reported[2].contains("(for another 5.00 s, --keep-every; 59 more since the last message)"),
            "{}",
            reported[2]
        );
        assert!(message(Verdict::Keep, 0).is_some() && message(Verdict::Joins, 0).is_some());
    }
}

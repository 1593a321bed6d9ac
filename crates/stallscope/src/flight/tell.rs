//! What a flight recorder says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::quantity::{Bytes, Nanoseconds};
use report::style::printable;
use serde_json::{Value, json};

use super::args::FlightArgs;
use super::keeper::Outcome;
use super::limiter::{Keeping, Trigger, Verdict};
use super::ring::{Extent, Figures};
use crate::screen::Screen;

/// What it is going to do.
pub fn begin(directory: &Path, args: &FlightArgs, extent: Extent) -> String {
    let conditions: Vec<String> = args.on_stall.iter().map(|condition| printable(&condition.to_string())).collect();
    let on = match conditions.is_empty() {
        true => String::new(),
        false => format!("{}, and ", conditions.join(", ")),
    };
    format!(
        "keeping the last {} (at most {}) in {}; kept as a run on {on}SIGUSR1 (kill -USR1 {})",
        Nanoseconds(extent.ring_ns),
        Bytes(extent.ring_bytes),
        directory.display(),
        std::process::id()
    )
}

/// What becomes of a trigger.
pub fn verdict(trigger: &Trigger, verdict: &Verdict) -> String {
    let reason = printable(&trigger.reason);
    match verdict {
        Verdict::Keep => format!("to be kept: {reason}"),
        Verdict::Joins => format!("to be kept with it: {reason}"),
        Verdict::TooSoon { left_ns } => {
            format!("not kept, because it is too soon (for another {}, --keep-every): {reason}", Nanoseconds(*left_ns))
        }
    }
}

/// Why something is kept, in one line.
pub fn reasons(keeping: &Keeping) -> String {
    let mut text = printable(&keeping.first.reason);
    let others = keeping.also.len() as u64 + keeping.further;
    if others > 0 {
        text.push_str(&format!(" (and {others} more)"));
    }
    text
}

/// What was told so far, for the end.
pub struct Told {
    /// The flight recorder's directory.
    pub directory: PathBuf,
    kept: Vec<(PathBuf, String, u64)>,
    not_kept: Vec<String>,
}

impl Told {
    /// Nothing yet.
    pub fn new(directory: PathBuf) -> Told {
        Told { directory, kept: Vec::new(), not_kept: Vec::new() }
    }

    /// What a progress line says.
    pub fn in_short(&self, lasted: Duration) -> String {
        format!("recording for {}, {} kept", Nanoseconds(lasted.as_secs() * 1_000_000_000), self.kept.len())
    }

    /// Tells what was kept, or why not.
    pub fn outcome(&mut self, outcome: Outcome, screen: &Screen) {
        match outcome.run {
            Ok((path, bytes)) => {
                screen.result(&format!("kept {} ({}): {}\n", path.display(), Bytes(bytes), outcome.reason));
                self.kept.push((path, outcome.reason, bytes));
            }
            Err(why) => {
                screen.warning(&format!("not kept: {}: {why}", outcome.reason));
                self.not_kept.push(format!("{}: {why}", outcome.reason));
            }
        }
        if let Some(remark) = outcome.remark {
            screen.warning(&remark);
        }
    }

    /// The last words.
    pub fn end(&self, ring: Figures, too_soon: u64, json: bool, screen: &Screen) {
        if json {
            return screen.json(&self.document(ring, too_soon));
        }
        let mut text = format!("{} slices, {} runs kept in {}", ring.slices, self.kept.len(), self.directory.display());
        let losses = [
            (too_soon, "stalls came too soon to be kept"),
            (self.not_kept.len() as u64, "could not be kept"),
            (ring.shortened, "slices were shortened"),
            (ring.dropped_early, "slices went early"),
            (ring.skipped, "slices could not be written"),
            (ring.lost_rows, "rows were lost"),
        ];
        for (count, what) in losses.into_iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!("; {count} {what}"));
        }
        screen.result(&format!("{text}\n"));
    }

    fn document(&self, ring: Figures, too_soon: u64) -> Value {
        let kept = |(path, reason, bytes): &(PathBuf, String, u64)| json!({ "run": path.display().to_string(), "reason": reason, "bytes": bytes });
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

//! Whether what an attempt saw drifts from what earlier runs of its test saw. It only computes:
//! tests/program/drifting.rs has its tests.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

/// Difference of shares, in points, from which on it is a drift: as in the corpus.
const DRIFT: f64 = 3.0;
/// Least share of another cause that is kept: below it, what differs says nothing.
const LEAST: f64 = 1.0;

/// Shares by cause, in percent.
pub type Shares = BTreeMap<String, f64>;

/// What one attempt saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Seen {
    /// Of the true causes.
    pub causes: Shares,
    pub unexplained: f64,
    /// Of all other causes.
    pub others: Shares,
}

/// What the accepted runs of a test saw.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct Accepted {
    pub runs: u32,
    /// The lowest share of each true cause.
    #[serde(default)]
    pub causes: Shares,
    /// The highest share.
    #[serde(default)]
    pub unexplained: f64,
    /// The highest share of each other cause.
    #[serde(default)]
    pub others: Shares,
}

impl Accepted {
    /// Adds what one more run saw. A cause that the test has no longer is forgotten.
    pub fn merge(&mut self, seen: &Seen) {
        let lowest = |(cause, share): (&String, &f64)| {
            let known = self.causes.get(cause).copied().unwrap_or(f64::INFINITY);
            (cause.clone(), known.min(rounded(*share)))
        };
        self.causes = seen.causes.iter().map(lowest).collect();
        self.others.retain(|cause, _| !seen.causes.contains_key(cause));
        for (cause, share) in seen.others.iter().filter(|(_, share)| **share >= LEAST) {
            let known = self.others.entry(cause.clone()).or_default();
            *known = known.max(rounded(*share));
        }
        self.unexplained = self.unexplained.max(rounded(seen.unexplained));
        self.runs += 1;
    }

    /// How an attempt differs from these runs for the worse.
    pub fn drift(&self, seen: &Seen) -> Vec<String> {
        let runs = if self.runs == 1 { "1 run".to_owned() } else { format!("{} runs", self.runs) };
        let too_low = seen.causes.iter().filter_map(|(cause, share)| match self.causes.get(cause) {
            None => Some(format!("{cause} is new as a true cause")),
            Some(lowest) if *share < lowest - DRIFT => {
                Some(format!("{cause} has only {share:.1} %; at least {lowest:.1} % in {runs}"))
            }
            Some(_) => None,
        });
        let others = seen.others.iter().map(|(cause, share)| (cause.as_str(), *share, self.others.get(cause)));
        let highest = std::iter::once(("unexplained", seen.unexplained, Some(&self.unexplained))).chain(others);
        let too_high = highest.filter_map(|(cause, share, highest)| {
            let highest = highest.copied().unwrap_or_default();
            let is_drift = share > highest + DRIFT;
            is_drift.then(|| format!("{cause} has {share:.1} %; at most {highest:.1} % in {runs}"))
        });
        too_low.chain(too_high).collect()
    }

    /// As a table of the file, a share a line.
    pub fn toml(&self, name: &str) -> String {
        let mut text = format!("[test.{name}]\nruns = {}\n", self.runs);
        for (group, shares) in [("causes", &self.causes), ("others", &self.others)] {
            for (cause, share) in shares {
                let _ = writeln!(text, "{group}.{cause} = {share:.1}");
            }
        }
        let _ = writeln!(text, "unexplained = {:.1}", self.unexplained);
        text
    }
}

fn rounded(share: f64) -> f64 {
    (share * 10.0).round() / 10.0
}

//! The report of a campaign.

use std::collections::BTreeMap;

/// What was tried, what held, and what did not.
#[derive(Debug, Default)]
pub struct Report {
    tried: BTreeMap<String, u64>,
    findings: Vec<String>,
    notes: Vec<String>,
    /// The most that an attack cost, ns.
    lost_ns: BTreeMap<&'static str, u64>,
}

impl Report {
    pub fn tried(&mut self, what: impl Into<String>) {
        *self.tried.entry(what.into()).or_default() += 1;
    }

    /// Something that must not happen.
    pub fn finding(&mut self, text: impl Into<String>) {
        let text = text.into();
        println!("FOUND {text}");
        self.findings.push(text);
    }

    /// How many there are.
    pub fn findings(&self) -> usize {
        self.findings.len()
    }

    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// How much an attack, such as "a kill", lost.
    pub fn lost(&mut self, what: &'static str, ns: u64) {
        let most = self.lost_ns.entry(what).or_default();
        *most = ns.max(*most);
    }

    /// Adds the report of some of the points.
    pub fn add(&mut self, other: Report) {
        other.tried.into_iter().for_each(|(what, count)| *self.tried.entry(what).or_default() += count);
        self.findings.extend(other.findings);
        self.notes.extend(other.notes);
        other.lost_ns.into_iter().for_each(|(what, ns)| self.lost(what, ns));
    }

    /// Prints the table; whether all held.
    pub fn print(&self, campaign: &str, took: std::time::Duration) -> bool {
        println!("\n{campaign}");
        for (what, count) in &self.tried {
            println!("{count:>8}  {what}");
        }
        self.notes.iter().for_each(|note| println!("          {note}"));
        for (what, ns) in &self.lost_ns {
            println!("          most that {what} lost: {:.2} s", *ns as f64 / 1e9);
        }
        let (tried, minutes) = (self.tried.values().sum::<u64>(), took.as_secs_f64() / 60.0);
        let a_minute = tried as f64 / minutes;
        println!(
            "{tried:>8}  tried in all, in {minutes:.1} min, {a_minute:.0} a minute, {} findings",
            self.findings.len()
        );
        self.findings.iter().for_each(|finding| println!("FOUND {finding}"));
        self.findings.is_empty()
    }
}

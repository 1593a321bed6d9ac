//! The report of a campaign.

use std::collections::BTreeMap;

/// What was tried, what held, and what did not.
#[derive(Debug, Default)]
pub struct Report {
    tried: BTreeMap<String, u64>,
    findings: Vec<String>,
    notes: Vec<String>,
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

    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Prints the table; whether all held.
    pub fn print(&self, campaign: &str) -> bool {
        println!("\n{campaign}");
        for (what, count) in &self.tried {
            println!("{count:>8}  {what}");
        }
        self.notes.iter().for_each(|note| println!("          {note}"));
        println!("{:>8}  tried in all, {} findings", self.tried.values().sum::<u64>(), self.findings.len());
        self.findings.iter().for_each(|finding| println!("FOUND {finding}"));
        self.findings.is_empty()
    }
}

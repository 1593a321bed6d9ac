//! The rules that an explanation rests on.

use std::fmt::Write as _;

use explain::blame::{Explanation, Rule, Stall};

use super::stalls::shown;
use crate::style::{Style, columns, filled, printable};

/// The rules of the stalls that the text describes, each with what it concludes and the stalls that rest on it.
pub fn rules(explanation: &Explanation, limit: usize, style: Style) -> String {
    let stalls = shown(explanation, limit);
    let mut used: Vec<(&Rule, Vec<&Stall>)> = Vec::new();
    for stall in stalls {
        for &rule in &stall.rules {
            match used.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, of)) => of.push(stall),
                None => used.push((rule, vec![stall])),
            }
        }
    }
    let mut text = format!("\n{}\n", style.heading("Rules that these stalls rest on"));
    if used.is_empty() {
        text.push_str(" none: each wait says itself what it was for\n");
    }
    for (rule, stalls) in used {
        let _ = writeln!(text, " {}", style.heading(rule.id));
        let of: Vec<String> = stalls.iter().map(|stall| format!("{} by {}", stall.operation, stall.task)).collect();
        let (from, of) = (format!("from: {}", rule.from), printable(&format!("in: {}", of.join(", "))));
        let lines = |of: &str| filled(of.split(' '), "   ", columns(style));
        lines(rule.concludes).iter().for_each(|line| _ = writeln!(text, "{line}"));
        let faint = [lines(&from), lines(&of)].concat();
        faint.iter().for_each(|line| _ = writeln!(text, "{}", style.faint(line)));
    }
    let _ = writeln!(text, "{}", style.faint(" why each holds, and when it does not: docs/RULES.md"));
    text
}

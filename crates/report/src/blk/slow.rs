//! Slow bios: submitter, phase times, and the bios that overtook them.

use std::fmt::Write as _;

use lifecycle::{Certainty, Phase, SlowBio};
use model::quantity::Nanoseconds;
use model::quantity::{counted, grouped};

use super::BlkFindings;
use super::others::{kinds, processes};
use crate::style::Style;

/// Slow bios shown individually, slowest first.
const SHOWN: usize = 10;
/// Overtakers named.
const NAMED: usize = 5;

pub(super) fn section(text: &mut String, findings: &BlkFindings<'_>, style: Style) {
    let slow = &findings.report.slow;
    let threshold = Nanoseconds(findings.slower_than_ns);
    let _ = write!(text, "\n{}\n", style.heading(&format!("Bios slower than {threshold}")));
    if slow.count == 0 {
        let known = findings
            .report
            .devices
            .iter()
            .any(|device| Phase::PARTS.iter().any(|&part| device.tables.phases[part].count() > 0));
        let _ = writeln!(text, "{}", if known { " none" } else { " unknown: the trace has no time of any bio" });
    } else {
        let _ = writeln!(text, " {} total; overtaken by {}", grouped(slow.count), kinds(&slow.overtakers));
        let _ = writeln!(text, " most often by {}", processes(&slow.overtakers, findings, NAMED));
        let _ = writeln!(text, " waited behind {}", kinds(&slow.ahead));
    }
    if slow.across_clock_jump > 0 {
        let count = counted(slow.across_clock_jump, "more bio");
        let line = format!(" {count} across a clock jump, of unknown times");
        let _ = writeln!(text, "{}", style.remark(&line));
    }
    let mut slowest: Vec<&SlowBio> = slow.kept.iter().collect();
    slowest.sort_by_key(|bio| std::cmp::Reverse(bio.phases.longest_known()));
    for bio in slowest.iter().take(SHOWN) {
        self::bio(text, bio, findings, style);
    }
    if slow.count > SHOWN as u64 {
        let _ = writeln!(text, "{}", style.faint(&format!(" the slowest {SHOWN} are shown; --json has more")));
    }
}

fn bio(text: &mut String, bio: &SlowBio, findings: &BlkFindings<'_>, style: Style) {
    let whole = Nanoseconds(bio.phases.longest_known().unwrap_or(0));
    let begin = if bio.phases.get(Phase::Q2C).is_some() { "queued" } else { "first seen" };
    let at = Nanoseconds(bio.queued_ns.saturating_sub(findings.report.first_ns));
    let title = format!(
        "{whole} {} {} + {} on {} by {}, {begin} at {at}{}",
        bio.kind,
        bio.sector,
        bio.sectors,
        bio.device,
        findings.thread(bio.pid),
        if bio.certainty == Certainty::Exact { "" } else { " (events were lost during it)" }
    );
    let _ = writeln!(text, "\n {}", style.heading(&title));
    let parts = Phase::PARTS.iter().filter_map(|&part| Some((part, bio.phases.get(part)?)));
    let parts: Vec<String> = parts.map(|(part, ns)| format!("{} {}", part.name(), Nanoseconds(ns))).collect();
    let _ = writeln!(text, "   {}", parts.join(", "));
    let (Some(in_flight), Some(overtaken_by), Some(behind)) = (&bio.in_flight, &bio.overtaken_by, &bio.behind) else {
        let _ = writeln!(text, "   too many bios in flight to record what overtook it");
        return;
    };
    let _ = writeln!(text, "   in flight when it was queued: {}", kinds(in_flight));
    let _ = writeln!(text, "   of these completed before it: {}", kinds(behind));
    let _ = writeln!(text, "   queued later, completed earlier: {}", kinds(overtaken_by));
    if overtaken_by.total() > 0 {
        let _ = writeln!(text, "   by {}", processes(overtaken_by, findings, NAMED));
    }
}

//! The plan of a trial, before it begins.

use std::fmt::Write as _;

use model::quantity::Nanoseconds;
use model::quantity::counted;
use model::trial::TrialPlan;
use serde_json::{Value, json};
use trial::{Guard, PERIODS_OF_BLOCK, schedule};

use super::args::TrialArgs;
use super::changes::Changes;
use crate::ui::failure::Failure;

const DEFAULT_PERIODS: u32 = 40;
/// A command has at least this long to start.
const STARTING_NS: u64 = 3_000_000_000;

/// The plan. A number of periods that is no number of whole blocks is rounded up.
pub(super) fn plan(args: &TrialArgs, changes: &Changes, seed: u64) -> Result<TrialPlan, Failure> {
    if args.wash_out >= args.period {
        let (wash_out, period) = (Nanoseconds(args.wash_out), Nanoseconds(args.period));
        return Err(Failure::usage(format_args!("--wash-out {wash_out} leaves nothing of --period {period}")));
    }
    let wanted = match args.lasting {
        None => args.periods.unwrap_or(DEFAULT_PERIODS).next_multiple_of(PERIODS_OF_BLOCK),
        Some(ns) => u32::try_from(ns / args.period).unwrap_or(u32::MAX) / PERIODS_OF_BLOCK * PERIODS_OF_BLOCK,
    };
    if wanted == 0 {
        let block = Nanoseconds(args.period.saturating_mul(PERIODS_OF_BLOCK.into()));
        return Err(Failure::usage(format_args!("--for is too short: a block of four periods takes {block}")));
    }
    Ok(TrialPlan {
        changes: changes.described(),
        period_ns: args.period,
        wash_out_ns: args.wash_out,
        lead_in_ns: lead_in_ns(args),
        periods: wanted,
        seed,
        of_command: !args.command.is_empty() && !args.all_tasks,
        device: args.device.clone().or_else(|| changes.device()),
    })
}

/// Time of A before the first period: a command starts in it, and guards that compare with A need one.
fn lead_in_ns(args: &TrialArgs) -> u64 {
    let compares = args.guard.iter().any(|guard| matches!(guard, Guard::Ratio { .. }));
    match (args.command.is_empty(), compares) {
        (true, false) => 0,
        (true, true) => args.period,
        (false, _) => args.period.max(STARTING_NS),
    }
}

/// The order of sides, a word for each block.
fn order(plan: &TrialPlan) -> Vec<String> {
    let slots = schedule(plan.periods / PERIODS_OF_BLOCK, plan.seed);
    let side = |slot: &trial::Slot| if slot.changed { 'B' } else { 'A' };
    slots.chunks(PERIODS_OF_BLOCK as usize).map(|block| block.iter().map(side).collect()).collect()
}

fn total_ns(plan: &TrialPlan) -> u64 {
    plan.period_ns.saturating_mul(u64::from(plan.periods)).saturating_add(plan.lead_in_ns)
}

pub(super) fn text(plan: &TrialPlan, guards: &[Guard]) -> String {
    let mut text = String::new();
    for change in &plan.changes {
        let _ = match change.found.as_deref() {
            Some("") => writeln!(text, "{}: A unset, B {}", change.what, change.tried),
            Some(found) => writeln!(text, "{}: A {found}, B {}", change.what, change.tried),
            None => writeln!(text, "B by `{}`, A by `{}`", change.what, change.tried),
        };
    }
    let (period, wash_out) = (Nanoseconds(plan.period_ns), Nanoseconds(plan.wash_out_ns));
    let _ = writeln!(
        text,
        "{} of {period}, of which {wash_out} are wash-out; about {}; seed {}",
        counted(plan.periods.into(), "period"),
        Nanoseconds(total_ns(plan)),
        plan.seed
    );
    let _ = writeln!(text, "order: {}", order(plan).join(" "));
    for guard in guards {
        let _ = writeln!(text, "ends at once at {guard}");
    }
    text
}

pub(super) fn json(plan: &TrialPlan, guards: &[Guard]) -> Value {
    json!({
        "plan": plan,
        "order": order(plan),
        "guards": guards.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "planned_ns": total_ns(plan),
    })
}

//! Events of a run as a whole.

use model::damage::Damage;
use model::event::{Member, RunEvent};
use model::trial::{TrialChange, TrialPlan};

use crate::description::finding;
use crate::disk::device;
use crate::file_name::file_name;
use crate::names::Names;
use crate::prose::sentence;

/// Replaces the names in an event. Names that its sentences hold are known after the tables.
pub fn event(names: &mut Names, event: RunEvent) -> RunEvent {
    match event {
        RunEvent::Note { at_ns, text } => RunEvent::Note { at_ns, text: sentence(names, &text) },
        RunEvent::Figure { at_ns, name, value } => RunEvent::Figure { at_ns, name: file_name(names, &name), value },
        RunEvent::Source { at_ns, finding: found } => RunEvent::Source { at_ns, finding: finding(names, found) },
        RunEvent::TrialBegan { at_ns, plan } => RunEvent::TrialBegan { at_ns, plan: planned(names, plan) },
        RunEvent::TableDropped { table, why, at_ns } => {
            RunEvent::TableDropped { table, why: sentence(names, &why), at_ns }
        }
        RunEvent::Damaged { damage } => RunEvent::Damaged { damage: damaged(names, damage) },
        RunEvent::JobThreads { phase, at_ns, members } => {
            RunEvent::JobThreads { phase, at_ns, members: members.into_iter().map(member).collect() }
        }
        // Names of the recorder and of a load's recipe, and numbers.
        RunEvent::PhaseStarted { phase, measured, at_ns } => RunEvent::PhaseStarted { phase, measured, at_ns },
        RunEvent::PhaseEnded { phase, at_ns, bytes } => RunEvent::PhaseEnded { phase, at_ns, bytes },
        RunEvent::Gap { from_ns, to_ns, samples } => RunEvent::Gap { from_ns, to_ns, samples },
        RunEvent::LateSample { sample, late_ns } => RunEvent::LateSample { sample, late_ns },
        RunEvent::ClockStep { at_ns, by_ns } => RunEvent::ClockStep { at_ns, by_ns },
        RunEvent::Loss { what, count, at_ns } => RunEvent::Loss { what, count, at_ns },
        RunEvent::TraceCost { at_ns, events, consumer_cpu_ns, programs_cpu_ns, measured_ns } => {
            RunEvent::TraceCost { at_ns, events, consumer_cpu_ns, programs_cpu_ns, measured_ns }
        }
        RunEvent::TrialPeriod { period } => RunEvent::TrialPeriod { period },
        RunEvent::Simulated { at_ns, course } => RunEvent::Simulated { at_ns, course },
        RunEvent::Ended { at_ns, how } => RunEvent::Ended { at_ns, how },
    }
}

/// A thread of a load: its recipe's names.
fn member(member: Member) -> Member {
    #[rustfmt::skip]
    let Member { actor, ordinal, tid, start_ns, end_ns, items, bytes, busy_ns, cpu_ns, used_ppm, opened_ns,
        closing_ns } = member;
    Member { actor, ordinal, tid, start_ns, end_ns, items, bytes, busy_ns, cpu_ns, used_ppm, opened_ns, closing_ns }
}

fn planned(names: &mut Names, plan: TrialPlan) -> TrialPlan {
    let TrialPlan { changes, period_ns, wash_out_ns, lead_in_ns, periods, seed, of_command, device: disk } = plan;
    let changes = changes.into_iter().map(|TrialChange { what, found, tried }| TrialChange {
        what: sentence(names, &what),
        found: found.map(|found| sentence(names, &found)),
        tried: sentence(names, &tried),
    });
    let changes = changes.collect();
    let disk = disk.map(|disk| device(names, &disk));
    TrialPlan { changes, period_ns, wash_out_ns, lead_in_ns, periods, seed, of_command, device: disk }
}

fn damaged(names: &mut Names, damage: Damage) -> Damage {
    let Damage { file, table, offset, bytes, rows, span_ns, why } = damage;
    // Of a run that was joined: below the directory of a part.
    let file = file.rsplit('/').next().unwrap_or_default().to_owned();
    Damage { file, table, offset, bytes, rows, span_ns, why: sentence(names, &why) }
}

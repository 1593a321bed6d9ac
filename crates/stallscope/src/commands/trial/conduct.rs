//! The course of a trial: periods, switches, and what ends it.

use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use model::event::{Ending, RunEvent};
use model::quantity::Nanoseconds;
use model::trial::{TrialPeriod, TrialPlan};
use record::clock;
use trial::{Slot, schedule};

use super::changes::Changes;
use super::guards::Guards;
use crate::recording::output_metric::OutputReader;
use crate::recording::session::Session;
use crate::ui::failure::Failure;
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// How often guards and signals are looked at.
const POLL: Duration = Duration::from_millis(20);

/// A trial in progress.
pub(super) struct Conduct<'a> {
    pub(super) plan: &'a TrialPlan,
    pub(super) changes: &'a mut Changes,
    pub(super) guards: &'a Guards,
    pub(super) session: &'a mut Session,
    pub(super) child: &'a mut Option<Child>,
    pub(super) output: &'a OutputReader,
    pub(super) interrupt: &'a Interrupt,
    pub(super) screen: &'a Screen,
}

/// Why a trial ended before its last period.
pub(super) enum Early {
    Interrupted,
    Guard(String),
    CommandEnded(ExitStatus),
    ArchiveFull,
    Failed(Failure),
}

impl Early {
    /// In words.
    pub(super) fn why(&self) -> String {
        match self {
            Early::Interrupted => "interrupted".into(),
            Early::Guard(reason) => format!("a guard: {reason}"),
            Early::CommandEnded(status) => format!("the command ended ({status})"),
            Early::ArchiveFull => "the disk of the run is full".into(),
            Early::Failed(failure) => failure.to_string(),
        }
    }

    /// How the run ended.
    pub(super) fn ending(&self) -> Ending {
        match self {
            Early::Interrupted => Ending::Interrupted,
            Early::ArchiveFull => Ending::ArchiveFull,
            _ => Ending::Done,
        }
    }
}

impl Conduct<'_> {
    /// Runs all periods, and leaves everything as it was found. Returns why it ended early, and what could not be
    /// restored.
    pub(super) fn run(mut self) -> (Option<Early>, Vec<String>) {
        let early = self.periods().err();
        let left = self.changes.undo();
        self.guards.switched(false);
        self.session.recorder.event(self.note(early.as_ref()));
        (early, left.iter().map(ToString::to_string).collect())
    }

    fn note(&self, early: Option<&Early>) -> RunEvent {
        let text = match early {
            Some(early) => format!("the trial ended early: {}", early.why()),
            None => "the trial ran as planned".to_owned(),
        };
        RunEvent::Note { at_ns: clock::monotonic_ns(), text }
    }

    fn periods(&mut self) -> Result<(), Early> {
        self.wait(self.plan.lead_in_ns, "before the first period")?;
        let mut changed = false;
        for slot in schedule(self.plan.periods / trial::PERIODS_OF_BLOCK, self.plan.seed) {
            if slot.changed != changed {
                self.switch(slot.changed)?;
                changed = slot.changed;
            }
            self.period(slot)?;
        }
        self.changes.revert().map_err(Early::Failed)
    }

    fn switch(&mut self, changed: bool) -> Result<(), Early> {
        let switched = if changed { self.changes.apply() } else { self.changes.revert() };
        switched.map_err(Early::Failed)?;
        self.guards.switched(changed);
        Ok(())
    }

    /// A period begins when its switch is complete. A period without a switch before it has a wash-out, too: all
    /// periods are alike.
    fn period(&mut self, slot: Slot) -> Result<(), Early> {
        let began_ns = clock::monotonic_ns();
        let side = if slot.changed { "B" } else { "A" };
        self.wait(self.plan.period_ns, &format!("period {} of {}: {side}", slot.ordinal + 1, self.plan.periods))?;
        let period = TrialPeriod {
            ordinal: slot.ordinal,
            block: slot.block,
            changed: slot.changed,
            began_ns,
            counted_from_ns: began_ns + self.plan.wash_out_ns,
            ended_ns: clock::monotonic_ns(),
        };
        self.session.recorder.event(RunEvent::TrialPeriod { period });
        Ok(())
    }

    /// Lets time pass, unless something ends the trial.
    fn wait(&mut self, ns: u64, what: &str) -> Result<(), Early> {
        let until = Instant::now() + Duration::from_nanos(ns);
        let mut shown = None;
        loop {
            self.output.take().into_iter().for_each(|figure| self.session.recorder.event(figure));
            if let Some(early) = self.reason_to_end() {
                return Err(early);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if shown.replace(left.as_secs()) != Some(left.as_secs()) {
                let left = Nanoseconds(left.as_secs() * 1_000_000_000);
                self.screen.doing(format!("{what}, {left} left{}", self.session.report_blocked(self.screen)));
            }
            std::thread::sleep(POLL.min(left));
        }
    }

    fn reason_to_end(&mut self) -> Option<Early> {
        if self.interrupt.requests() > 0 {
            return Some(Early::Interrupted);
        }
        if let Some(reason) = self.guards.tripped() {
            return Some(Early::Guard(reason));
        }
        if let Some(status) = self.child.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
            *self.child = None;
            return Some(Early::CommandEnded(status));
        }
        self.session.archive_is_full(self.screen).then_some(Early::ArchiveFull)
    }
}

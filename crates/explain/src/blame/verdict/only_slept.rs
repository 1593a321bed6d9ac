//! Whether the recorded command is only the recording's clock: `record -- sleep 10` is about the machine.

use model::cause::traits as traits_of_cause;
use model::system_call::{traits, traits_of};

use crate::blame::facts::cause::CauseTime;
use crate::blame::verdict::explanation::{ClassTimes, Explanation};

/// Classes with a smaller part of its time do not matter.
const LEAST: f64 = 0.05;

impl Explanation {
    /// Whether the recorded command did nothing but sleep or wait for its children, which others that ran kept from
    /// going on, while operations of other programs were slow.
    pub fn command_only_slept(&self) -> bool {
        let Some(command) = &self.command else { return false };
        let is_large = |class: &&ClassTimes| class.wall_ns as f64 >= LEAST * command.wall_ns as f64;
        let sleeps =
            |class: &ClassTimes| traits_of(&class.class).has(traits::SLEEPS | traits::WAITS_FOR_CHILD | traits::VFORKS);
        let ran = |time: &CauseTime| time.cause.has(traits_of_cause::FOR_CPU | traits_of_cause::NO_WAIT);
        let has_waits = |causes: &[CauseTime]| causes.first().is_some_and(|most| !ran(most));
        self.wall_ns > command.wall_ns
            && command.operations > 0
            && !has_waits(&self.short_waits.causes)
            && !has_waits(&command.causes)
            && (self.command_is_clock || command.classes.iter().filter(is_large).all(sleeps))
    }
}

//! When to keep the ring: not too often, and with some time after the trigger. Pure: the time is passed in.

use condition::Level;

/// Reasons listed per keeping; more are counted.
const REASONS: usize = 8;

/// A reason to keep the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// When, on the monotonic clock.
    pub at_ns: u64,
    /// One word that names the kept run.
    pub word: String,
    /// What was seen.
    pub reason: String,
    /// Requested by a user; the minimum interval does not apply.
    pub by_hand: bool,
}

/// A decision to keep the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    /// Its first trigger.
    pub first: Trigger,
    /// Reasons of later triggers.
    pub also: Vec<String>,
    /// Later triggers that are only counted.
    pub further: u64,
    /// End of the time after the trigger, on the monotonic clock.
    pub until_ns: u64,
}

/// What becomes of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The ring is kept once the time after the trigger is over.
    Keep,
    /// It happened within the time after an earlier trigger, and is kept with it.
    Joins,
    /// The last keeping was too recent; the time until the next is allowed.
    TooSoon {
        /// Nanoseconds.
        left_ns: u64,
    },
}

/// State of a condition on counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ConditionState {
    /// It does not hold.
    #[default]
    Off,
    /// It holds, and nothing has been kept for it yet.
    Waiting,
    /// It holds and was kept: it is not kept again until it has ended.
    Kept,
}

/// Decides what is kept.
#[derive(Debug)]
pub struct Limiter {
    after_ns: u64,
    every_ns: u64,
    last_ns: Option<u64>,
    pending: Option<Keeping>,
    states: Vec<ConditionState>,
    too_soon: u64,
}

impl Limiter {
    /// Keeps `after_ns` after a trigger, with at least `every_ns` between two.
    pub fn new(after_ns: u64, every_ns: u64, conditions: usize) -> Limiter {
        let states = vec![ConditionState::Off; conditions];
        Limiter { after_ns, every_ns, last_ns: None, pending: None, states, too_soon: 0 }
    }

    /// Decides on a trigger.
    pub fn trigger(&mut self, trigger: Trigger) -> Verdict {
        let verdict = self.decide(trigger);
        self.too_soon += u64::from(matches!(verdict, Verdict::TooSoon { .. }));
        verdict
    }

    /// Updates a condition on counters. While it holds, the ring is kept once: at once, or as soon as it is no longer
    /// too soon. Returns a verdict only if it is new.
    pub fn condition(&mut self, level: &Level, word: &str, at_ns: u64) -> Option<(Trigger, Verdict)> {
        let before = self.states[level.condition];
        let Some(reason) = level.reason.clone() else {
            self.states[level.condition] = ConditionState::Off;
            return None;
        };
        if before == ConditionState::Kept {
            return None;
        }
        let trigger = Trigger { at_ns, word: word.to_owned(), reason, by_hand: false };
        let verdict = self.decide(trigger.clone());
        let refused = matches!(verdict, Verdict::TooSoon { .. });
        self.states[level.condition] = if refused { ConditionState::Waiting } else { ConditionState::Kept };
        if refused && before == ConditionState::Waiting {
            return None;
        }
        self.too_soon += u64::from(refused);
        Some((trigger, verdict))
    }

    /// The keeping that is due.
    pub fn due(&mut self, now_ns: u64) -> Option<Keeping> {
        self.pending.take_if(|pending| pending.until_ns <= now_ns)
    }

    /// The keeping that is pending, due or not.
    pub fn rest(&mut self) -> Option<Keeping> {
        self.pending.take()
    }

    /// Triggers that came too soon.
    pub fn too_soon(&self) -> u64 {
        self.too_soon
    }

    fn decide(&mut self, trigger: Trigger) -> Verdict {
        if let Some(pending) = &mut self.pending {
            if pending.also.len() < REASONS {
                pending.also.push(trigger.reason);
            } else {
                pending.further += 1;
            }
            return Verdict::Joins;
        }
        let next_ns = self.last_ns.map_or(0, |last_ns| last_ns.saturating_add(self.every_ns));
        if trigger.at_ns < next_ns && !trigger.by_hand {
            return Verdict::TooSoon { left_ns: next_ns - trigger.at_ns };
        }
        self.last_ns = Some(trigger.at_ns);
        let until_ns = trigger.at_ns.saturating_add(self.after_ns);
        self.pending = Some(Keeping { first: trigger, also: Vec::new(), further: 0, until_ns });
        Verdict::Keep
    }
}

#[cfg(test)]
mod tests {
    use condition::Level;

    use super::{Keeping, Limiter, Trigger, Verdict};

    fn trigger(at_ns: u64, by_hand: bool) -> Trigger {
        Trigger { at_ns, word: "stall".into(), reason: format!("at {at_ns}"), by_hand }
    }

    /// A trigger for each `!` (by hand: `S`), a tick of 1 ns for each letter; `k`, `j`, `x` for its verdict, `K` where
    /// a keeping is due.
    fn check(after_ns: u64, every_ns: u64, events: &str, expected: &str) {
        let mut limiter = Limiter::new(after_ns, every_ns, 0);
        let mut line = String::new();
        for (now_ns, event) in events.bytes().enumerate() {
            let due = limiter.due(now_ns as u64).is_some();
            let verdict = match event {
                b'!' | b'S' => Some(limiter.trigger(trigger(now_ns as u64, event == b'S'))),
                _ => None,
            };
            line.push(match verdict {
                Some(Verdict::Keep) => 'k',
                Some(Verdict::Joins) => 'j',
                Some(Verdict::TooSoon { .. }) => 'x',
                None if due => 'K',
                None => '.',
            });
        }
        assert_eq!(line, expected, "{events}");
    }

    #[test]
    fn a_trigger_is_kept_after_a_while_and_the_next_not_too_soon() {
        check(3, 8, "!.............", "k..K..........");
        check(3, 8, "!!!....!!.....", "kjjK...xk..K..");
        check(3, 0, "!...!...!.....", "k..Kk..Kk..K..");
        check(0, 4, "!.!.!.!.!.!.!.", "kKx.kKx.kKx.kK");
    }

    #[test]
    fn a_manual_trigger_ignores_the_interval() {
        check(2, 9, "!..S.!.S......", "k.Kk.x.k.K....");
    }

    #[test]
    fn joined_reasons_are_listed_up_to_a_number() {
        let mut limiter = Limiter::new(100, 0, 0);
        for at_ns in 0..20 {
            let _ = limiter.trigger(trigger(at_ns, false));
        }
        let Keeping { first, also, further, until_ns } = limiter.due(100).unwrap();
        assert_eq!((first.reason.as_str(), also.len(), further, until_ns), ("at 0", 8, 11, 100));
        assert_eq!(limiter.due(1000), None);
    }

    #[test]
    fn a_lasting_condition_is_kept_once_also_after_it_came_too_soon() {
        let mut limiter = Limiter::new(0, 10, 1);
        let mut at = |at_ns: u64, holds: bool| {
            let level = Level { condition: 0, reason: holds.then(|| "pressure".to_owned()) };
            let verdict = limiter.condition(&level, "pressure-io", at_ns).map(|(_, verdict)| verdict);
            let _ = limiter.due(at_ns);
            verdict
        };
        assert_eq!(at(0, true), Some(Verdict::Keep));
        assert_eq!(at(1, true), None);
        assert_eq!(at(40, true), None, "it has held all the time");
        assert_eq!(at(41, false), None);
        assert_eq!(at(42, true), Some(Verdict::Keep));
        assert_eq!(at(43, false), None);
        assert_eq!(at(44, true), Some(Verdict::TooSoon { left_ns: 8 }));
        assert_eq!(at(45, true), None, "reported once");
        assert_eq!(at(52, true), Some(Verdict::Keep), "still holds when the interval is over");
    }
}

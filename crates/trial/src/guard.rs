//! Guards: what ends a trial at once.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::str::FromStr;

use condition::{Condition, ConditionWatch};
use model::metric::{MetricChange, MetricDescriptor, SampleHeader};
use model::quantity::Nanoseconds;
use model::stall::stall_flags::WATCHED;
use model::stall::{StallKind, StallRecord};

/// Time over which counters are watched: a guard must be fast, and one second of pressure is often noise.
const WINDOW_NS: u64 = 2_000_000_000;
/// Slow operations that a ratio needs on both sides.
const FEWEST: usize = 10;
/// Operations of A that are remembered.
const REMEMBERED: usize = 10_000;

/// A condition that ends a trial.
#[derive(Debug, Clone, PartialEq)]
pub enum Guard {
    /// A condition as of the flight recorder, over two seconds.
    Level(Condition),
    /// `p99>2x`: the percentile of the slow operations in a period with the change is above this multiple of that
    /// without.
    Ratio {
        /// `None`: the longest operation.
        percent: Option<u8>,
        /// The multiple.
        above: f64,
    },
}

/// A text that is not a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardError(String);

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GuardError {}

impl FromStr for Guard {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<Guard, GuardError> {
        let ratio = text
            .trim()
            .split_once('>')
            .and_then(|(figure, multiple)| Some((figure.trim(), multiple.trim().strip_suffix('x')?)));
        let Some((figure, multiple)) = ratio else {
            let other = |error| {
                format!(
                    "{error}, or p99>2x (p50, p99 or max of slow operations, as a multiple of that without the change)"
                )
            };
            return text
                .parse()
                .map(Guard::Level)
                .map_err(|error: condition::ConditionError| GuardError(other(error.to_string())));
        };
        let percent = match figure {
            "p50" => Some(50),
            "p99" => Some(99),
            "max" => None,
            other => return Err(GuardError(format!("'{text}' is not a guard: '{other}' is not p50, p99 or max"))),
        };
        let is_plain = multiple.chars().all(|c| c.is_ascii_digit() || c == '.');
        let above = multiple.parse().ok().filter(|above: &f64| is_plain && *above > 1.0);
        let above = above.ok_or_else(|| {
            GuardError(format!("'{text}' is not a guard: the multiple must be above 1, as in p99>2x"))
        })?;
        Ok(Guard::Ratio { percent, above })
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Guard::Level(condition) => condition.fmt(f),
            Guard::Ratio { percent: Some(percent), above } => write!(f, "p{percent}>{above}x"),
            Guard::Ratio { percent: None, above } => write!(f, "max>{above}x"),
        }
    }
}

/// Checks rows as they arrive.
#[derive(Debug)]
pub struct GuardWatch {
    levels: ConditionWatch,
    ratios: Vec<(Option<u8>, f64)>,
    /// The threads of the command, as far as they were slow; `None`: those of all programs count.
    command: Option<HashSet<u32>>,
    changed: bool,
    /// Durations of slow operations without the change, the latest last.
    without: VecDeque<u64>,
    /// The same of the current period with the change.
    with: Vec<u64>,
    tripped: Option<String>,
}

impl GuardWatch {
    /// A watch without any rows yet. `of_command`: multiples are of the command's operations alone.
    pub fn new(guards: &[Guard], of_command: bool) -> GuardWatch {
        let (mut levels, mut ratios) = (Vec::new(), Vec::new());
        for guard in guards {
            match guard {
                Guard::Level(condition) => levels.push(condition.clone()),
                Guard::Ratio { percent, above } => ratios.push((*percent, *above)),
            }
        }
        let levels = ConditionWatch::with_window(levels, WINDOW_NS);
        let command = of_command.then(HashSet::new);
        GuardWatch {
            levels,
            ratios,
            command,
            changed: false,
            without: VecDeque::new(),
            with: Vec::new(),
            tripped: None,
        }
    }

    /// The setting was switched.
    pub fn switched(&mut self, changed: bool) {
        self.changed = changed;
        self.with.clear();
    }

    /// Adds a sample.
    pub fn sample(&mut self, header: &SampleHeader, descriptors: &[MetricDescriptor], changes: &[MetricChange]) {
        self.levels.describe(descriptors);
        let reason = self.levels.sample(header, changes).into_iter().find_map(|level| level.reason);
        self.trip(reason);
    }

    /// Adds rows of the tracer.
    pub fn stalls(&mut self, rows: &[StallRecord]) {
        let met = self.levels.stalls(rows, |_| None).into_iter().next();
        self.trip(met.map(|met| met.reason));
        let slow = rows.iter().filter(|row| matches!(row.kind, StallKind::SystemCall | StallKind::Asynchronous));
        for row in slow {
            if let Some(command) = &mut self.command {
                if row.flags.is_none_or(|flags| flags & WATCHED == 0) {
                    continue;
                }
                command.insert(row.tid);
            }
            match self.changed {
                true => self.with.push(row.duration_ns),
                false => self.without.push_back(row.duration_ns),
            }
        }
        self.without.drain(..self.without.len().saturating_sub(REMEMBERED));
        self.trip(self.exceeded(&self.with));
    }

    /// Adds the tasks that are blocked at `now_ns`, with the start of each wait: operations that have not ended.
    pub fn blocked(&mut self, now_ns: u64, tasks: &[(u32, u64)]) {
        let met = self.levels.blocked(now_ns, tasks.iter().copied(), |_| None).into_iter().next();
        self.trip(met.map(|met| met.reason));
        let counts = |tid: &u32| self.command.as_ref().is_none_or(|command| command.contains(tid));
        let ages = tasks.iter().filter(|(tid, _)| counts(tid)).map(|(_, since_ns)| now_ns.saturating_sub(*since_ns));
        let all: Vec<u64> = self.with.iter().copied().chain(ages).collect();
        self.trip(self.exceeded(&all));
    }

    /// Why the trial must end.
    pub fn tripped(&self) -> Option<&str> {
        self.tripped.as_deref()
    }

    fn trip(&mut self, reason: Option<String>) {
        self.tripped = self.tripped.take().or(reason);
    }

    /// The first multiple that the operations of a period with the change exceed.
    fn exceeded(&self, with: &[u64]) -> Option<String> {
        if !self.changed || self.ratios.is_empty() || with.len() < FEWEST || self.without.len() < FEWEST {
            return None;
        }
        let sorted = |values: &mut Vec<u64>| values.sort_unstable();
        let (mut with, mut without) = (with.to_vec(), self.without.iter().copied().collect());
        sorted(&mut with);
        sorted(&mut without);
        self.ratios.iter().find_map(|(percent, above)| {
            let rank = |values: &[u64]| {
                let at = percent.map_or(values.len(), |percent| (values.len() * usize::from(percent)).div_ceil(100));
                values[at.max(1) - 1]
            };
            let (found, limit) = (rank(&with), rank(&without));
            let name = percent.map_or_else(|| "the longest".to_owned(), |percent| format!("p{percent}"));
            (found as f64 > limit as f64 * above).then(|| {
                let (found, limit) = (Nanoseconds(found), Nanoseconds(limit));
                format!(
                    "{name} of the slow operations was {found} with the change and {limit} without, more than \
                         {above} times"
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use model::stall::{StallKind, StallRecord};

    use super::{Guard, GuardWatch, WATCHED};

    #[test]
    fn guards_as_they_are_written() {
        for (text, shown) in [
            ("psi:io>60%", "psi:io.some>60%"),
            (" p99 > 2x", "p99>2x"),
            ("max>1.5x", "max>1.5x"),
            ("5s", "a stall of 5.00 s"),
        ] {
            assert_eq!(text.parse::<Guard>().unwrap().to_string(), shown);
        }
        for (text, why) in [
            ("p98>2x", "'p98' is not p50, p99 or max"),
            ("p99>1x", "must be above 1"),
            ("p99>-2x", "must be above 1"),
            ("p99>infx", "must be above 1"),
            ("often", "or p99>2x"),
        ] {
            let error = text.parse::<Guard>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    fn slow(count: u64, ms: u64) -> Vec<StallRecord> {
        (0..count).map(|n| StallRecord::new(StallKind::SystemCall, 1, n, n + ms * 1_000_000)).collect()
    }

    #[test]
    fn a_multiple_trips_only_with_the_change_and_with_enough_operations() {
        let mut watch = GuardWatch::new(&["p50>2x".parse().unwrap()], false);
        watch.stalls(&slow(20, 10));
        watch.stalls(&slow(20, 90));
        assert_eq!(watch.tripped(), None);
        watch.switched(true);
        watch.stalls(&slow(9, 200));
        assert_eq!(watch.tripped(), None);
        watch.stalls(&slow(1, 21));
        assert!(watch.tripped().unwrap().starts_with("p50 of the slow operations was 200 ms"), "{:?}", watch.tripped());
    }

    #[test]
    fn operations_that_have_not_ended_count_with_their_age() {
        let mut watch = GuardWatch::new(&["max>3x".parse().unwrap()], false);
        watch.stalls(&slow(20, 100));
        watch.switched(true);
        watch.stalls(&slow(10, 100));
        watch.blocked(1_000_000_000, &[(7, 750_000_000)]);
        assert_eq!(watch.tripped(), None);
        watch.blocked(1_100_000_000, &[(7, 750_000_000)]);
        assert!(watch.tripped().unwrap().starts_with("the longest of the slow operations was 350 ms"));
    }

    #[test]
    fn with_a_command_the_multiples_are_of_its_operations() {
        let of = |watched: bool, count, ms| -> Vec<StallRecord> {
            let flags = watched.then_some(WATCHED);
            slow(count, ms).into_iter().map(|row| StallRecord { flags, ..row }).collect()
        };
        let mut watch = GuardWatch::new(&["p50>2x".parse().unwrap()], true);
        watch.stalls(&of(true, 20, 10));
        watch.stalls(&of(false, 50, 900));
        watch.switched(true);
        watch.stalls(&of(false, 50, 900));
        watch.blocked(9_000_000_000, &[(7, 0)]);
        assert_eq!(watch.tripped(), None);
        watch.stalls(&of(true, 10, 25));
        assert!(
            watch.tripped().unwrap().contains("25.0 ms with the change and 10.0 ms without"),
            "{:?}",
            watch.tripped()
        );
    }

    #[test]
    fn a_stall_trips_on_both_sides() {
        let mut watch = GuardWatch::new(&["1s".parse().unwrap()], false);
        watch.stalls(&slow(1, 999));
        assert_eq!(watch.tripped(), None);
        watch.stalls(&slow(1, 1000));
        assert_eq!(watch.tripped(), Some("a system call by task 1 took 1.00 s"));
    }
}

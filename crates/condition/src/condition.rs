//! A condition: its text form, parsed and displayed.

use std::fmt;
use std::str::FromStr;

use model::quantity::{Nanoseconds, parse_duration};

/// Shortest stall allowed: tracing with a lower threshold costs too much for an always-on recorder.
const SHORTEST_STALL_NS: u64 = 1_000_000;

/// Resources of /proc/pressure.
const RESOURCES: [&str; 4] = ["cpu", "io", "memory", "irq"];

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// `5s`: a file operation took at least this long, or a task was blocked in the kernel for at least this long.
    Stall {
        /// Threshold.
        at_least_ns: u64,
    },
    /// `psi:io>40%`, `psi:memory.full>10%`: pressure on a resource over the last seconds exceeds a share.
    Pressure {
        /// `io`, `memory`, `cpu`, `irq`.
        resource: String,
        /// `some`: at least one task stalled; `full`: all non-idle tasks stalled.
        extent: String,
        /// From 0 to 1.
        above_share: f64,
    },
    /// `counter:vmstat.allocstall_normal>100/s`: a sampled counter grew faster during the last seconds.
    Rate {
        /// The metric's name.
        metric: String,
        /// The instance, or its device's kernel name; `None`: the sum of all.
        instance: Option<String>,
        /// In the metric's unit per second.
        above_per_s: f64,
    },
}

/// A text that is not a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    text: String,
    why: String,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "'{}' is not a condition: {}; write 5s (an operation or a blocked task at least that slow), psi:io>40% \
             (also \
             memory, cpu; psi:memory.full>10%), or counter:NAME>N/s (such as counter:vmstat.allocstall_normal>100/s)",
            self.text, self.why
        )
    }
}

impl std::error::Error for ConditionError {}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let trimmed = text.trim();
        let condition = match trimmed.split_once(':') {
            Some(("psi", rest)) => pressure(rest),
            Some(("counter", rest)) => rate(rest),
            Some((kind, _)) => Err(format!("unknown kind '{kind}:'")),
            None => stall(trimmed),
        };
        condition.map_err(|why| ConditionError { text: text.to_owned(), why })
    }
}

fn stall(text: &str) -> Result<Condition, String> {
    let at_least_ns = parse_duration(text).map_err(|_| "it is not a duration".to_owned())?;
    match at_least_ns {
        SHORTEST_STALL_NS.. => Ok(Condition::Stall { at_least_ns }),
        _ => Err(format!("the shortest stall is {}", Nanoseconds(SHORTEST_STALL_NS))),
    }
}

fn pressure(text: &str) -> Result<Condition, String> {
    let (what, above) = text.split_once('>').ok_or("'>' and a share are missing")?;
    let (resource, extent) = what.trim().split_once('.').unwrap_or((what.trim(), "some"));
    if !RESOURCES.contains(&resource) {
        return Err(format!("the resource is one of {}, not '{resource}'", RESOURCES.join(", ")));
    }
    if !["some", "full"].contains(&extent) {
        return Err(format!("pressure is some or full, not '{extent}'"));
    }
    let percent = above.trim().strip_suffix('%').ok_or("the share is given in %")?;
    let percent = plain_number(percent).filter(|percent| *percent < 100.0);
    let percent = percent.ok_or("the share is a number from 0% to below 100%")?;
    Ok(Condition::Pressure { resource: resource.to_owned(), extent: extent.to_owned(), above_share: percent / 100.0 })
}

fn rate(text: &str) -> Result<Condition, String> {
    // An instance may hold any character, the limit none of these.
    let (what, above) = text.rsplit_once('>').ok_or("'>' and a rate are missing")?;
    let what = what.trim();
    let (metric, instance) = match what.split_once('[') {
        Some((metric, rest)) => (metric, Some(rest.strip_suffix(']').ok_or("']' is missing")?.to_owned())),
        None => (what, None),
    };
    if metric.is_empty() || metric.contains(char::is_whitespace) {
        return Err("the metric's name is missing".to_owned());
    }
    let number = above.trim().strip_suffix("/s").ok_or("the rate is given per second: N/s")?;
    let above_per_s = plain_number(number).ok_or("the rate is a number, 0 or more")?;
    Ok(Condition::Rate { metric: metric.to_owned(), instance, above_per_s })
}

/// Digits and at most one point: no signs, exponents or other forms of a float.
fn plain_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.') && text.contains(|c: char| c.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Stall { at_least_ns } => write!(f, "a stall of {}", Nanoseconds(*at_least_ns)),
            Condition::Pressure { resource, extent, above_share } => {
                write!(f, "psi:{resource}.{extent}>{}%", shown(above_share * 100.0))
            }
            Condition::Rate { metric, instance: None, above_per_s } => {
                write!(f, "counter:{metric}>{}/s", shown(*above_per_s))
            }
            Condition::Rate { metric, instance: Some(instance), above_per_s } => {
                write!(f, "counter:{metric}[{instance}]>{}/s", shown(*above_per_s))
            }
        }
    }
}

/// A number with at most three decimals.
pub(crate) fn shown(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Condition {
    /// One word for it, usable in a file name.
    pub fn word(&self) -> String {
        match self {
            Condition::Stall { .. } => "stall".to_owned(),
            Condition::Pressure { resource, .. } => format!("pressure-{resource}"),
            Condition::Rate { metric, .. } => metric.clone(),
        }
    }
}

//! Names that were tested, corrected for how many there are, as text and JSON.

use serde_json::{Value, json};

use super::Q;
use crate::answer::Answer;
use crate::output::{json_text, table};

/// Hosts that the text names.
const NAMED_HOSTS: usize = 3;

/// One name that was tested.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) cause: String,
    /// Hosts that have it.
    pub(super) hosts: usize,
    pub(super) p: f64,
    /// Rates, ns per host and day.
    pub(super) rates_ns: (f64, f64),
    /// 95 % interval of their ratio.
    pub(super) interval: Option<(f64, f64)>,
    /// Hosts on which it grew significantly, each tested alone.
    pub(super) grown: Vec<String>,
    pub(super) ratio_of_grown: Option<f64>,
}

/// What was tested.
#[derive(Debug)]
pub(super) struct Verdicts {
    /// With q and whether it counts, the largest change first.
    found: Vec<(Found, f64, bool)>,
    all: bool,
    words: [String; 3],
}

impl Verdicts {
    /// Corrects the tests. `words` name the column and both sides.
    pub(super) fn of(found: Vec<Found>, all: bool, words: (&str, &str, &str)) -> Verdicts {
        let q = statistics::q_values(&found.iter().map(|found| found.p).collect::<Vec<_>>());
        let mut found: Vec<_> = found.into_iter().zip(q).map(|(found, q)| (found, q, q <= Q)).collect();
        let change = |found: &Found| (found.rates_ns.1 - found.rates_ns.0).abs();
        found.sort_by(|(x, _, x_counts), (y, _, y_counts)| {
            y_counts.cmp(x_counts).then_with(|| change(y).total_cmp(&change(x)))
        });
        Verdicts { found, all, words: [words.0, words.1, words.2].map(str::to_owned) }
    }

    fn shown(&self) -> impl Iterator<Item = &(Found, f64, bool)> {
        self.found.iter().filter(|(_, _, counts)| self.all || *counts)
    }

    /// JSON: the facts of the question, and the rows.
    pub(super) fn json(&self, mut facts: Value) -> String {
        let [_, first, second] = &self.words;
        let rows = self.shown().map(|(found, q, counts)| {
            let (before, after) = found.rates_ns;
            json!({
                "name": found.name,
                "cause": found.cause,
                "differs": counts,
                format!("{first}_seconds_per_host_day"): before / 1e9,
                format!("{second}_seconds_per_host_day"): after / 1e9,
                "ratio": (before > 0.0).then_some(after / before),
                "ratio_low": found.interval.map(|(low, _)| low),
                "ratio_high": found.interval.map(|(_, high)| high),
                "p": found.p,
                "q": q,
                "hosts": found.hosts,
                "grown_hosts": found.grown,
                "grown_hosts_ratio": found.ratio_of_grown.filter(|ratio| ratio.is_finite()),
            })
        });
        facts["tested"] = json!(self.found.len());
        facts["rows"] = rows.collect();
        json_text(&facts)
    }

    /// A table, with the number of names that were tested.
    pub(super) fn text(&self, sample: &str, verb: &str) -> String {
        let count = self.found.iter().filter(|(_, _, counts)| *counts).count();
        let tested = self.found.len();
        let head = format!("{sample} {count} of {tested} {verb} (false discovery rate 2 %).\n");
        let [by, first, second] = &self.words;
        let first = format!("{first} (s/host/day)");
        let second = format!("{second} (s/host/day)");
        let mut answer = Answer::of(&[by, "cause", &first, &second, "ratio", "95 % interval", "q", "hosts"]);
        let with_hosts = self.shown().any(|(found, ..)| !found.grown.is_empty());
        if with_hosts {
            answer.columns.extend(["grew there on".to_owned(), "ratio there".to_owned()]);
        }
        for (found, q, _) in self.shown() {
            let mut row = cells(found, *q);
            if with_hosts {
                row.extend([json!(named(&found.grown)), json!(found.ratio_of_grown.map(times))]);
            }
            answer.rows.push(row);
        }
        if answer.rows.is_empty() { head } else { format!("{head}\n{}", table(&answer, &[])) }
    }
}

fn cells(found: &Found, q: f64) -> Vec<Value> {
    let (before, after) = found.rates_ns;
    let ratio = if before > 0.0 { times(after / before) } else { "new".into() };
    let interval = found.interval.map(|(low, high)| format!("{low:.2} to {high:.2}"));
    let rate = |ns: f64| json!(format!("{:.3}", ns / 1e9));
    let q = if q < 0.001 { "< 0.001".into() } else { format!("{q:.3}") };
    vec![
        json!(found.name),
        json!(found.cause),
        rate(before),
        rate(after),
        json!(ratio),
        json!(interval),
        json!(q),
        json!(found.hosts),
    ]
}

fn times(ratio: f64) -> String {
    if ratio.is_finite() { format!("{ratio:.2}") } else { "new".into() }
}

fn named(hosts: &[String]) -> Option<String> {
    let first = hosts.iter().take(NAMED_HOSTS).map(String::as_str).collect::<Vec<_>>().join(", ");
    match hosts.len() {
        0 => None,
        few if few <= NAMED_HOSTS => Some(format!("{few}: {first}")),
        many => Some(format!("{many}: {first}, ...")),
    }
}

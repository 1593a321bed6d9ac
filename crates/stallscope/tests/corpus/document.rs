//! Values of the document of `explain --json`.

use serde_json::Value;

/// What is said of a run.
#[derive(Debug, Clone)]
pub struct Said {
    /// Of all.
    pub all: Value,
    /// Of the victim alone, where that is asked.
    pub of_victim: Option<Value>,
}

impl Said {
    /// The document that has the advice.
    pub fn advice(&self) -> &Value {
        self.of_victim.as_ref().unwrap_or(&self.all)
    }
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn ns(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// The text, or `-`.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// Time by cause of these stalls, the largest first.
pub fn causes(stalls: &[&Value]) -> Vec<(String, u64)> {
    times(stalls.iter().flat_map(|stall| list(&stall["causes"])))
}

/// Time by cause.
pub fn times<'a>(causes: impl Iterator<Item = &'a Value>) -> Vec<(String, u64)> {
    let mut sums: Vec<(String, u64)> = Vec::new();
    for cause in causes {
        let (name, time_ns) = (text(&cause["cause"]), ns(&cause["time_ns"]));
        match sums.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += time_ns,
            None => sums.push((name.to_owned(), time_ns)),
        }
    }
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    sums
}

pub fn total(times: &[(String, u64)]) -> u64 {
    times.iter().map(|(_, ns)| ns).sum()
}

pub fn share_of(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The time between two moments that stalls cover together.
pub fn covered(stalls: &[&Value], from: u64, to: u64) -> u64 {
    let span = |stall: &&Value| {
        let start = ns(&stall["start_ns"]);
        (start.max(from), (start + ns(&stall["duration_ns"])).min(to))
    };
    let mut spans: Vec<(u64, u64)> = stalls.iter().map(span).collect();
    spans.sort_unstable();
    let (mut sum, mut at) = (0, from);
    for (start, end) in spans {
        let start = start.max(at);
        if end > start {
            sum += end - start;
            at = end;
        }
    }
    sum
}

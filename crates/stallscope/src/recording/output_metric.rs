//! Figures of a recorded command, taken from its output.
//!
//! The output passes through pipes unchanged, as it comes; a copy of each line is searched.

use std::fmt;
use std::io::{self, Read, Write};
use std::process::Child;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::event::RunEvent;
use record::clock;
use regex_lite::Regex;

/// Longest part of a line that is searched.
const MAX_LINE: usize = 64 << 10;
/// Time for the rest of the output once the command has ended. Its children may keep the pipes open for longer.
const REST: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);

/// `NAME=REGEX`: a number in the command's output.
#[derive(Debug, Clone)]
pub struct OutputMetric {
    name: String,
    regex: Regex,
}

impl FromStr for OutputMetric {
    type Err = String;

    fn from_str(text: &str) -> Result<OutputMetric, String> {
        let (name, regex) = text.split_once('=').ok_or("expected NAME=REGEX, such as 'tps=tps = ([\\d.]+)'")?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!("'{name}': a name has letters, digits, '_', '.' and '-'"));
        }
        let regex = Regex::new(regex).map_err(|error| format!("'{regex}': {error}"))?;
        // The whole match is group 0.
        if regex.captures_len() < 2 {
            return Err(format!("'{regex}': put the number in parentheses, such as ([\\d.]+)"));
        }
        Ok(OutputMetric { name: name.to_owned(), regex })
    }
}

impl OutputMetric {
    fn value(&self, line: &str) -> Option<f64> {
        let group = self.regex.captures_iter(line).last()?.get(1)?;
        group.as_str().replace(',', "").parse().ok().filter(|value: &f64| value.is_finite())
    }
}

impl fmt::Display for OutputMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.regex)
    }
}

/// What was found so far.
#[derive(Default)]
struct Found {
    /// The metrics, and the last value of each.
    last: Vec<(OutputMetric, Option<f64>)>,
    /// Every value since it was taken; `None` keeps only the last.
    history: Option<Vec<RunEvent>>,
}

type Values = Arc<Mutex<Found>>;

/// Passes a command's output on and searches it.
#[derive(Default)]
pub struct OutputReader {
    values: Values,
    threads: Vec<JoinHandle<()>>,
}

impl OutputReader {
    /// Starts with the pipes of the child; nothing without metrics. With `json`, standard output is the document's.
    pub fn start(metrics: &[OutputMetric], child: &mut Child, json: bool) -> OutputReader {
        let last = metrics.iter().map(|metric| (metric.clone(), None)).collect();
        let values: Values = Arc::new(Mutex::new(Found { last, history: None }));
        let mut threads = Vec::new();
        if let Some(pipe) = child.stdout.take() {
            let sink: Box<dyn Write + Send> = if json { Box::new(io::stderr()) } else { Box::new(io::stdout()) };
            threads.extend(spawn(pipe, sink, &values));
        }
        if let Some(pipe) = child.stderr.take() {
            threads.extend(spawn(pipe, Box::new(io::stderr()), &values));
        }
        OutputReader { values, threads }
    }

    /// Keeps every value from now on, not only the last.
    pub fn keep_all(&self) {
        lock(&self.values).history.get_or_insert_default();
    }

    /// An event for each value since the last call.
    pub fn take(&self) -> Vec<RunEvent> {
        lock(&self.values).history.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Waits for the rest of the output. Returns an event for each figure, and the metrics that found none.
    pub fn finish(self) -> (Vec<RunEvent>, Vec<String>) {
        let began = Instant::now();
        while self.threads.iter().any(|thread| !thread.is_finished()) && began.elapsed() < REST {
            std::thread::sleep(POLL);
        }
        let at_ns = clock::monotonic_ns();
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (metric, value) in &lock(&self.values).last {
            match value {
                Some(value) => found.push(RunEvent::Figure { at_ns, name: metric.name.clone(), value: *value }),
                None => missing.push(metric.to_string()),
            }
        }
        (found, missing)
    }
}

fn spawn(pipe: impl Read + Send + 'static, sink: Box<dyn Write + Send>, values: &Values) -> Option<JoinHandle<()>> {
    let values = Arc::clone(values);
    std::thread::Builder::new().name("output".into()).spawn(move || pass_on(pipe, sink, &values)).ok()
}

/// Copies until the end. The command's output is passed on as soon as it comes, also a prompt without an end of line.
fn pass_on(mut pipe: impl Read, mut sink: impl Write, values: &Values) {
    let mut buffer = [0; 8192];
    let mut line = Vec::new();
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        // A reader that is gone is the command's concern: as without us, its next write fails once the pipe is closed.
        if sink.write_all(&buffer[..read]).and_then(|()| sink.flush()).is_err() {
            break;
        }
        for byte in &buffer[..read] {
            match byte {
                b'\n' | b'\r' => search(&mut line, values),
                byte if line.len() < MAX_LINE => line.push(*byte),
                _ => {}
            }
        }
    }
    search(&mut line, values);
}

fn search(line: &mut Vec<u8>, values: &Values) {
    let text = String::from_utf8_lossy(line);
    let mut found = lock(values);
    let Found { last, history } = &mut *found;
    for (metric, last) in last.iter_mut() {
        let Some(value) = metric.value(&text) else { continue };
        *last = Some(value);
        if let Some(history) = history {
            history.push(RunEvent::Figure { at_ns: clock::monotonic_ns(), name: metric.name.clone(), value });
        }
    }
    line.clear();
}

fn lock(values: &Values) -> MutexGuard<'_, Found> {
    values.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use model::event::RunEvent;

    use super::{Found, OutputMetric, pass_on};

    fn metric(text: &str) -> OutputMetric {
        text.parse().unwrap()
    }

    #[test]
    fn the_last_number_counts_and_the_output_passes_unchanged() {
        let text = b"progress: tps = 90\rtps = 1,234.5 (without)\nlatency = 3 ms\ntps = none\nprompt> \xff";
        let metrics = [r"tps=tps = ([\d.,]+)", "latency=latency = ([0-9]+) ms", "errors=errors: ([0-9]+)"];
        let last = metrics.map(|text| (metric(text), None)).to_vec();
        let values = Arc::new(Mutex::new(Found { last, history: Some(Vec::new()) }));
        let mut copy = Vec::new();
        pass_on(&text[..], &mut copy, &values);
        assert_eq!(copy, text);
        let found = values.lock().unwrap();
        let last: Vec<Option<f64>> = found.last.iter().map(|(_, value)| *value).collect();
        assert_eq!(last, [Some(1234.5), Some(3.0), None]);
        let each = |event: &RunEvent| matches!(event, RunEvent::Figure { name, value: 90.0, .. } if name == "tps");
        assert_eq!(
            (found.history.as_ref().unwrap().len(), found.history.as_ref().unwrap().iter().any(each)),
            (3, true)
        );
    }

    #[test]
    fn what_is_no_metric_is_refused() {
        for (text, why) in [
            ("tps", "NAME=REGEX"),
            ("=([0-9]+)", "a name"),
            ("a b=([0-9]+)", "a name"),
            ("tps=[0-9", "'[0-9'"),
            ("tps=[0-9]+", "in parentheses"),
        ] {
            let error = text.parse::<OutputMetric>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}

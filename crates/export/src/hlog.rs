//! HdrHistogram's interval log, version 1.3, with histograms in its compressed form, V2.
//!
//! The buckets of a run are HdrHistogram's own ([`model::latency`]), so that nothing is rounded. Values are
//! nanoseconds; `Interval_Max` is in milliseconds, as the log's readers expect.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use model::latency::{HIGHEST_NS, SIGNIFICANT_DIGITS};
use model::operation::{Bucket, IntervalRecord};
use model::run::RunDescription;

/// Cookies of the encoding: its base, and 0x10 for counts of one to nine bytes.
const COOKIE: u32 = 0x1c84_9303 | 0x10;
const COMPRESSED_COOKIE: u32 = 0x1c84_9304 | 0x10;

/// A log being written.
pub struct HistogramLog<W: Write> {
    sink: W,
    started_ns: u64,
    line: String,
}

impl<W: Write> HistogramLog<W> {
    /// Begins a log whose times count from the run's begin.
    pub fn new(mut sink: W, description: &RunDescription) -> io::Result<HistogramLog<W>> {
        let wall_ns = description.started.wall_ns.max(0);
        let (seconds, ms) = (wall_ns / 1_000_000_000, wall_ns / 1_000_000 % 1_000);
        writeln!(sink, "#[Logged with stallscope {}; values are nanoseconds]", description.version)?;
        if let Some(origin) = description.origin() {
            writeln!(sink, "#[SIMULATED by the model '{}', policy '{}']", tag(&origin.model), tag(&origin.policy))?;
        }
        writeln!(sink, "#[Histogram log format version 1.3]")?;
        writeln!(sink, "#[StartTime: {seconds}.{ms:03} (seconds since epoch)]")?;
        writeln!(sink, "#[BaseTime: {seconds}.{ms:03} (seconds since epoch)]")?;
        writeln!(sink, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"")?;
        Ok(HistogramLog { sink, started_ns: description.started.monotonic_ns, line: String::new() })
    }

    /// Adds an interval under the tag `PHASE.CLASS`; its histogram is empty if nothing finished.
    pub fn interval(&mut self, interval: &IntervalRecord) -> io::Result<()> {
        let seconds = |ns: u64| format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1_000);
        let start = seconds(interval.start_ns.saturating_sub(self.started_ns));
        let length = seconds(interval.end_ns.saturating_sub(interval.start_ns));
        let max_ms = interval.max_ns.unwrap_or(0) as f64 / 1e6;
        self.line.clear();
        base64(&compressed(&interval.buckets)?, &mut self.line);
        let (phase, class) = (tag(&interval.phase), tag(&interval.class));
        writeln!(self.sink, "Tag={phase}.{class},{start},{length},{max_ms:.3},{}", self.line)
    }

    /// Ends the log and returns the sink.
    pub fn finish(mut self) -> io::Result<W> {
        self.sink.flush()?;
        Ok(self.sink)
    }
}

/// A name without characters that would end a tag.
fn tag(name: &str) -> String {
    name.chars().map(|c| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

/// A histogram in the compressed form.
fn compressed(buckets: &[Bucket]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend(COMPRESSED_COOKIE.to_be_bytes());
    bytes.extend([0; 4]);
    let mut deflated = ZlibEncoder::new(bytes, Compression::default());
    deflated.write_all(&plain(buckets))?;
    let mut bytes = deflated.finish()?;
    let length = (bytes.len() - 8) as u32;
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// A histogram in the form V2: a head, and the counts of all buckets up to the last, in which `-n` stands for `n`
/// empty buckets.
fn plain(buckets: &[Bucket]) -> Vec<u8> {
    let mut counts = Vec::with_capacity(4 * buckets.len());
    let mut next = 0;
    for bucket in buckets.iter().filter(|bucket| bucket.count > 0) {
        let empty = i64::from(bucket.index) - next;
        if empty > 0 {
            zigzag(-empty, &mut counts);
        }
        zigzag(bucket.count as i64, &mut counts);
        next = i64::from(bucket.index) + 1;
    }
    let mut bytes = Vec::with_capacity(40 + counts.len());
    bytes.extend(COOKIE.to_be_bytes());
    bytes.extend((counts.len() as u32).to_be_bytes());
    // The index of the first bucket, and digits.
    bytes.extend(0_u32.to_be_bytes());
    bytes.extend(u32::from(SIGNIFICANT_DIGITS).to_be_bytes());
    bytes.extend(1_u64.to_be_bytes());
    bytes.extend(HIGHEST_NS.to_be_bytes());
    bytes.extend(1_f64.to_be_bytes());
    bytes.extend(counts);
    bytes
}

/// A number in one to nine bytes: the sign in the lowest bit, seven bits a byte, all eight in the ninth.
fn zigzag(value: i64, bytes: &mut Vec<u8>) {
    let mut value = (value << 1 ^ value >> 63) as u64;
    for _ in 0..8 {
        if value < 0x80 {
            return bytes.push(value as u8);
        }
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn base64(bytes: &[u8], text: &mut String) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for three in bytes.chunks(3) {
        let whole = three.iter().fold(0, |whole, byte| whole << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(whole >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= three.len() { letter as char } else { '=' });
        }
    }
}

#[cfg(test)]
mod tests;

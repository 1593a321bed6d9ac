//! Block events of a recording → requests.

use std::io::{BufRead, BufReader, Read};

use blktrace::Trace;
use lifecycle::{FinishedBio, Lifecycle, Phase, Settings};
use model::stall::RequestRecord;

use crate::reading::block_trace;
use crate::ui::failure::Failure;

/// Requests that are kept: later ones are left out.
const MOST: usize = 8 << 20;

/// The requests, by completion, on the recording's clock.
pub fn of(source: impl Read + Send + 'static, name: &str) -> Result<Vec<RequestRecord>, Failure> {
    let source = BlockLines { source: BufReader::new(source), line: Vec::new(), at: 0 };
    let mut trace = Trace::from_reader(name, source).map_err(block_trace::unreadable)?;
    let mut lifecycle = Lifecycle::with_observer(Settings::default(), Vec::<FinishedBio>::new());
    while let Some(events) = trace.next_batch().map_err(block_trace::unreadable)? {
        lifecycle.feed_all(events);
    }
    let (_, mut bios) = lifecycle.finish();
    bios.truncate(MOST);
    bios.sort_by_key(|bio| bio.completed_ns);
    Ok(bios.iter().zip(0..).map(|(bio, number)| request(bio, number)).collect())
}

fn request(bio: &FinishedBio, request: u32) -> RequestRecord {
    let phase = |phase: Phase| bio.phases.get(phase);
    let queued_ns = phase(Phase::Q2C).map(|_| bio.queued_ns);
    let got_ns = queued_ns.zip(phase(Phase::Q2G).or(phase(Phase::Q2M))).map(|(queued_ns, took_ns)| queued_ns + took_ns);
    let inserted_ns = got_ns.zip(phase(Phase::G2I)).map(|(got_ns, took_ns)| got_ns + took_ns);
    let issued_ns = phase(Phase::D2C).and_then(|took_ns| bio.completed_ns.checked_sub(took_ns));
    RequestRecord {
        request,
        device: bio.device,
        sector: bio.sector,
        bytes: bio.sectors.saturating_mul(512),
        kind: bio.kind,
        tid: bio.pid,
        merges: u32::from(bio.merged),
        queued_ns,
        got_ns,
        inserted_ns,
        issued_ns,
        completed_ns: bio.completed_ns,
        errno: (bio.error != 0).then(|| i32::from(bio.error)),
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: Vec::new(),
    }
}

/// The lines of block events alone: the first may come after many others.
struct BlockLines<R> {
    source: BufReader<R>,
    line: Vec<u8>,
    at: usize,
}

/// Longer lines are no events.
const LONGEST: u64 = 64 << 10;

impl<R: Read> Read for BlockLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.line.len() {
            (self.at, self.line) = (0, std::mem::take(&mut self.line));
            self.line.clear();
            if Read::take(&mut self.source, LONGEST).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(0);
            }
            let is_of_block =
                self.line.windows(6).any(|part| part == b"block_") || self.line.windows(5).any(|part| part == b"LOST ");
            if !is_of_block {
                self.line.clear();
            }
        }
        let length = buffer.len().min(self.line.len() - self.at);
        buffer[..length].copy_from_slice(&self.line[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

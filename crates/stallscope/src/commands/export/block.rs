//! Block requests as a blktrace stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Write};

use blktrace::encode::{ByteOrder, Encoder, Version};
use model::block::{Action, BlockEvent};
use model::stall::RequestRecord;
use report::number::grouped;

use super::destination::{Destination, OutputFile};
use super::run_rows::RunRows;
use crate::ui::failure::Failure;

/// The records that blkparse and btt read: version 7 in this machine's byte order.
const ENCODER: Encoder = Encoder {
    version: Version::V7,
    order: if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little },
};

/// The events of all requests by time, after the names of their threads.
///
/// The archive stores requests by completion. A first pass finds the earliest event of each batch, so the second pass
/// buffers as little as possible.
pub fn blktrace(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let run = source.run;
    let mut begins_ns = Vec::new();
    let requests = source.each(destination, run.requests(), Vec::len, |rows| {
        begins_ns.push(rows.iter().flat_map(moments).map(|(at_ns, _)| at_ns).min().unwrap_or(u64::MAX));
        Ok(())
    })?;
    if requests == 0 {
        return Err(Failure::usage(format_args!(
            "{}: has no block requests; record with tracing, preferably with --requests all",
            run.dir().display()
        )));
    }
    let mut stream = Stream { sink: destination.file()?, bytes: Vec::new(), waiting: BinaryHeap::new(), events: 0 };
    let started_ns = run.description().started.monotonic_ns;
    source.each(destination, run.tasks(), Vec::len, |rows| {
        rows.iter().for_each(|task| ENCODER.process(started_ns, task.tid, &task.name, &mut stream.bytes));
        stream.flush()
    })?;
    let mut batch = 0;
    source.each(destination, run.requests(), Vec::len, |rows| {
        rows.iter().for_each(|request| stream.add(request));
        batch += 1;
        let safe_ns = begins_ns.get(batch..).and_then(|later| later.iter().min()).copied();
        stream.write_before(safe_ns.unwrap_or(u64::MAX))
    })?;
    stream.write_before(u64::MAX).and_then(|()| stream.sink.flush()).map_err(|error| destination.failed(error))?;
    let all = run.description().trace.as_ref().is_some_and(|trace| trace.all_requests);
    if !all {
        source.screen.remark("only slow requests, and those that a task waited for: '--requests all' records all");
    }
    Ok(format!("{} events of {} requests", grouped(stream.events), grouped(requests)))
}

/// Events on their way to the file.
struct Stream {
    sink: OutputFile,
    bytes: Vec<u8>,
    /// By time, then in the order of a request's life; the rest orders simultaneous events.
    waiting: BinaryHeap<Reverse<(u64, u8, u32, Event)>>,
    events: u64,
}

/// The heap does not compare events.
struct Event(BlockEvent);

impl PartialEq for Event {
    fn eq(&self, _: &Event) -> bool {
        true
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, _: &Event) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Stream {
    fn add(&mut self, request: &RequestRecord) {
        for (order, (at_ns, action)) in (0..).zip(moments(request)) {
            let event = BlockEvent {
                sector: request.sector,
                bytes: request.bytes,
                pid: request.tid,
                error: request.errno.map_or(0, |errno| errno.unsigned_abs() as u16),
                kind: request.kind,
                ..BlockEvent::new(at_ns, action, request.device)
            };
            self.waiting.push(Reverse((at_ns, order, request.request, Event(event))));
        }
    }

    /// Writes the events before a moment.
    fn write_before(&mut self, end_ns: u64) -> io::Result<()> {
        while self.waiting.peek().is_some_and(|Reverse(next)| next.0 < end_ns) {
            let Some(Reverse((.., Event(event)))) = self.waiting.pop() else { break };
            self.events += 1;
            ENCODER.event(&event, self.events as u32, &mut self.bytes);
            if self.bytes.len() > 1 << 16 {
                self.flush()?;
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

/// The known moments of a request's life.
fn moments(request: &RequestRecord) -> impl Iterator<Item = (u64, Action)> {
    let moments = [
        (request.queued_ns, Action::Queue),
        (request.got_ns, Action::GetRequest),
        (request.inserted_ns, Action::Insert),
        (request.issued_ns, Action::Issue),
        (Some(request.completed_ns), Action::Complete),
    ];
    moments.into_iter().filter_map(|(at_ns, action)| Some((at_ns?, action)))
}

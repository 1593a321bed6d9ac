//! Block requests as a blktrace stream.

use std::collections::HashMap;
use std::io::{self, Write};

use blktrace::encode::{ByteOrder, Encoder, Version};
use model::block::{BlockEvent, DeviceNumber};
use model::quantity::counted;
use model::stall::RequestRecord;

use super::destination::{Destination, OutputFile};
use super::run_rows::RunRows;
use crate::reading::request_events::{self, InOrder};
use crate::ui::failure::Failure;

/// The records that blkparse and btt read: version 7 in this machine's byte order.
const ENCODER: Encoder = Encoder {
    version: Version::V7,
    order: if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little },
};

/// The events of all requests by time, after the names of their threads.
pub fn blktrace(source: &mut RunRows<'_>, destination: &Destination) -> Result<String, Failure> {
    let run = source.run;
    let mut stream = Stream { sink: destination.file()?, bytes: Vec::new(), events: 0, sequences: HashMap::new() };
    let started_ns = run.description().started.monotonic_ns;
    source.each(destination, run.tasks(), Vec::len, |rows| {
        rows.iter().for_each(|task| ENCODER.process(started_ns, task.tid, &task.name, &mut stream.bytes));
        stream.flush()
    })?;
    let requests = in_order(source, destination, request_events::of, |event| stream.write(event))?;
    stream.flush().and_then(|()| stream.sink.flush()).map_err(|error| destination.failed(error))?;
    Ok(format!("{} of {}", counted(stream.events, "event"), counted(requests, "request")))
}

/// Passes events of all requests in the order of time. Returns the requests: of none, the format has nothing to say.
///
/// The archive stores requests by completion. A first pass finds the earliest event of each batch, so the second pass
/// buffers as little as possible.
pub fn in_order<Events: Iterator<Item = BlockEvent>>(
    source: &mut RunRows<'_>,
    destination: &Destination,
    of: impl Fn(&RequestRecord) -> Events,
    mut take: impl FnMut(&BlockEvent) -> io::Result<()>,
) -> Result<u64, Failure> {
    let run = source.run;
    let mut begins_ns = Vec::new();
    let requests = source.each(destination, run.requests(), Vec::len, |rows| {
        begins_ns.push(rows.iter().flat_map(&of).map(|event| event.time_ns).min().unwrap_or(u64::MAX));
        Ok(())
    })?;
    if requests == 0 {
        return Err(Failure::usage(format_args!(
            "{}: has no block requests; record with tracing, preferably with --requests all",
            run.dir().display()
        )));
    }
    let (mut waiting, mut batch) = (InOrder::default(), 0);
    let mut take_before = |waiting: &mut InOrder, end_ns| -> io::Result<()> {
        while let Some(event) = waiting.next_before(end_ns) {
            take(&event)?;
        }
        Ok(())
    };
    source.each(destination, run.requests(), Vec::len, |rows| {
        rows.iter().for_each(|request| waiting.add(request.request, of(request)));
        batch += 1;
        let safe_ns = begins_ns.get(batch..).and_then(|later| later.iter().min()).copied();
        take_before(&mut waiting, safe_ns.unwrap_or(u64::MAX))
    })?;
    take_before(&mut waiting, u64::MAX).map_err(|error| destination.failed(error))?;
    if !run.description().trace.as_ref().is_some_and(|trace| trace.all_requests) {
        source
            .screen
            .remark("only slow requests and those that a task waited for were recorded; '--requests all' records all");
    }
    Ok(requests)
}

/// Events on their way to the file.
struct Stream {
    sink: OutputFile,
    bytes: Vec<u8>,
    events: u64,
    /// The last number of each device: the kernel counts per device and CPU, and all events are on CPU 0.
    sequences: HashMap<DeviceNumber, u32>,
}

impl Stream {
    fn write(&mut self, event: &BlockEvent) -> io::Result<()> {
        self.events += 1;
        let sequence = self.sequences.entry(event.device).or_default();
        *sequence = sequence.wrapping_add(1);
        ENCODER.event(event, *sequence, &mut self.bytes);
        if self.bytes.len() > 1 << 16 { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

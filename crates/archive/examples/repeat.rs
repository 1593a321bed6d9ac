//! A long run made of a short one, to measure what reading a run costs: its rows again and again, each time later.
//!
//!     cargo run --release -p archive --example repeat -- RUN NEW TIMES

use std::env;
use std::path::Path;

use archive::{ArchiveError, Run, Writer, WriterOptions};
use model::event::{Ending, RunEvent};
use model::stall::{RequestRecord, StallRecord, Traced};
use model::time::Moment;

const SECOND_NS: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [run, new, times] = &arguments[..] else { return Err("needs RUN NEW TIMES".into()) };
    let (run, times) = (Run::open(Path::new(run))?, times.parse()?);
    let options = WriterOptions { sync: false, trace_pending_limit_bytes: usize::MAX, ..WriterOptions::default() };
    let mut writer = Writer::create(Path::new(new), run.description(), options)?;
    let period = Period::of(&run)?;
    let mut traced = Traced { stacks: rows(run.stacks())?, tasks: rows(run.tasks())?, ..Traced::default() };
    traced.user_frames = rows(run.user_frames())?;
    writer.traced(&mut traced);
    for nth in 0..times {
        repeat(&run, &mut writer, &period, nth)?;
    }
    let at_ns = period.end_ns + (u64::from(times) - 1) * period.ns;
    let is_end = |event: &&RunEvent| matches!(event, RunEvent::Ended { .. });
    run.events().iter().filter(|event| !is_end(event)).for_each(|event| writer.event(event.clone()));
    writer.event(RunEvent::Ended { at_ns, how: Ending::Done });
    writer.close(Moment { monotonic_ns: at_ns, ..Moment::default() })?;
    Ok(())
}

/// What a repetition adds to the numbers of the one before.
struct Period {
    end_ns: u64,
    ns: u64,
    requests: u32,
}

impl Period {
    fn of(run: &Run) -> Result<Period, ArchiveError> {
        let (start_ns, end_ns) = run.stalls().span_ns().unwrap_or_default();
        let mut last = 0;
        for requests in run.requests() {
            last = requests?.iter().map(|request| request.request).fold(last, u32::max);
        }
        Ok(Period { end_ns, ns: end_ns - start_ns + SECOND_NS, requests: last + 1 })
    }
}

fn repeat(run: &Run, writer: &mut Writer, period: &Period, nth: u32) -> Result<(), ArchiveError> {
    let (ns, requests) = (u64::from(nth) * period.ns, nth * period.requests);
    let mut flush = |traced: &mut Traced| {
        writer.traced(traced);
        // A flush that fails is seen by the close.
        let _ = writer.flush(Moment { monotonic_ns: period.end_ns + ns, ..Moment::default() });
    };
    for stalls in run.stalls() {
        let stalls = stalls?.into_iter().map(|row| later_stall(row, ns, requests)).collect();
        flush(&mut Traced { stalls, ..Traced::default() });
    }
    for rows in run.requests() {
        let requests = rows?.into_iter().map(|row| later_request(row, ns, requests)).collect();
        flush(&mut Traced { requests, ..Traced::default() });
    }
    let mut rest = Traced { usage: rows(run.usage())?, user_stacks: rows(run.user_stacks())?, ..Traced::default() };
    rest.usage.iter_mut().for_each(|row| (row.start_ns, row.end_ns) = (row.start_ns + ns, row.end_ns + ns));
    rest.user_stacks.iter_mut().for_each(|row| (row.start_ns, row.end_ns) = (row.start_ns + ns, row.end_ns + ns));
    flush(&mut rest);
    Ok(())
}

fn rows<Row>(batches: impl Iterator<Item = Result<Vec<Row>, ArchiveError>>) -> Result<Vec<Row>, ArchiveError> {
    Ok(batches.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn later_stall(row: StallRecord, ns: u64, requests: u32) -> StallRecord {
    let later = |at_ns: Option<u64>| at_ns.map(|at_ns| at_ns + ns);
    StallRecord {
        start_ns: row.start_ns + ns,
        woken_ns: later(row.woken_ns),
        call_start_ns: later(row.call_start_ns),
        asked_ns: later(row.asked_ns),
        cpu_ns: later(row.cpu_ns),
        request: row.request.map(|request| request + requests),
        ..row
    }
}

fn later_request(mut row: RequestRecord, ns: u64, requests: u32) -> RequestRecord {
    let later = |at_ns: Option<u64>| at_ns.map(|at_ns| at_ns + ns);
    if let Some(parts) = &mut row.parts {
        parts.preflush_ns = later(parts.preflush_ns);
        parts.data_ns = later(parts.data_ns);
        parts.postflush_ns = later(parts.postflush_ns);
        parts.lower = parts.lower.map(|lower| lower + requests);
    }
    RequestRecord {
        request: row.request + requests,
        queued_ns: later(row.queued_ns),
        got_ns: later(row.got_ns),
        inserted_ns: later(row.inserted_ns),
        issued_ns: later(row.issued_ns),
        completed_ns: row.completed_ns + ns,
        ..row
    }
}

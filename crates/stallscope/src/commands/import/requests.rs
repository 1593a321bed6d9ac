//! Block events of a recording → requests.

use std::io::Read;

use blktrace::Trace;
use lifecycle::{FinishedBio, Lifecycle, Phase, Settings};
use model::stall::RequestRecord;

use crate::reading::block_trace;
use crate::ui::failure::Failure;

/// Requests that are kept: later ones are left out.
const MOST: usize = 8 << 20;

/// The requests, by completion, on the recording's clock.
pub fn of(source: impl Read + Send + 'static, name: &str) -> Result<Vec<RequestRecord>, Failure> {
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

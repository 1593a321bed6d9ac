//! Perfetto: tasks, stalls, requests and counters as tracks of one trace, on the monotonic clock.
//!
//! Rows may come in any order of time, since the reader sorts; [`PerfettoTrace::tasks`], [`PerfettoTrace::samples`] and
//! [`PerfettoTrace::chain`] come before what refers to them.

mod chains;
mod counters;
mod lanes;
mod packet;
mod requests;
mod run;
mod stalls;
mod threads;
mod track_kind;

use std::collections::HashMap;
use std::io::{self, Write};

use model::block::DeviceNumber;
use model::run::RunDescription;
use model::stall::TaskRecord;

pub use self::chains::ChainStep;
use self::chains::Chains;
use self::lanes::DisjointTracks;
use self::packet::{Packets, Track};
use self::threads::Threads;
use self::track_kind::TrackKind;

/// A trace being written.
pub struct PerfettoTrace<W: Write> {
    packets: Packets<W>,
    threads: Threads,
    /// Number of lanes so far.
    lanes: u64,
    stacks: HashMap<u32, String>,
    chains: Chains,
    devices: HashMap<DeviceNumber, (Track, DisjointTracks, Vec<Track>)>,
    device_names: HashMap<DeviceNumber, String>,
    /// A track for each source of metrics.
    sources: HashMap<String, Track>,
    /// When each sample was taken.
    samples: HashMap<u32, u64>,
    /// Counters of the load's classes so far.
    classes: HashMap<(String, &'static str), Track>,
    phases: DisjointTracks,
    phase_tracks: Vec<Track>,
    open_phases: Vec<(String, u64)>,
}

impl<W: Write> PerfettoTrace<W> {
    /// Begins a trace of a run.
    pub fn new(sink: W, description: &RunDescription) -> io::Result<PerfettoTrace<W>> {
        let mut packets = Packets::new(sink, description.started)?;
        let simulated = description.origin().map_or_else(String::new, |origin| {
            format!(", SIMULATED by the model '{}', policy '{}'", origin.model, origin.policy)
        });
        packets.track(TrackKind::Run.track(0), None, &format!("run {}{simulated}", description.workload))?;
        let names =
            description.devices.iter().filter_map(|device| Some((device.device_number()?, device.name.clone())));
        Ok(PerfettoTrace {
            packets,
            threads: Threads::default(),
            lanes: 0,
            stacks: HashMap::new(),
            chains: Chains::default(),
            devices: HashMap::new(),
            device_names: names.collect(),
            sources: HashMap::new(),
            samples: HashMap::new(),
            classes: HashMap::new(),
            phases: DisjointTracks::default(),
            phase_tracks: Vec::new(),
            open_phases: Vec::new(),
        })
    }

    /// Ends the trace and returns the sink.
    pub fn finish(mut self) -> io::Result<W> {
        // A phase without an end: the run was cut off in it.
        for (phase, at_ns) in std::mem::take(&mut self.open_phases) {
            self.packets.instant(TrackKind::Run.track(0), at_ns, ("phase", &phase), &[])?;
        }
        self.packets.finish()
    }

    /// Threads that were seen.
    pub fn tasks(&mut self, tasks: &[TaskRecord]) -> io::Result<()> {
        for task in tasks {
            self.threads.add(&mut self.packets, task)?;
        }
        Ok(())
    }

    /// A chain of waits, before the rows that it consists of. Steps without a row are left out.
    pub fn chain(&mut self, chain: &[ChainStep]) {
        self.chains.add(chain);
    }

    /// Begins a lane below another track. The viewer merges lanes of one name.
    fn lane(&mut self, parent: Track, name: &str) -> io::Result<Track> {
        self.lanes += 1;
        let lane = TrackKind::Lane.track(self.lanes);
        self.packets.track(lane, Some(parent), name)?;
        Ok(lane)
    }
}

#[cfg(test)]
mod tests;

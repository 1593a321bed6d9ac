//! Threads: a track for each, below its process. A reused thread id is another thread.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use model::stall::TaskRecord;

use super::lanes::{DisjointTracks, NestedTracks};
use super::packet::{Packets, Track};
use super::track_kind::TrackKind;

/// The known threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// By thread id: since when, and which.
    known: HashMap<u32, Vec<(u64, usize)>>,
    all: Vec<ThreadTracks>,
    processes: HashSet<u32>,
}

/// A thread's tracks.
#[derive(Debug)]
pub(super) struct ThreadTracks {
    /// Its own.
    pub(super) track: Track,
    /// Its waits.
    pub(super) nests: NestedTracks,
    /// The tracks of the waits: the first is the thread's own.
    pub(super) lanes: Vec<Track>,
    /// Sums of short losses.
    pub(super) sums: DisjointTracks,
    /// The tracks of those.
    pub(super) sum_lanes: Vec<Track>,
    /// A load's operations in it.
    pub(super) operations: NestedTracks,
    /// The tracks of those.
    pub(super) operation_lanes: Vec<Track>,
}

impl Threads {
    /// The thread with this id at that time: the latest seen before, or else the first. An unknown thread gets no name.
    pub(super) fn at<W: Write>(&mut self, packets: &mut Packets<W>, tid: u32, at_ns: u64) -> io::Result<usize> {
        let latest = |seen: &Vec<(u64, usize)>| {
            let before = seen.iter().rev().find(|(since_ns, _)| *since_ns <= at_ns);
            before.or(seen.first()).map(|(_, number)| *number)
        };
        if let Some(number) = self.known.get(&tid).and_then(latest) {
            return Ok(number);
        }
        let unknown = TaskRecord {
            tid,
            pid: tid,
            name: String::new(),
            cgroup: None,
            started_by: None,
            role: None,
            container: None,
            io_cgroup: None,
            seen_ns: 0,
        };
        self.add(packets, &unknown)
    }

    /// A thread by its number.
    pub(super) fn get(&mut self, number: usize) -> &mut ThreadTracks {
        &mut self.all[number]
    }

    /// Begins a thread, and its process where that is new; gives its number.
    pub(super) fn add<W: Write>(&mut self, packets: &mut Packets<W>, task: &TaskRecord) -> io::Result<usize> {
        let process = TrackKind::Process.track(u64::from(task.pid));
        if self.processes.insert(task.pid) {
            let name = (task.tid == task.pid && !task.name.is_empty()).then_some(task.name.as_str());
            packets.process(process, task.pid, name)?;
        }
        let number = self.all.len();
        let track = TrackKind::Thread.track(number as u64);
        packets.thread(track, process, task.pid, task.tid, &task.name)?;
        self.all.push(ThreadTracks {
            track,
            nests: NestedTracks::default(),
            lanes: vec![track],
            sums: DisjointTracks::default(),
            sum_lanes: Vec::new(),
            operations: NestedTracks::default(),
            operation_lanes: Vec::new(),
        });
        let seen = self.known.entry(task.tid).or_default();
        seen.push((task.seen_ns, number));
        seen.sort_unstable();
        Ok(number)
    }
}

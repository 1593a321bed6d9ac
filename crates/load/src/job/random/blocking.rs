//! One operation at a time.

use memmap2::MmapMut;

use super::access::RandomJob;
use super::choice::{Act, OperationChooser};
use crate::board::OperationLevel;
use crate::clock;
use crate::engine::BlockingEngine;
use crate::io_failure::IoFailure;
use crate::work::Worker;

/// Runs until the phase is over. Consecutive operations share a clock reading: the end of one is the start of the next,
/// so the load's own work between two counts in the second's latency.
pub(super) fn run(
    job: &RandomJob,
    worker: &mut Worker<'_>,
    mut chooser: OperationChooser<'_>,
    engine: &impl BlockingEngine,
) {
    let file = chooser.file;
    let mut buffers = match AlignedBuffers::new(job.block_bytes as usize, worker) {
        Ok(buffers) => buffers,
        Err(error) => return worker.give_up(&format!("cannot allocate buffers of {} bytes: {error}", job.block_bytes)),
    };
    let mut now_ns = clock::now_ns();
    while let Some(intended_ns) = worker.next_start_ns() {
        let start_ns = intended_ns.unwrap_or(now_ns);
        let mut operation = chooser.next(&mut worker.random);
        worker.recorder.begin_at(OperationLevel::Step, operation.class, start_ns, Some(file), Some(operation.offset));
        let result = match operation.act {
            Act::Read => engine.read(&mut buffers.read, operation.offset),
            Act::Write => {
                chooser.prepare(&mut operation, &mut buffers.write);
                engine.write(&buffers.write, operation.offset)
            }
        };
        now_ns = clock::now_ns();
        let result = result.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO));
        let checked = chooser.check(&operation, result, &buffers.read);
        let counted = worker.finish(operation.class, start_ns, now_ns, Some(file), checked);
        worker.done(1);
        if counted.is_err() {
            worker.back_off();
            now_ns = clock::now_ns();
        }
        now_ns = sync_if_due(worker, &mut chooser, engine, now_ns);
    }
}

/// Makes the sync call that is due, if any; returns the time after it.
fn sync_if_due(
    worker: &mut Worker<'_>,
    chooser: &mut OperationChooser<'_>,
    engine: &impl BlockingEngine,
    start_ns: u64,
) -> u64 {
    let Some((kind, class, synced)) = chooser.due_sync() else { return start_ns };
    let file = Some(chooser.file);
    worker.recorder.begin_at(OperationLevel::Step, class, start_ns, file, None);
    let result = engine.sync(kind);
    let end_ns = clock::now_ns();
    chooser.synced(&synced, result.is_ok());
    let checked = result.map(|()| 0).map_err(IoFailure::from);
    if worker.finish(class, start_ns, end_ns, file, checked).is_err() {
        worker.back_off();
        return clock::now_ns();
    }
    end_ns
}

/// Aligned to pages, as direct I/O needs.
struct AlignedBuffers {
    read: MmapMut,
    write: MmapMut,
}

impl AlignedBuffers {
    fn new(bytes: usize, worker: &mut Worker<'_>) -> std::io::Result<AlignedBuffers> {
        let (mut read, mut write) = (MmapMut::map_anon(bytes)?, MmapMut::map_anon(bytes)?);
        read.fill(1);
        worker.random.fill(&mut write);
        Ok(AlignedBuffers { read, write })
    }
}

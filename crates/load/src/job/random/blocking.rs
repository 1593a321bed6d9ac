//! One operation after the other.

use memmap2::MmapMut;

use super::access::RandomAccess;
use super::choice::{Act, Chooser};
use crate::board::Level;
use crate::clock;
use crate::engine::Blocking;
use crate::io_failure::Failure;
use crate::work::Worker;

/// Until the phase is over. Operations that follow one another at once share a look at the clock: the end of one is the start
/// of the next, so what the load itself does between two counts in the second's latency.
pub(super) fn run(job: &RandomAccess, worker: &mut Worker<'_>, mut chooser: Chooser<'_>, engine: &impl Blocking) {
    let file = chooser.file;
    let mut buffers = match Buffers::new(job.block_bytes as usize, worker) {
        Ok(buffers) => buffers,
        Err(error) => return worker.give_up(&format!("cannot have buffers of {} bytes: {error}", job.block_bytes)),
    };
    let mut now_ns = clock::now_ns();
    while let Some(intended_ns) = worker.next_start_ns() {
        let start_ns = intended_ns.unwrap_or(now_ns);
        let mut operation = chooser.next(&mut worker.random);
        worker.recorder.begin_at(Level::Step, operation.class, start_ns, Some(file), Some(operation.offset));
        let result = match operation.act {
            Act::Read => engine.read(&mut buffers.read, operation.offset),
            Act::Write => {
                chooser.prepare(&mut operation, &mut buffers.write);
                engine.write(&buffers.write, operation.offset)
            }
        };
        now_ns = clock::now_ns();
        let result = result.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO));
        let judged = chooser.judge(&operation, result, &buffers.read);
        let counted = worker.finish(operation.class, start_ns, now_ns, Some(file), judged);
        worker.done(1);
        if counted.is_err() {
            worker.back_off();
            now_ns = clock::now_ns();
        }
        if let Some((kind, class, synced)) = chooser.due_sync() {
            worker.recorder.begin_at(Level::Step, class, now_ns, Some(file), None);
            let start_ns = now_ns;
            let result = engine.sync(kind);
            now_ns = clock::now_ns();
            chooser.synced(&synced, result.is_ok());
            let judged = result.map(|()| 0).map_err(Failure::from);
            if worker.finish(class, start_ns, now_ns, Some(file), judged).is_err() {
                worker.back_off();
                now_ns = clock::now_ns();
            }
        }
    }
}

/// Aligned to pages, as direct I/O needs.
struct Buffers {
    read: MmapMut,
    write: MmapMut,
}

impl Buffers {
    fn new(bytes: usize, worker: &mut Worker<'_>) -> std::io::Result<Buffers> {
        let (mut read, mut write) = (MmapMut::map_anon(bytes)?, MmapMut::map_anon(bytes)?);
        read.fill(1);
        worker.random.fill(&mut write);
        Ok(Buffers { read, write })
    }
}

//! Writes a simulated trace as a merged dump: `blk_generate EVENTS FILE`. bench/blk.sh measures speed and memory of
//! readers with it.

use std::fs::File;
use std::io::{BufWriter, Write};

use blktrace::encode::{ByteOrder, Encoder, Version};
use simulate::block::damage::Sequencer;
use simulate::block::{Workload, process_name, simulate};

/// Events per bio in this workload, roughly.
const EVENTS_PER_BIO: u64 = 5;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(events), Some(path)) = (arguments.next().and_then(|count| count.parse().ok()), arguments.next()) else {
        eprintln!("usage: blk_generate EVENTS FILE");
        std::process::exit(2);
    };
    let workload = workload(events);
    let encoder = Encoder { version: Version::V7, order: ByteOrder::Little };
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut sequencer = Sequencer::default();
    let mut record = Vec::with_capacity(128);
    for task in 0..workload.tasks {
        encoder.process(0, 1000 + task, &process_name(1000 + task), &mut record);
    }
    out.write_all(&record)?;
    let (mut written, mut failed) = (0_u64, None);
    simulate(
        &workload,
        |event| {
            if written < events && failed.is_none() {
                record.clear();
                encoder.event(event, sequencer.number(event), &mut record);
                failed = out.write_all(&record).err();
                written += 1;
            }
        },
        |_| {},
    );
    failed.map_or_else(|| out.flush(), Err)?;
    eprintln!("{written} events");
    Ok(())
}

fn workload(events: u64) -> Workload {
    Workload {
        bios: events / EVENTS_PER_BIO + 1,
        tasks: 32,
        disks: 2,
        depth: 64,
        // btt and blkparse drop events that carry a cgroup.
        cgroups: 0,
        split: 2,
        flush: 2,
        durable: 5,
        requeue: 1,
        ..Workload::default()
    }
}

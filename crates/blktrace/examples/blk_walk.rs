//! `blk_walk FILE`: time to step over a trace's records, and time to decode them: the baseline of every analysis. See
//! bench/blk.sh.

use std::fs::File;
use std::io::Read;
use std::time::Instant;

/// Steps from header to header (version 7, native byte order) and reads only the payload's length.
fn walk(path: &str) -> std::io::Result<u64> {
    const HEADER: usize = 48;
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    let (mut records, mut left) = (0, 0);
    loop {
        let count = file.read(&mut buffer[left..])?;
        if count == 0 {
            return Ok(records);
        }
        let bytes = &buffer[..left + count];
        let mut at = 0;
        while let Some(payload) = bytes.get(at + 46..at + HEADER) {
            let length = HEADER + usize::from(u16::from_ne_bytes([payload[0], payload[1]]));
            if at + length > bytes.len() {
                break;
            }
            at += length;
            records += 1;
        }
        left = bytes.len() - at;
        buffer.copy_within(at..at + left, 0);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: blk_walk FILE")?;
    let started = Instant::now();
    let records = walk(&path)?;
    let walked = started.elapsed().as_secs_f64();
    let started = Instant::now();
    let mut trace = blktrace::Trace::open([&path])?;
    while trace.next_batch()?.is_some() {}
    let decoded = started.elapsed().as_secs_f64();
    let million = |seconds: f64| records as f64 / seconds / 1e6;
    println!(
        "header walk {walked:.3} s ({:.0} million/s), decoding {decoded:.3} s ({:.0} million/s)",
        million(walked),
        million(decoded)
    );
    Ok(())
}

//! What a recorded request costs on disk, where every one is recorded.

use crate::scenario::{description, moment, options};
use archive::{FlushState, Run, Writer};
use model::block::{DeviceNumber, Kind, Operation};
use model::stall::{RequestRecord, Traced};
use tempfile::tempdir;

/// 4 KiB random reads at 250 000 a second, made by 8 threads with 32 in flight each: the moments are noise of a
/// realistic size, which is what costs space.
struct RandomReads {
    random: u64,
    now_ns: u64,
    request: u32,
}

impl RandomReads {
    /// A pseudo-random number below `limit` (xorshift64).
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    fn next(&mut self) -> RequestRecord {
        self.now_ns += 400 + self.below(7200);
        self.request += 1;
        let completed_ns = self.now_ns;
        let issued_ns = completed_ns - 60_000 - self.below(150_000);
        let inserted_ns = issued_ns - 500 - self.below(30_000);
        let got_ns = inserted_ns - 200 - self.below(600);
        let queued_ns = got_ns - 100 - self.below(300);
        RequestRecord {
            request: self.request,
            device: DeviceNumber::new(7, 0),
            sector: self.below(1 << 18) * 8,
            bytes: 4096,
            kind: Kind::of(Operation::Read),
            tid: 4000 + self.below(8) as u32,
            merges: 0,
            queued_ns: Some(queued_ns),
            got_ns: Some(got_ns),
            inserted_ns: Some(inserted_ns),
            issued_ns: Some(issued_ns),
            completed_ns,
            errno: None,
            throttled: false,
            parts: None,
            in_flight: Vec::new(),
            overtaken_by: Vec::new(),
        }
    }
}

#[test]
fn a_request_takes_at_most_40_bytes() {
    const FLUSHES: u32 = 4;
    const REQUESTS: u32 = 50_000;
    let dir = tempdir().unwrap();
    let mut reads = RandomReads { random: 88_172_645_463_325_252, now_ns: 1 << 40, request: 0 };
    let mut writer = Writer::create(dir.path(), &description(), options(60)).unwrap();
    let mut traced = Traced::default();
    let mut requests = Vec::new();
    for flush in 0..FLUSHES {
        traced.requests.extend((0..REQUESTS).map(|_| reads.next()));
        requests.extend(traced.requests.iter().cloned());
        writer.traced(&mut traced);
        assert_eq!(writer.flush(moment(flush)), FlushState::Whole);
    }
    writer.close(moment(FLUSHES)).unwrap();
    let bytes = std::fs::metadata(dir.path().join("requests-0000.arrows")).unwrap().len() as f64;
    let each = bytes / f64::from(FLUSHES * REQUESTS);
    assert!(each <= 40.0, "{each} bytes");
    let read = Run::open(dir.path()).unwrap().requests().collect::<Result<Vec<_>, _>>().unwrap().concat();
    assert!(read == requests, "other requests are read than were written");
}

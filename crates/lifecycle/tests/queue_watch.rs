//! "Of the requests queued and completed in the meantime the breakdown was 22 RM, 31 RA, 82 W, 445 R. [...] The delay
//! was dominated by reads that were queued after the write request and completed before it." (Mel Gorman, 2013-04-23,
//! on stalls of ext4) - a trace like his must give this sentence directly.

use lifecycle::{Lifecycle, Phase, Settings};
use model::block::{Action, BlockEvent, DeviceNumber, Kind};

const DISK: DeviceNumber = DeviceNumber::new(8, 0);
const OTHER_DISK: DeviceNumber = DeviceNumber::new(8, 16);
const FLUSHER: u32 = 77;
const MUTT: u32 = 500;

struct Script {
    events: Vec<BlockEvent>,
    now_ns: u64,
    next_sector: u64,
}

#[derive(Clone, Copy)]
struct Io {
    device: DeviceNumber,
    kind: &'static str,
    pid: u32,
    sector: u64,
}

impl Script {
    fn event(&mut self, action: Action, io: Io) {
        self.now_ns += 1_000_000;
        self.events.push(BlockEvent {
            sector: io.sector,
            bytes: 4096,
            pid: io.pid,
            kind: Kind::from_rwbs(io.kind.as_bytes()).unwrap(),
            ..BlockEvent::new(self.now_ns, action, io.device)
        });
    }

    fn queue(&mut self, device: DeviceNumber, kind: &'static str, pid: u32) -> Io {
        self.next_sector += 1000;
        let io = Io { device, kind, pid, sector: self.next_sector };
        for action in [Action::Queue, Action::GetRequest, Action::Insert] {
            self.event(action, io);
        }
        io
    }

    fn complete(&mut self, io: Io) {
        self.event(Action::Issue, io);
        self.event(Action::Complete, io);
    }

    fn overtake(&mut self, count: usize, device: DeviceNumber, kind: &'static str, pid: u32) {
        for _ in 0..count {
            let io = self.queue(device, kind, pid);
            self.complete(io);
        }
    }
}

#[test]
fn the_sentence_comes_out_of_a_trace() {
    let mut script = Script { events: Vec::new(), now_ns: 0, next_sector: 0 };
    // In flight when the write is queued: 90 writes of the flusher, and a read.
    let writes: Vec<Io> = (0..90).map(|_| script.queue(DISK, "W", FLUSHER)).collect();
    let read = script.queue(DISK, "R", MUTT);
    let slow = script.queue(DISK, "W", FLUSHER);
    script.complete(read);
    script.overtake(200, DISK, "R", MUTT);
    script.overtake(22, DISK, "RM", MUTT);
    script.overtake(31, DISK, "RA", MUTT + 1);
    script.overtake(82, DISK, "W", FLUSHER);
    // Requests of another disk overtake nothing here.
    script.overtake(7, OTHER_DISK, "R", MUTT);
    for write in &writes[..60] {
        script.complete(*write);
    }
    script.overtake(245, DISK, "R", MUTT);
    // Queued later, but not completed: not overtakers.
    let late: Vec<Io> = (0..5).map(|_| script.queue(DISK, "R", MUTT)).collect();
    script.complete(slow);
    let end = script.events.len();
    late.into_iter().for_each(|io| script.complete(io));

    let mut lifecycle = Lifecycle::new(Settings { slower_than_ns: 2_000_000_000, ..Settings::default() });
    lifecycle.feed_all(&script.events[..end]);
    let (report, ()) = lifecycle.finish();
    let found = report.slow.kept.iter().find(|bio| bio.sector == slow.sector).expect("the slow write is found");
    assert_eq!((found.device, found.pid, found.kind.to_string().as_str()), (DISK, FLUSHER, "W"));

    let said = |others: &[(Kind, u64)]| -> String {
        others.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
    };
    let overtaken = found.overtaken_by.as_ref().unwrap();
    assert_eq!(said(&overtaken.by_kind), "445 R, 82 W, 31 RA, 22 RM");
    assert_eq!(overtaken.by_process, [(MUTT, 467), (FLUSHER, 82), (MUTT + 1, 31)]);
    assert_eq!(overtaken.by_device, [(DISK, 580), (OTHER_DISK, 7)]);
    assert_eq!(said(&found.in_flight.as_ref().unwrap().by_kind), "90 W, 1 R");
    assert_eq!(said(&found.behind.as_ref().unwrap().by_kind), "60 W, 1 R");
    let waited = found.phases.get(Phase::I2D).unwrap();
    assert!(waited > found.phases.get(Phase::Q2C).unwrap() * 9 / 10, "it waited in the scheduler");
}

/// Many slow bios at once, each overtaken by many: walking each would take the square of the queue length.
#[test]
fn ten_thousand_slow_bios_each_have_their_counts() {
    let mut script = Script { events: Vec::new(), now_ns: 0, next_sector: 0 };
    let slow: Vec<Io> = (0..10_000)
        .map(|_| {
            let io = script.queue(DISK, "W", FLUSHER);
            script.overtake(3, DISK, "R", MUTT);
            io
        })
        .collect();
    for io in &slow {
        script.complete(*io);
    }
    let settings =
        Settings { slower_than_ns: 1_000_000_000, max_slow: 20_000, max_age_ns: u64::MAX, ..Settings::default() };
    let mut lifecycle = Lifecycle::new(settings);
    lifecycle.feed_all(&script.events);
    let (report, ()) = lifecycle.finish();
    assert_eq!(report.slow.count, 10_000);
    for (number, bio) in report.slow.kept.iter().enumerate() {
        let reads = 3 * (10_000 - number as u64);
        assert_eq!(bio.overtaken_by.as_ref().unwrap().by_kind, [(Kind::from_rwbs(b"R").unwrap(), reads)], "{number}");
    }
    let all: u64 = (1..=10_000).map(|number| 3 * number).sum();
    assert_eq!(report.slow.overtakers.by_kind[0].1, all);
}

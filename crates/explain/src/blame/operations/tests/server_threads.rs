//! Which clients the threads of a server use a disk for.

use std::collections::BTreeMap;

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

use crate::blame::tests::stage::{MS, Stage, stage};

/// A database's thread 10 answers the application 7, and its thread 11 a dump, 6.
const DRAWING: &str = "
    task      7 |                      | name=app pid=7
    task      6 |                      | name=dump pid=6
    task      9 |                      | name=db pid=9
    task     10 |                      | name=db pid=9
    task     11 |                      | name=db pid=9
    task     12 |                      | name=db pid=9
    off       7 |  ssssssssssssssssss  | call=recvfrom awaits=answer waker=10 asked=2
    asked     7 |  ==================  | waker=10
    asked     6 |===================== | waker=11
    off      10 | ssssssssssssssssss   | call=pread64 stack=folio_wait_bit request=1
    request   1 |  Q I D           C   | tid=10 device=8,0";

fn read(thread: u32, busy_ms: u64) -> UsageRecord {
    UsageRecord {
        device: Some(DeviceNumber::new(8, 0)),
        pid: Some(9),
        thread: Some(thread).filter(|thread| *thread != 9),
        count: busy_ms,
        bytes: busy_ms,
        busy_ns: busy_ms * MS,
        ..UsageRecord::new(Resource::DeviceRead, 0, 22 * MS)
    }
}

/// Culprits of the application, in percent of what it lost to the disk.
fn culprits(drawing: &str, usage: Vec<UsageRecord>) -> Vec<(u32, u64)> {
    let explanation = Stage { usage, ..stage(drawing) }.explain();
    let of_app = |culprit: &crate::blame::Culprit| {
        let ns = culprit.victims.iter().find(|(victim, _)| victim.tid == 7).map(|(_, ns)| *ns)?;
        culprit.device?;
        Some((culprit.task.as_ref()?.tid, ns))
    };
    let mut found: BTreeMap<u32, u64> = BTreeMap::new();
    explanation.culprits.iter().filter_map(of_app).for_each(|(pid, ns)| *found.entry(pid).or_default() += ns);
    let all: u64 = found.values().sum();
    found.into_iter().map(|(pid, ns)| (pid, (ns * 100 + all / 2) / all)).collect()
}

#[test]
fn a_thread_uses_a_disk_for_the_client_that_it_answers() {
    // The database itself has what it did for the application, and what a thread did that answers nobody.
    let usage = vec![read(10, 1), read(11, 8), read(12, 1)];
    assert_eq!(culprits(DRAWING, usage), [(6, 80), (9, 20)]);
    // Its first thread, or several, which are not known.
    assert_eq!(culprits(DRAWING, vec![read(10, 1), read(9, 9)]), [(9, 100)]);
}

/// What the dump's thread writes does not count where a limit delays reads.
#[test]
fn only_what_a_limit_holds_for_counts() {
    let throttled = DRAWING.replace("tid=10 device=8,0", "tid=10 device=8,0 throttled");
    let write = UsageRecord { resource: Resource::DeviceWrite, ..read(11, 8) };
    assert_eq!(culprits(&throttled, vec![read(10, 5), write]), [(9, 100)]);
    assert_eq!(culprits(&throttled, vec![read(10, 5), read(11, 5)]), [(6, 50), (9, 50)]);
}

#[test]
fn a_thread_between_two_answers_to_one_client_works_for_it() {
    let later = DRAWING
        .replace("asked     6 |===================== |", "asked     6 |                        ==|")
        .replace("|  ==================  |", "|  ==================    |");
    let usage = || vec![read(10, 1), read(11, 9)];
    assert_eq!(culprits(&later, usage()), [(6, 90), (9, 10)]);
    let other = format!("{later}\n    asked     7 |=                       | waker=11");
    assert_eq!(culprits(&other, usage()), [(9, 100)], "whom it works for is not known");
}

//! The fields of a tracepoint in words.

use model::block::DeviceNumber;
use model::signal::{Signal, SignalDetail};

use super::event::EventDetail;

const PAGE_BYTES: u64 = 4096;

/// A `dev_t` in the kernel's internal form: `major << 20 | minor`.
fn device(number: u64) -> String {
    DeviceNumber(number as u32).to_string()
}

fn mebibytes(pages: u64) -> String {
    format!("{:.1} MiB", (pages * PAGE_BYTES) as f64 / (1 << 20) as f64)
}

/// Details of a wait that a tracepoint announced.
pub(super) fn of_mark(mark: Signal, detail: &EventDetail) -> Option<String> {
    let [first, second, third, fourth, fifth] = detail.words;
    match mark.definition().detail {
        SignalDetail::LockFlags => Some(lock(first as u32)),
        SignalDetail::DirtyPages => Some(format!(
            "dirty {} of {}, on {} {} of {}, allowed {}/s",
            mebibytes(first),
            mebibytes(second),
            detail.name,
            mebibytes(third),
            mebibytes(fourth),
            mebibytes(fifth)
        )),
        SignalDetail::Inode => (second != 0).then(|| format!("inode {second} on {}", device(first))),
        SignalDetail::Device => Some(format!("on {}", device(first))),
        SignalDetail::Nothing
        | SignalDetail::PagesReclaimed
        | SignalDetail::Shrinker
        | SignalDetail::ThrottleReason
        | SignalDetail::JournalCommit => None,
    }
}

/// `LCB_F_*` of <trace/events/lock.h> (Linux 5.19 to 6.18).
fn lock(flags: u32) -> String {
    const READ: u32 = 1 << 1;
    const WRITE: u32 = 1 << 2;
    const RT: u32 = 1 << 3;
    const PERCPU: u32 = 1 << 4;
    const MUTEX: u32 = 1 << 5;
    let side = match flags & (READ | WRITE) {
        READ => " read",
        WRITE => " write",
        _ => "",
    };
    let what = match flags {
        _ if flags & MUTEX != 0 => "mutex",
        _ if flags & PERCPU != 0 => "percpu",
        _ if flags & RT != 0 => "rtmutex",
        _ if side.is_empty() => "lock",
        _ => "rwsem",
    };
    format!("{what}{side}")
}

/// `VMSCAN_THROTTLE_*` of <linux/mmzone.h>, as bits (Linux 5.16 to 6.18).
fn throttle_reason(reason: u64) -> &'static str {
    match reason {
        1 => "writeback",
        2 => "isolated",
        4 => "no progress",
        8 => "congested",
        _ => "another reason",
    }
}

/// Details of a span. `function` names the address of a kernel function.
pub(super) fn of_span(
    span: Signal,
    detail: &EventDetail,
    number: u32,
    texts: &[String; 2],
    function: impl FnOnce(u64) -> String,
) -> Option<String> {
    let [first, ..] = detail.words;
    match span.definition().detail {
        SignalDetail::PagesReclaimed => Some(format!("{first} pages reclaimed")),
        SignalDetail::Shrinker if first == 0 => None,
        SignalDetail::Shrinker if texts[0].is_empty() => Some(function(first)),
        SignalDetail::Shrinker => Some(format!("{} of {} on {}", function(first), texts[0], texts[1])),
        SignalDetail::ThrottleReason => Some(throttle_reason(first).to_owned()),
        SignalDetail::Device => (number != 0).then(|| format!("on {}", device(u64::from(number)))),
        SignalDetail::Nothing
        | SignalDetail::LockFlags
        | SignalDetail::DirtyPages
        | SignalDetail::Inode
        | SignalDetail::JournalCommit => None,
    }
}

/// A journal commit: its duration in ns, and its phases. Times come in jiffies. The length of a jiffy follows from their
/// number since boot: the kernel starts the count 300 s before it overflows 32 bits.
pub(super) fn of_commit(detail: &EventDetail, number: u32, jiffies: u64, now_ns: u64) -> (u64, String) {
    let jiffy_ns = jiffy_ns(jiffies, now_ns);
    let [locked, flushing, logging, handles, blocks] = detail.words;
    let ms = |jiffies: u64| jiffies * jiffy_ns / 1_000_000;
    let words = format!(
        "on {}: locked {} ms, flushing {} ms, logging {} ms, {handles} handles, {blocks} blocks",
        device(u64::from(number)),
        ms(locked),
        ms(flushing),
        ms(logging)
    );
    ((locked + flushing + logging) * jiffy_ns, words)
}

fn jiffy_ns(jiffies: u64, now_ns: u64) -> u64 {
    let distance = |hz: &u64| {
        let expected = (1u64 << 32) - 300 * hz + now_ns / 1_000_000 * hz / 1000;
        expected.abs_diff(jiffies)
    };
    let hz = [100, 250, 300, 1000].into_iter().min_by_key(distance).unwrap_or(250);
    1_000_000_000 / hz
}

#[cfg(test)]
mod tests {
    use model::signal::Signal;

    use super::{EventDetail, jiffy_ns, of_commit, of_mark, of_span};

    fn detail(words: [u64; 5], name: &str) -> EventDetail {
        EventDetail { words, name: name.to_owned() }
    }

    #[test]
    fn marks_in_words() {
        for (mark, words, expected) in [
            (Signal::Contention, [2, 0, 0, 0, 0], Some("rwsem read")),
            (Signal::Contention, [4, 0, 0, 0, 0], Some("rwsem write")),
            (Signal::Contention, [32, 0, 0, 0, 0], Some("mutex")),
            (Signal::Contention, [2 | 16, 0, 0, 0, 0], Some("percpu read")),
            (Signal::Contention, [0, 0, 0, 0, 0], Some("lock")),
            (
                Signal::BalanceDirtyPages,
                [256, 512, 128, 256, 25600],
                Some("dirty 1.0 MiB of 2.0 MiB, on 7:0 0.5 MiB of 1.0 MiB, allowed 100.0 MiB/s"),
            ),
            (Signal::FolioWaitWriteback, [7 << 20, 131, 0, 0, 0], Some("inode 131 on 7,0")),
            (Signal::FolioWaitWriteback, [0; 5], None),
            (Signal::XfsLogGrantSleep, [7 << 20 | 1, 0, 0, 0, 0], Some("on 7,1")),
        ] {
            assert_eq!(of_mark(mark, &detail(words, "7:0")).as_deref(), expected, "{mark:?} {words:?}");
        }
    }

    #[test]
    fn spans_in_words() {
        let none = [String::new(), String::new()];
        let xfs = ["xfs".to_owned(), "loop0".to_owned()];
        let worded = |span, first, number, texts: &[String; 2]| {
            of_span(span, &detail([first, 0, 0, 0, 0], ""), number, texts, |_| "super_cache_scan".to_owned())
        };
        assert_eq!(worded(Signal::DirectReclaim, 32, 0, &none).as_deref(), Some("32 pages reclaimed"));
        assert_eq!(worded(Signal::ShrinkSlab, 1, 0, &xfs).as_deref(), Some("super_cache_scan of xfs on loop0"));
        assert_eq!(worded(Signal::ShrinkSlab, 1, 0, &none).as_deref(), Some("super_cache_scan"));
        assert_eq!(worded(Signal::VmscanThrottled, 4, 0, &none).as_deref(), Some("no progress"));
        assert_eq!(worded(Signal::Compaction, 0, 0, &none), None);
        assert_eq!(worded(Signal::BtrfsTreeLock, 0, 7 << 20 | 2, &none).as_deref(), Some("on 7,2"));
    }

    #[test]
    fn the_length_of_jiffies_follows_from_their_number() {
        for (hz, jiffy) in [(100, 10_000_000), (250, 4_000_000), (300, 3_333_333), (1000, 1_000_000)] {
            for uptime_s in [100u64, 86_400, 10_000_000] {
                let jiffies = (1u64 << 32) - 300 * hz + uptime_s * hz;
                assert_eq!(jiffy_ns(jiffies, uptime_s * 1_000_000_000), jiffy, "{hz} {uptime_s}");
            }
        }
        let now_ns = 1000 * 1_000_000_000;
        let (ns, words) = of_commit(&detail([0, 1, 25, 3, 9], ""), 7 << 20, (1 << 32) - 75_000 + 250_000, now_ns);
        assert_eq!(ns, 104_000_000);
        assert_eq!(words, "on 7,0: locked 0 ms, flushing 4 ms, logging 100 ms, 3 handles, 9 blocks");
    }
}

//! What the fields of a tracepoint say.

use model::block::DeviceNumber;
use model::detail::{Detail, DirtyPages, JournalCommit};
use model::signal::{Signal, SignalDetail};

use super::event::EventDetail;
use crate::bytes::shown;

const PAGE_BYTES: u64 = 4096;

/// A `dev_t` in the kernel's internal form: `major << 20 | minor`.
fn device(number: u64) -> DeviceNumber {
    DeviceNumber(number as u32)
}

/// Details of a wait that a tracepoint announced.
pub(super) fn of_mark(mark: Signal, detail: &EventDetail) -> Option<Detail> {
    let [first, second, ..] = detail.words;
    match mark.definition().detail {
        SignalDetail::LockFlags => Some(Detail::LockFlags(first as u32)),
        SignalDetail::DirtyPages => Some(Detail::DirtyPages(dirty_pages(detail))),
        SignalDetail::Inode => (second != 0).then(|| Detail::Inode { inode: second, device: device(first) }),
        SignalDetail::Device => Some(Detail::Device(device(first))),
        SignalDetail::Name => Some(Detail::Name(tried_name(detail))),
        SignalDetail::Nothing
        | SignalDetail::PagesReclaimed
        | SignalDetail::Shrinker
        | SignalDetail::ThrottleReason
        | SignalDetail::JournalCommit => None,
    }
}

/// Text fills the words; before the number of a port they are empty.
fn tried_name(detail: &EventDetail) -> String {
    let bytes: Vec<u8> = detail.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    if text.is_empty() { format!("port {}", detail.words[1]) } else { shown(text) }
}

fn dirty_pages(detail: &EventDetail) -> DirtyPages {
    let [dirty, limit, there, limit_there, allowed] = detail.words.map(|pages| pages.saturating_mul(PAGE_BYTES));
    DirtyPages {
        dirty_bytes: dirty,
        limit_bytes: limit,
        backing_device: detail.name.clone(),
        device: DeviceNumber::parse(&detail.name),
        device_dirty_bytes: there,
        device_limit_bytes: limit_there,
        allowed_bytes_per_s: allowed,
    }
}

/// Details of a span. `function` names the address of a kernel function.
pub(super) fn of_span(
    span: Signal,
    detail: &EventDetail,
    number: u32,
    texts: &[String; 2],
    function: impl FnOnce(u64) -> String,
) -> Option<Detail> {
    let [first, ..] = detail.words;
    match span.definition().detail {
        SignalDetail::PagesReclaimed => Some(Detail::PagesReclaimed(first)),
        SignalDetail::Shrinker if first == 0 => None,
        SignalDetail::Shrinker => {
            let [kind, name] = texts.clone();
            let file_system = (!kind.is_empty()).then_some((kind, name));
            Some(Detail::Shrinker { function: function(first), file_system })
        }
        SignalDetail::ThrottleReason => Some(Detail::ThrottleReason(first as u32)),
        SignalDetail::Device => (number != 0).then(|| Detail::Device(device(u64::from(number)))),
        SignalDetail::Nothing
        | SignalDetail::LockFlags
        | SignalDetail::DirtyPages
        | SignalDetail::Inode
        | SignalDetail::Name
        | SignalDetail::JournalCommit => None,
    }
}

/// A journal commit: its duration in ns, and its phases. Times come in jiffies. The length of a jiffy follows from
/// their number since boot: the kernel starts the count 300 s before it overflows 32 bits.
pub(super) fn of_commit(detail: &EventDetail, number: u32, jiffies: u64, now_ns: u64) -> (u64, Detail) {
    let jiffy_ns = jiffy_ns(jiffies, now_ns);
    let [locked, flushing, logging, handles, blocks] = detail.words;
    let ms = |jiffies: u64| jiffies * jiffy_ns / 1_000_000;
    let commit = JournalCommit {
        device: device(u64::from(number)),
        locked_ms: ms(locked),
        flushing_ms: ms(flushing),
        logging_ms: ms(logging),
        handles,
        blocks,
    };
    ((locked + flushing + logging) * jiffy_ns, Detail::JournalCommit(commit))
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
    use model::block::DeviceNumber;
    use model::detail::{Detail, DirtyPages};
    use model::signal::Signal;

    use super::{EventDetail, jiffy_ns, of_commit, of_mark, of_span};

    fn detail(words: [u64; 5], name: &str) -> EventDetail {
        EventDetail { words, name: name.to_owned() }
    }

    #[test]
    fn marks() {
        let (first, second) = (DeviceNumber::new(7, 0), DeviceNumber::new(7, 1));
        let pages = DirtyPages {
            dirty_bytes: 1 << 20,
            limit_bytes: 2 << 20,
            backing_device: "7:0".to_owned(),
            device: Some(first),
            device_dirty_bytes: 1 << 19,
            device_limit_bytes: 1 << 20,
            allowed_bytes_per_s: 100 << 20,
        };
        for (mark, words, expected) in [
            (Signal::Contention, [2, 0, 0, 0, 0], Some(Detail::LockFlags(2))),
            (Signal::BalanceDirtyPages, [256, 512, 128, 256, 25600], Some(Detail::DirtyPages(pages))),
            (Signal::FolioWaitWriteback, [7 << 20, 131, 0, 0, 0], Some(Detail::Inode { inode: 131, device: first })),
            (Signal::FolioWaitWriteback, [0; 5], None),
            (Signal::XfsLogGrantSleep, [7 << 20 | 1, 0, 0, 0, 0], Some(Detail::Device(second))),
        ] {
            assert_eq!(of_mark(mark, &detail(words, "7:0")), expected, "{mark:?} {words:?}");
        }
        let btrfs = of_mark(Signal::BalanceDirtyPages, &detail([1; 5], "btrfs-1")).unwrap();
        assert_eq!((btrfs.device(), btrfs.dirty_pages().unwrap().backing_device.as_str()), (None, "btrfs-1"));
    }

    #[test]
    fn spans() {
        let none = [String::new(), String::new()];
        let xfs = ["xfs".to_owned(), "loop0".to_owned()];
        let of = |span, first, number, texts: &[String; 2]| {
            of_span(span, &detail([first, 0, 0, 0, 0], ""), number, texts, |_| "super_cache_scan".to_owned())
        };
        let shrinker = |file_system| Some(Detail::Shrinker { function: "super_cache_scan".to_owned(), file_system });
        assert_eq!(of(Signal::DirectReclaim, 32, 0, &none), Some(Detail::PagesReclaimed(32)));
        assert_eq!(of(Signal::ShrinkSlab, 1, 0, &xfs), shrinker(Some(("xfs".to_owned(), "loop0".to_owned()))));
        assert_eq!(of(Signal::ShrinkSlab, 1, 0, &none), shrinker(None));
        assert_eq!(of(Signal::VmscanThrottled, 4, 0, &none), Some(Detail::ThrottleReason(4)));
        assert_eq!(of(Signal::Compaction, 0, 0, &none), None);
        assert_eq!(of(Signal::BtrfsTreeLock, 0, 7 << 20 | 2, &none), Some(Detail::Device(DeviceNumber::new(7, 2))));
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
        let (ns, commit) = of_commit(&detail([0, 1, 25, 3, 9], ""), 7 << 20, (1 << 32) - 75_000 + 250_000, now_ns);
        assert_eq!(ns, 104_000_000);
        assert_eq!(commit.to_string(), "on 7,0: locked 0 ms, flushing 4 ms, logging 100 ms, 3 handles, 9 blocks");
    }
}

//! Events of reclaim, writeback, journals and locks: what the fields say, in each tool's words.

use model::block::DeviceNumber;
use model::detail::{Detail, DirtyPages};
use model::signal::{SIGNALS, Signal, SignalDetail, SignalKind};

use crate::text_line::{TextLine, value};

const PAGE_BYTES: u64 = 4096;
/// Of a lock's flags: tasks spin, and do not sleep.
const SPINS: u32 = 1;
/// Names of a lock's flags, from the first bit on.
const LOCK_FLAGS: [&str; 6] = ["SPIN", "READ", "WRITE", "RT", "PERCPU", "MUTEX"];
const THROTTLE_REASONS: [&str; 4] = ["WRITEBACK", "ISOLATED", "NOPROGRESS", "CONGESTED"];

/// What such an event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignalEvent<'a> {
    /// A span begins.
    Begins(Signal),
    /// A span ends.
    Ends(Signal, Option<Detail>),
    /// A span ends that began that long ago.
    Lasted(Signal, u64, Option<Detail>),
    /// The task's next sleep is for that.
    Announces(Signal, Option<Detail>),
    /// The task's sleeps are for a lock.
    Locks { lock: &'a str, flags: u32 },
    /// It has the lock.
    Locked,
    /// What was announced does not happen.
    Over(Signal),
}

/// The events that are read: the others of `SIGNALS` say what they do in calls that text does not show.
const READ: [Signal; 16] = [
    Signal::DirectReclaim,
    Signal::MemcgReclaim,
    Signal::ShrinkSlab,
    Signal::Compaction,
    Signal::VmscanThrottled,
    Signal::Jbd2LockBufferStall,
    Signal::Contention,
    Signal::BalanceDirtyPages,
    Signal::FolioWaitWriteback,
    Signal::XfsLogGrantSleep,
    Signal::XlogIclogWaitOn,
    Signal::XfsLogCilWait,
    Signal::XfsBufIowait,
    Signal::XfsBufLock,
    Signal::XfsInodegcThrottle,
    Signal::XfsLogForce,
];

/// Whether an event of that name is read.
pub(crate) fn is_signal(name: &str) -> bool {
    matches!(name, "contention_end" | "xfs_buf_lock_done" | "jbd2_checkpoint") || of_name(name).is_some()
}

fn of_name(name: &str) -> Option<Signal> {
    let is_named = |signal: &&Signal| {
        let definition = signal.definition();
        let of_pair = || ["_begin", "_start", "_end"].iter().find_map(|end| name.strip_suffix(end));
        match definition.kind {
            SignalKind::Pair => of_pair() == Some(definition.name),
            SignalKind::Span | SignalKind::Mark => name == definition.name,
        }
    };
    READ.iter().chain(&[Signal::Jbd2Checkpoint]).find(is_named).copied()
}

/// `None`: the event is none of these, or lacks what it must say.
pub(crate) fn signal_event<'a>(line: &TextLine<'a>) -> Option<SignalEvent<'a>> {
    match line.name {
        "contention_end" => return Some(SignalEvent::Locked),
        "xfs_buf_lock_done" => return Some(SignalEvent::Over(Signal::XfsBufLock)),
        _ => {}
    }
    let signal = of_name(line.name)?;
    let detail = || detail(signal, line.fields);
    match (SIGNALS[signal as usize].kind, signal) {
        (SignalKind::Pair, _) if line.name.ends_with("_end") => Some(SignalEvent::Ends(signal, detail())),
        (SignalKind::Pair, _) => Some(SignalEvent::Begins(signal)),
        (_, Signal::VmscanThrottled) => {
            let us = number(line.fields, "usec_delayed").or_else(|| number(line.fields, "usect_delayed"))?;
            // kswapd reclaims in the background: its own waits are no task's stall.
            let is_kswapd = line.comm.starts_with("kswapd");
            (!is_kswapd).then(|| SignalEvent::Lasted(signal, us.saturating_mul(1000), detail()))
        }
        (_, Signal::Jbd2LockBufferStall) => {
            let ms = number(line.fields, "stall_ms").or_else(|| after(line.fields, "stall_ms "))?;
            Some(SignalEvent::Lasted(signal, ms.saturating_mul(1_000_000), detail()))
        }
        (_, Signal::Contention) => locks(line.fields),
        // It does not sleep where it may go on at once.
        (_, Signal::BalanceDirtyPages) if !value(line.fields, "pause")?.parse::<i64>().is_ok_and(|ms| ms > 0) => None,
        _ => Some(SignalEvent::Announces(signal, detail())),
    }
}

/// `lock_addr=18446612 flags=32`, `0xffff888 (flags=MUTEX)`
fn locks(fields: &str) -> Option<SignalEvent<'_>> {
    let lock = value(fields, "lock_addr").or_else(|| fields.split(' ').next())?;
    let flags = value(fields, "flags").or_else(|| Some(fields.split_once("(flags=")?.1.trim_end_matches(')')))?;
    let flags = bits(flags, "", &LOCK_FLAGS)?;
    (flags & SPINS == 0).then_some(SignalEvent::Locks { lock, flags })
}

/// A number, or names of bits.
fn bits(text: &str, before: &str, names: &[&str]) -> Option<u32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let bit = |name: &str| {
        let name = name.strip_prefix(before)?;
        names.iter().position(|known| *known == name).map(|at| 1 << at)
    };
    text.split('|').filter(|name| !name.is_empty()).try_fold(0, |all, name| Some(all | bit(name)?))
}

fn detail(signal: Signal, fields: &str) -> Option<Detail> {
    match signal.definition().detail {
        SignalDetail::PagesReclaimed => number(fields, "nr_reclaimed").map(Detail::PagesReclaimed),
        SignalDetail::ThrottleReason => {
            bits(value(fields, "reason")?, "VMSCAN_THROTTLE_", &THROTTLE_REASONS).map(Detail::ThrottleReason)
        }
        SignalDetail::DirtyPages => dirty_pages(fields).map(Detail::DirtyPages),
        SignalDetail::Device => device(fields).map(Detail::Device),
        SignalDetail::Shrinker => {
            // `super_cache_scan+0x0/0x1b0 00000000f1c2: nid: 0 ...`
            let (function, _) = fields.split_once('+')?;
            let is_name =
                !function.is_empty() && function.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            is_name.then(|| Detail::Shrinker { function: function.to_owned(), file_system: None })
        }
        // The inode is one of a device that may have partitions, which the event does not name.
        SignalDetail::Inode | SignalDetail::Nothing | SignalDetail::LockFlags => None,
        SignalDetail::JournalCommit | SignalDetail::Name => None,
    }
}

/// `dev=265289728`, `dev 253,0 ...`, `dev 253:0 ...`
fn device(fields: &str) -> Option<DeviceNumber> {
    if let Some(number) = value(fields, "dev") {
        return number.parse().ok().map(DeviceNumber);
    }
    DeviceNumber::parse(&fields.strip_prefix("dev ")?.split(' ').next()?.replace(',', ":"))
}

/// The part of the limit that the device has is not among the fields; its place between them is.
fn dirty_pages(fields: &str) -> Option<DirtyPages> {
    let name = value(fields, "bdi").or_else(|| Some(fields.strip_prefix("bdi ")?.split_once(": ")?.0))?;
    let of = |name: &str| number(fields, name);
    let (limit, setpoint, wb_setpoint) = (of("limit")?, of("setpoint")?, of("wb_setpoint")?);
    let wb_limit = u128::from(wb_setpoint) * u128::from(limit) / u128::from(setpoint.max(1));
    let bytes = |pages: u64| pages.saturating_mul(PAGE_BYTES);
    Some(DirtyPages {
        dirty_bytes: bytes(of("dirty")?),
        limit_bytes: bytes(limit),
        backing_device: name.to_owned(),
        device: DeviceNumber::parse(name),
        device_dirty_bytes: bytes(of("wb_dirty").or_else(|| of("bdi_dirty"))?),
        device_limit_bytes: bytes(u64::try_from(wb_limit).unwrap_or(u64::MAX)),
        // In KiB a second.
        allowed_bytes_per_s: of("task_ratelimit")?.saturating_mul(1024),
    })
}

fn number(fields: &str, key: &str) -> Option<u64> {
    value(fields, key)?.trim_end_matches(',').parse().ok()
}

fn after(fields: &str, words: &str) -> Option<u64> {
    fields.split_once(words)?.1.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use model::block::DeviceNumber;
    use model::detail::Detail;
    use model::signal::Signal;

    use super::{SignalEvent, is_signal, signal_event};
    use crate::text_line::event;

    fn of(rest: &str) -> Option<SignalEvent<'static>> {
        let line: &'static str = Box::leak(format!("dd-7 [001] 1.000001: {rest}").into_boxed_str());
        signal_event(&event(line).unwrap())
    }

    #[test]
    fn spans_begin_end_and_last() {
        assert_eq!(of("mm_vmscan_direct_reclaim_begin: order=0"), Some(SignalEvent::Begins(Signal::DirectReclaim)));
        let ended = SignalEvent::Ends(Signal::MemcgReclaim, Some(Detail::PagesReclaimed(32)));
        assert_eq!(of("mm_vmscan_memcg_reclaim_end: nr_reclaimed=32"), Some(ended));
        let reason = Some(Detail::ThrottleReason(4));
        let throttled = SignalEvent::Lasted(Signal::VmscanThrottled, 9_000_000, reason);
        let text = "mm_vmscan_throttled: nid=0 usec_timeout=10000 usect_delayed=9000 reason=VMSCAN_THROTTLE_NOPROGRESS";
        assert_eq!(of(text), Some(throttled.clone()));
        assert_eq!(of("mm_vmscan_throttled: nid=0 usec_timeout=10000 usec_delayed=9000 reason=4"), Some(throttled));
        let device = Some(Detail::Device(DeviceNumber::new(253, 1)));
        let stall = SignalEvent::Lasted(Signal::Jbd2LockBufferStall, 12_000_000, device);
        assert_eq!(of("jbd2_lock_buffer_stall: dev 253,1 stall_ms 12"), Some(stall.clone()));
        assert_eq!(of("jbd2_lock_buffer_stall: dev=265289729 stall_ms=12"), Some(stall));
        let shrinker = Detail::Shrinker { function: "super_cache_scan".to_owned(), file_system: None };
        let text = "mm_shrink_slab_end: super_cache_scan+0x0/0x1a0 00000000c1: nid: 0 unused scan count 9";
        assert_eq!(of(text), Some(SignalEvent::Ends(Signal::ShrinkSlab, Some(shrinker))));
    }

    #[test]
    fn waits_are_announced() {
        let mutex = |lock| Some(SignalEvent::Locks { lock, flags: 32 });
        assert_eq!(of("contention_begin: 0xffff88 (flags=MUTEX)"), mutex("0xffff88"));
        assert_eq!(of("lock:contention_begin: lock_addr=1844 flags=32"), mutex("1844"));
        assert_eq!(of("contention_begin: 0xffff88 (flags=SPIN|MUTEX)"), None);
        assert_eq!(
            of("contention_begin: 0xffff88 (flags=READ)"),
            Some(SignalEvent::Locks { lock: "0xffff88", flags: 2 })
        );
        assert_eq!(of("contention_end: 0xffff88 (ret=0)"), Some(SignalEvent::Locked));
        let device = Some(Detail::Device(DeviceNumber::new(7, 0)));
        let force = SignalEvent::Announces(Signal::XfsLogForce, device);
        assert_eq!(of("xfs_log_force: dev 7:0 lsn 0x0 caller xfs_fsync"), Some(force));
        let throttled = "balance_dirty_pages: bdi 7:0: limit=400 setpoint=300 dirty=390 wb_setpoint=150 wb_dirty=190 \
                         dirty_ratelimit=100 task_ratelimit=50 dirtied=32 dirtied_pause=32 paused=0 pause=40 period=40";
        let Some(SignalEvent::Announces(_, Some(Detail::DirtyPages(pages)))) = of(throttled) else { panic!() };
        assert_eq!((pages.backing_device.as_str(), pages.device), ("7:0", Some(DeviceNumber::new(7, 0))));
        assert_eq!((pages.device_limit_bytes, pages.allowed_bytes_per_s), (200 << 12, 50 << 10));
        assert_eq!(of(&throttled.replace("pause=40", "pause=0")), None);
        assert!(is_signal("jbd2_checkpoint") && is_signal("mm_compaction_begin") && !is_signal("jbd2_run_stats"));
    }
}

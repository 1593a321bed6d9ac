//! Fractions, windows and bounds by which several rules decide, each with its reason. One that only one rule has is beside that rule.

/// A small part (1/8) of a time or an amount. What has less of a wait than this is not what the wait was for; what has all but
/// this of it says the same as the whole; what follows within this part of the time that something took follows at once.
pub(crate) const SMALL_PART: u64 = 8;

/// A part (1/64) that says nothing: rounding, the tracer's own time, what happens now and then.
pub(crate) const RARE_PART: u64 = 64;

/// How many tasks one chain of waits is followed through: it bounds the work, and ends circles.
pub(crate) const CHAIN_TASKS: usize = 8;

/// How many devices on one another are followed (loop devices, the device mapper, md): it bounds the work, and ends circles.
pub(crate) const DEVICE_LAYERS: usize = 8;

/// Until what was made dirty or logged is written: the flusher's interval (`vm.dirty_writeback_centisecs`) and the commit interval of
/// ext4's journal, both 5 s by default. Who asked something of a device, or made pages dirty, this long before concerns a wait.
pub(crate) const WRITTEN_WITHIN_NS: u64 = 5_000_000_000;

/// A task that is woken for something runs, and does it, this soon on a CPU that is not overloaded.
pub(crate) const SOON_NS: u64 = 2_000_000;

/// A task that was refused a lock, or that a timer woke in its wait, tries again or sleeps on as soon as it gets a CPU.
pub(crate) const RETRY_NS: u64 = 20_000_000;

const PASSED_ON_LEAST_NS: u64 = 10_000_000;
const PASSED_ON_MOST_NS: u64 = 50_000_000;

/// How soon a proxy passes on a request, or its answer, if what it passed on took that long: a small part of it, but not less than a turn of
/// its event loop, and not more than a user would call immediate.
pub(crate) fn passed_on_within_ns(took_ns: u64) -> u64 {
    (took_ns / SMALL_PART).clamp(PASSED_ON_LEAST_NS, PASSED_ON_MOST_NS)
}

#[cfg(test)]
mod tests {
    use super::passed_on_within_ns;

    #[test]
    fn a_proxy_passes_on_within_an_eighth_between_10_and_50_ms() {
        let ms = |ms: u64| ms * 1_000_000;
        assert_eq!(passed_on_within_ns(0), ms(10));
        assert_eq!(passed_on_within_ns(ms(240)), ms(30));
        assert_eq!(passed_on_within_ns(ms(10_000)), ms(50));
    }
}

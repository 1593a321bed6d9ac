//! A request's lifecycle, as seen by the tasks that waited for its completion.

use model::block::{Kind, Operation};
use model::stall::{RequestParts, RequestRecord};

use crate::blame::facts::cause::Cause;

/// What a task woken by a request's completion was waiting for at a moment of its sleep. `None` before the request
/// existed: other evidence decides. It may change at the request's moments.
pub(crate) fn cause_at(request: &RequestRecord, at_ns: u64) -> Option<Cause> {
    let reached = |moment: Option<u64>| moment.is_some_and(|moment| moment <= at_ns);
    let entered = request.inserted_ns.or(request.issued_ns);
    if request.throttled && at_ns < released_ns(request) {
        Some(Cause::IoThrottle)
    } else if let Some(cause) = request.parts.as_deref().and_then(|parts| flushing_at(parts, entered, at_ns)) {
        Some(cause)
    } else if let Some(cause) = failing_at(request, at_ns) {
        Some(cause)
    } else if reached(request.issued_ns) {
        Some(Cause::Device)
    } else if reached(request.inserted_ns) {
        // Without an issue event the queue and the device cannot be separated.
        Some(if request.issued_ns.or(first_issued_ns(request)).is_some() {
            Cause::SchedulerQueue
        } else {
            Cause::Device
        })
    } else if reached(request.queued_ns) || reached(request.got_ns) {
        Some(if entered.is_some() { Cause::RequestWait } else { Cause::Device })
    } else if entered.is_none() && request.queued_ns.is_none() {
        Some(Cause::Device)
    } else if request.kind.operation() == Operation::None {
        // One flush serves all flushes requested while another runs: they wait for that one, or for their limit.
        Some(Cause::RequestWait)
    } else {
        None
    }
}

/// From its first issue to its last, a request that is retried was at a device that failed; and from its last, if it
/// did not succeed.
fn failing_at(request: &RequestRecord, at_ns: u64) -> Option<Cause> {
    let reached = |moment: Option<u64>| moment.is_some_and(|moment| moment <= at_ns);
    let is_last = reached(request.issued_ns);
    let is_failing = if is_last { is_failed(request) } else { reached(first_issued_ns(request)) };
    is_failing.then_some(Cause::DeviceError)
}

/// When a request was first issued that failed and was issued again.
fn first_issued_ns(request: &RequestRecord) -> Option<u64> {
    request.parts.as_deref()?.failures.first_issued_ns
}

/// Whether it failed in the end, by the device's fault: an operation that is not supported, or cannot be done without a
/// wait, is none.
pub(crate) fn is_failed(request: &RequestRecord) -> bool {
    let name = request.errno.map(model::errno::name);
    name.is_some_and(|name| !matches!(name, Some("EOPNOTSUPP" | "ENOSPC" | "EAGAIN")))
}

/// When a throttled request went on. Throttling delays bios before they are queued. Some, such as flushes, are never
/// inserted nor issued.
pub(crate) fn released_ns(request: &RequestRecord) -> u64 {
    let entered = request.inserted_ns.or(request.issued_ns);
    entered.or(request.queued_ns).or(request.got_ns).unwrap_or(request.completed_ns)
}

/// The stage of a request with flushes before and after its data; `None` where the flushes do not decide.
fn flushing_at(parts: &RequestParts, entered_ns: Option<u64>, at_ns: u64) -> Option<Cause> {
    let reached = |moment: Option<u64>| moment.is_some_and(|moment| moment <= at_ns);
    if reached(parts.postflush_ns) || (reached(parts.data_ns) && parts.postflush_ns.is_none()) {
        Some(Cause::Device)
    } else if reached(parts.data_ns) {
        Some(Cause::RequestWait)
    } else {
        (reached(parts.preflush_ns) && !reached(entered_ns)).then_some(Cause::Device)
    }
}

/// Whether it begins with a flush of the device's cache, or is one.
pub(crate) fn begins_with_flush(request: &RequestRecord) -> bool {
    request.kind.operation() == Operation::Write && request.kind.has(Kind::PREFLUSH)
}

/// The cause of its longest stage.
pub(crate) fn main_cause(request: &RequestRecord) -> Cause {
    if request.throttled {
        return Cause::IoThrottle;
    }
    let mut begins: Vec<u64> = request.moments().collect();
    begins.sort_unstable();
    let ends = begins.iter().skip(1).copied().chain([request.completed_ns]);
    let longest = begins.iter().zip(ends).max_by_key(|(begin, end)| end.saturating_sub(**begin));
    longest.and_then(|(begin, _)| cause_at(request, *begin)).unwrap_or(Cause::Device)
}

/// Time in the I/O scheduler queue, before it failed at the device, if it did.
pub(crate) fn queue_ns(request: &RequestRecord) -> Option<u64> {
    Some(first_issued_ns(request).or(request.issued_ns)?.saturating_sub(request.inserted_ns?))
}

/// Time at the device.
pub(crate) fn device_ns(request: &RequestRecord) -> Option<u64> {
    Some(request.completed_ns.saturating_sub(request.issued_ns?))
}

#[cfg(test)]
mod tests {
    use model::block::{DeviceNumber, Kind};
    use model::stall::{RequestFailures, RequestParts, RequestRecord};

    use super::cause_at;
    use crate::blame::facts::cause::Cause;

    /// Letters at the tens of a line are moments: Q queued, P a flush is at the device, I inserted, D issued, T the
    /// data is transferred, F the next flush is at the device, E issued for the first time, and failed, C completed;
    /// `t`: throttled, `!`: with an error.
    fn request(line: &str) -> RequestRecord {
        let at = |letter: char| line.find(letter).map(|at| at as u64);
        RequestRecord {
            request: 0,
            device: DeviceNumber::new(7, 0),
            sector: 0,
            bytes: 4096,
            kind: Kind::from_rwbs(b"W").unwrap(),
            tid: 1,
            merges: 0,
            queued_ns: at('Q'),
            got_ns: None,
            inserted_ns: at('I'),
            issued_ns: at('D'),
            completed_ns: at('C').unwrap(),
            errno: line.ends_with('!').then_some(5),
            throttled: line.starts_with('t'),
            parts: Some(Box::new(RequestParts {
                preflush_ns: at('P'),
                data_ns: at('T'),
                postflush_ns: at('F'),
                lower: None,
                failures: RequestFailures { first_issued_ns: at('E'), ..RequestFailures::default() },
            })),
            in_flight: Vec::new(),
            overtaken_by: Vec::new(),
        }
    }

    #[test]
    fn a_flush_not_yet_issued_waits_for_another_flush() {
        let flush = RequestRecord { kind: Kind::from_rwbs(b"FN").unwrap(), ..request("          D    C") };
        let causes = [0, 9, 10, 14].map(|at| cause_at(&flush, at));
        assert_eq!(causes, [Cause::RequestWait, Cause::RequestWait, Cause::Device, Cause::Device].map(Some));
    }

    #[test]
    fn each_moment_of_a_wait_belongs_to_one_stage() {
        // `.`: before the request, w: request_wait, t: io_throttle, s: scheduler, d: device, E: a device that failed
        for (line, expected) in [
            ("   Q  I   D    C", "...wwwssssdddddd"),
            ("   Q      D    C", "...wwwwwwwdddddd"),
            ("      I   D    C", "......ssssdddddd"),
            ("          D    C", "..........dddddd"),
            ("   Q  I        C", "...wwwdddddddddd"),
            ("   Q           C", "...ddddddddddddd"),
            ("               C", "dddddddddddddddd"),
            ("t     QI  D    C", "tttttttsssdddddd"),
            ("t     Q   D    C", "ttttttttttdddddd"),
            ("t     Q        C", "ttttttdddddddddd"),
            ("t              C", "tttttttttttttttd"),
            (" Q P I D T F C  ", ".wwddssddwwddddd"),
            (" P  I D T C     ", ".dddssddddddddddd"),
            (" Q I E   D C   ", ".wwssEEEEddd"),
            (" Q I E     C   ", ".wwssEEEEEEE"),
            (" Q I   D C    !", ".wwssssEEEE"),
            (" Q I E D C    !", ".wwssEEEEEE"),
        ] {
            let request = request(line);
            let seen: String = (0..expected.len() as u64)
                .map(|at| {
                    cause_at(&request, at).map_or('.', |cause| match cause.name() {
                        "request_wait" => 'w',
                        "io_throttle" => 't',
                        "scheduler_queue" => 's',
                        "device" => 'd',
                        "device_error" => 'E',
                        other => panic!("{other}"),
                    })
                })
                .collect();
            assert_eq!(seen, expected, "of {line}");
        }
    }
}

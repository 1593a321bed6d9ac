//! A time namespace with an offset (time_namespaces(7)), where the clock of this process is not the one by which BPF
//! programs stamp events: what tasks waited for would be looked for at another time, and not be found.

use std::path::Path;

use model::preflight::Finding;

use super::programs::{CAPABILITY, PURPOSE};
use crate::bytes::read_text;

/// Why the kernel cannot be traced from this process's time namespace; `None`: it can.
pub(super) fn obstacle(proc: &Path) -> Option<Finding> {
    let offsets = read_text(proc.join("self/timens_offsets")).ok()?;
    let offset = monotonic_offset(&offsets)?;
    let why = format!("this process is in a time namespace, whose monotonic clock is {offset} s off the kernel's");
    Some(Finding::missing(CAPABILITY, PURPOSE, why, "run it in the time namespace of the machine"))
}

/// The offset of the monotonic clock in seconds, where it is not zero.
fn monotonic_offset(offsets: &str) -> Option<String> {
    let words = offsets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    words.filter(|words| words.first() == Some(&"monotonic")).find_map(|words| {
        let [_, seconds, nanoseconds] = words[..] else { return None };
        let (seconds, nanoseconds): (i64, i64) = (seconds.parse().ok()?, nanoseconds.parse().ok()?);
        let offset = seconds as f64 + nanoseconds as f64 / 1e9;
        ((seconds, nanoseconds) != (0, 0)).then(|| format!("{offset:+}"))
    })
}

#[cfg(test)]
mod tests {
    use super::monotonic_offset;

    #[test]
    fn only_an_offset_of_the_monotonic_clock_counts() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(monotonic_offset(text).as_deref(), expected, "{text}");
        check("monotonic           0         0\nboottime            0         0\n", None);
        check("monotonic        1000         0\nboottime            0         0\n", Some("+1000"));
        check("monotonic          -1 500000000\nboottime            0         0\n", Some("-0.5"));
        check("monotonic           0         0\nboottime          864         0\n", None);
        check("", None);
    }
}

//! Other messages of the kernel's log that bear on a hang.

use crate::class::Class;

/// Kinds of messages: what they are a sign of, and texts of which a message has one.
const SIGNS: &[(&str, &[&str])] = &[
    (
        "requests that timed out",
        &[
            "task abort",
            "timing out command",
            "timeout, aborting",
            "timeout, reset",
            "timeout request",
            "timeout, completion polled",
            "] abort",
            "attempting task abort",
            "tag#",
            "cmd timeout",
            "exception emask",
            "command timeout",
            "qcmd timeout",
        ],
    ),
    (
        "a disk or path that is gone",
        &[
            "rejecting i/o to offline device",
            "no usable path",
            "device offlined",
            "link down",
            "failing path",
            "i/o error",
            "remaining active paths: 0",
            "queue if no path",
            "lost page write",
            "controller is down",
            "reconnecting in",
        ],
    ),
    (
        "a server that does not answer",
        &[
            "not responding, still trying",
            "not responding, timed out",
            "has not responded in",
            "osd",
            "server no longer responding",
        ],
    ),
    (
        "a check or rebuild of an array",
        &["data-check of raid", "resync of raid", "recovery of raid", "reshape of raid"],
    ),
    ("short memory", &["out of memory", "oom-kill", "page allocation failure", "page allocation stalls"]),
    ("no space below", &["no free space", "out of data space", "reached low water mark", "no space left"]),
    (
        "a damaged file system",
        &[
            "ext4-fs error",
            "corruption",
            "shutting down filesystem",
            "metadata i/o error",
            "btrfs error",
            "remounting filesystem read-only",
        ],
    ),
    ("a kernel bug", &["kernel bug at", "unable to handle", "general protection fault", "soft lockup", "double fault"]),
];

/// The class of a root that such messages show; `None` of those that do not.
pub(crate) fn class_of_sign(of: &str) -> Option<Class> {
    match of {
        "requests that timed out" | "a disk or path that is gone" => Some(Class::Device),
        "a server that does not answer" => Some(Class::Server),
        _ => None,
    }
}

/// What a message is a sign of.
pub(crate) fn sign_of(message: &str) -> Option<&'static str> {
    let text = message.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let of = SIGNS.iter().find(|(_, words)| has(words))?.0;
    // `libceph: osd5 up` and `tag#99 ...` alone say nothing.
    let is_vague =
        (text.contains("tag#") && !text.contains("abort") && !text.contains("timed out") && !text.contains("failed"))
            || (of == "a server that does not answer" && text.contains("osd") && !text.contains("down"));
    (!is_vague).then_some(of)
}

#[cfg(test)]
mod tests {
    use super::sign_of;

    #[test]
    fn signs() {
        let check = |text: &str, of: Option<&str>| assert_eq!(sign_of(text), of, "{text}");
        check("sd 0:0:0:0: [sda] tag#99 task abort on host 0, 00002af6841", Some("requests that timed out"));
        check("nvme nvme1: I/O 775 QID 2 timeout, aborting", Some("requests that timed out"));
        check("block nvme2n2: no usable path - requeuing I/O", Some("a disk or path that is gone"));
        check("nfs: server ease not responding, still trying", Some("a server that does not answer"));
        check("libceph: osd5 up", None);
        check("libceph: osd5 down", Some("a server that does not answer"));
        check("md: data-check of RAID array md1", Some("a check or rebuild of an array"));
        check("usb 1-1: new device", None);
    }
}

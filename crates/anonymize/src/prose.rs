//! Sentences and other texts in which names occur.

use crate::address::host;
use crate::cgroup::cgroup;
use crate::disk::device;
use crate::known::is_device;
use crate::names::Names;
use crate::path::path;

/// The replacement of a sentence of the recorder: paths, addresses and names that are known by now are replaced.
pub(crate) fn sentence(names: &mut Names, text: &str) -> String {
    let after: Vec<String> = text.split(' ').map(|word| in_sentence(names, word)).collect();
    after.join(" ")
}

fn in_sentence(names: &mut Names, word: &str) -> String {
    let core = word.trim_matches(|c: char| "'\"`(),;:.".contains(c));
    let Some(at) = word.find(core).filter(|_| !core.is_empty()) else { return word.to_owned() };
    let after = match names.as_changed(core) {
        Some(after) => after.to_owned(),
        None if core.starts_with('/') => path(names, core),
        None if core.parse::<core::net::IpAddr>().is_ok() => host(names, core),
        None => return word.to_owned(),
    };
    format!("{}{after}{}", &word[..at], &word[at + core.len()..])
}

const FIFO: (&str, &str) = ("the FIFO ", ", which no process has open at its other end");
const FROZEN: [&str; 2] = ["freezer cgroup ", "frozen cgroup "];

/// That of a stall's detail: what a tracepoint's fields say, the cgroup that froze a task or whose quota held it, or the object of a wait.
pub(crate) fn detail(names: &mut Names, text: &str) -> String {
    let after = if let Some(begin) = FROZEN.iter().find(|begin| text.starts_with(**begin)) {
        format!("{begin}{}", cgroup(names, &text[begin.len()..]))
    } else if let Some(file) = text.strip_prefix(FIFO.0).and_then(|rest| rest.strip_suffix(FIFO.1)) {
        format!("{}{}{}", FIFO.0, path(names, file), FIFO.1)
    } else if let Some((group, quota)) = text.rsplit_once(": ").filter(|(group, _)| group.starts_with('/')) {
        format!("{}: {quota}", cgroup(names, group))
    } else if let Some((what, disk)) =
        text.rsplit_once(" on ").filter(|(_, disk)| !disk.starts_with(|c: char| c.is_ascii_digit()))
    {
        // A shrinker: of a disk, by the name that its file system has for it, which may be any.
        let after = if is_device(disk) || disk.contains(' ') { disk.to_owned() } else { device(names, disk) };
        format!("{what} on {after}")
    } else {
        sentence(names, text)
    };
    names.change(text, after)
}

#[cfg(test)]
mod tests {
    use super::{detail, sentence};
    use crate::names::{Comms, Names};

    #[test]
    fn details_keep_their_form() {
        let mut names = Names::new(Comms::Known, Vec::new());
        for (text, expected) in [
            ("rwsem write", "rwsem write"),
            ("inode 131 on 7,0", "inode 131 on 7,0"),
            (
                "on 7,1: locked 0 ms, flushing 4 ms, logging 100 ms, 3 handles, 9 blocks",
                "on 7,1: locked 0 ms, flushing 4 ms, logging 100 ms, 3 handles, 9 blocks",
            ),
            (
                "dirty 1.0 MiB of 2.0 MiB, on 7:0 0.5 MiB of 1.0 MiB, allowed 100.0 MiB/s",
                "dirty 1.0 MiB of 2.0 MiB, on 7:0 0.5 MiB of 1.0 MiB, allowed 100.0 MiB/s",
            ),
            ("super_cache_scan of xfs on loop0", "super_cache_scan of xfs on loop0"),
            ("super_cache_scan of xfs on acme-volume", "super_cache_scan of xfs on n1"),
            ("freezer cgroup /acme", "freezer cgroup /n2"),
            ("frozen cgroup /system.slice/acme.service", "frozen cgroup /system.slice/n2.service"),
            ("/acme: 20.0 ms of 100 ms", "/n2: 20.0 ms of 100 ms"),
            (
                "the FIFO /srv/acme/a b, which no process has open at its other end",
                "the FIFO /srv/n2/n3, which no process has open at its other end",
            ),
            ("a pipe", "a pipe"),
            ("a UNIX socket whose server works on the request", "a UNIX socket whose server works on the request"),
        ] {
            assert_eq!(detail(&mut names, text), expected, "{text}");
        }
        assert_eq!(
            sentence(&mut names, "cannot read '/srv/acme': no such file"),
            "cannot read '/srv/n2': no such file"
        );
    }
}

//! Details of older runs, which have them in words.

use model::block::DeviceNumber;
use model::detail::{
    CpuQuota, Detail, DirtyPages, Freezer, JournalCommit, LOCK_MUTEX, LOCK_PERCPU, LOCK_READ, LOCK_RT, LOCK_WRITE,
    OtherEnd, Progress,
};

/// What the words say, or the words where that is unknown.
pub(super) fn detail(words: &str) -> Detail {
    let known = lock(words).or_else(|| dirty_pages(words)).or_else(|| journal_commit(words)).or_else(|| freezer(words));
    let known = known.or_else(|| quota(words)).or_else(|| of_device(words)).or_else(|| of_memory(words));
    // The last: it compares with the words of each.
    let known = known.or_else(|| other_end(words).map(Detail::OtherEnd));
    known.unwrap_or_else(|| Detail::Words(words.to_owned()))
}

/// `dirty 1.0 MiB of 2.0 MiB, on 7:0 0.5 MiB of 1.0 MiB, allowed 100.0 MiB/s`.
fn dirty_pages(words: &str) -> Option<Detail> {
    let words: Vec<&str> = words.split_ascii_whitespace().collect();
    let [
        "dirty",
        dirty,
        "MiB",
        "of",
        limit,
        "MiB,",
        "on",
        name,
        there,
        "MiB",
        "of",
        limit_there,
        "MiB,",
        "allowed",
        allowed,
        "MiB/s",
    ] = words[..]
    else {
        return None;
    };
    let bytes = |mebibytes: &str| Some((mebibytes.parse::<f64>().ok()? * f64::from(1 << 20)) as u64);
    Some(Detail::DirtyPages(DirtyPages {
        dirty_bytes: bytes(dirty)?,
        limit_bytes: bytes(limit)?,
        backing_device: name.to_owned(),
        device: DeviceNumber::parse(name),
        device_dirty_bytes: bytes(there)?,
        device_limit_bytes: bytes(limit_there)?,
        allowed_bytes_per_s: bytes(allowed)?,
    }))
}

/// `on 7,0: locked 0 ms, flushing 4 ms, logging 100 ms, 3 handles, 9 blocks`.
fn journal_commit(words: &str) -> Option<Detail> {
    let (name, phases) = words.strip_prefix("on ")?.split_once(": ")?;
    let number = |words: Option<&str>| words?.split(' ').find_map(|word| word.parse().ok());
    let mut phases = phases.split(", ");
    let mut next = || number(phases.next());
    Some(Detail::JournalCommit(JournalCommit {
        device: DeviceNumber::parse(name)?,
        locked_ms: next()?,
        flushing_ms: next()?,
        logging_ms: next()?,
        handles: next()?,
        blocks: next()?,
    }))
}

/// `freezer cgroup /a` of version 1 or, in the oldest runs, of either one; `frozen cgroup /a` of version 2.
fn freezer(words: &str) -> Option<Detail> {
    let of = |prefix: &str, is_v2| Some(Freezer { cgroup: words.strip_prefix(prefix)?.to_owned(), is_v2, through: 0 });
    of("freezer cgroup ", false).or_else(|| of("frozen cgroup ", true)).map(Detail::Freezer)
}

/// `/a: 20.0 ms of 100 ms`.
fn quota(words: &str) -> Option<Detail> {
    let (cgroup, times) = words.rsplit_once(": ").filter(|(cgroup, _)| cgroup.starts_with('/'))?;
    let (quota, period) = times.split_once(" of ")?;
    Some(Detail::CpuQuota(CpuQuota {
        cgroup: cgroup.to_owned(),
        quota_ns: nanoseconds(quota)?,
        period_ns: nanoseconds(period)?,
    }))
}

/// `20.0 ms`.
fn nanoseconds(words: &str) -> Option<u64> {
    let (number, unit) = words.split_once(' ')?;
    let unit_ns = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * unit_ns).round() as u64)
}

fn other_end(words: &str) -> Option<OtherEnd> {
    const FIFO: (&str, &str) = ("the FIFO", ", which no process has open at its other end");
    if let Some(path) = words.strip_prefix(FIFO.0).and_then(|rest| rest.strip_suffix(FIFO.1)) {
        return Some(OtherEnd::Fifo(Some(path.trim_start().to_owned()).filter(|path| !path.is_empty())));
    }
    let connections = Progress::ALL.into_iter().flat_map(|progress| {
        [OtherEnd::Tcp(progress), OtherEnd::TcpElsewhere(progress), OtherEnd::UnixSocket(progress)]
    });
    OtherEnd::plain().chain(connections).find(|end| end.to_string() == words)
}

/// `rwsem read`: a type, and a side where it has two.
fn lock(words: &str) -> Option<Detail> {
    let (what, side) = words.split_once(' ').map_or((words, 0), |(what, side)| match side {
        "read" => (what, LOCK_READ),
        "write" => (what, LOCK_WRITE),
        _ => ("", 0),
    });
    let flags = match what {
        "mutex" => LOCK_MUTEX,
        "percpu" => LOCK_PERCPU,
        "rtmutex" => LOCK_RT,
        "rwsem" if side != 0 => 0,
        "lock" if side == 0 => 0,
        _ => return None,
    };
    Some(Detail::LockFlags(flags | side))
}

/// `inode 131 on 7,0`, `on 7,1`.
fn of_device(words: &str) -> Option<Detail> {
    let (inode, name) = words.split_once("on ")?;
    let device = DeviceNumber::parse(name)?;
    if inode.is_empty() {
        return Some(Detail::Device(device));
    }
    let inode = inode.strip_prefix("inode ")?.trim_end().parse().ok()?;
    Some(Detail::Inode { inode, device })
}

/// `32 pages reclaimed`, `super_cache_scan of xfs on loop0`, `no progress`.
fn of_memory(words: &str) -> Option<Detail> {
    if let Some(pages) = words.strip_suffix(" pages reclaimed") {
        return pages.parse().ok().map(Detail::PagesReclaimed);
    }
    if let Some((function, file_system)) = words.split_once(" of ") {
        let (kind, device) = file_system.split_once(" on ")?;
        let file_system = Some((kind.to_owned(), device.to_owned()));
        return Some(Detail::Shrinker { function: function.to_owned(), file_system });
    }
    let reasons = [1, 2, 4, 8, 0].map(Detail::ThrottleReason);
    let is_function = |words: &str| !words.is_empty() && !words.contains(' ');
    reasons
        .into_iter()
        .find(|reason| reason.to_string() == words)
        .or_else(|| is_function(words).then(|| Detail::Shrinker { function: words.to_owned(), file_system: None }))
}

#[cfg(test)]
mod tests {
    use model::block::DeviceNumber;
    use model::detail::{Detail, DirtyPages};

    use super::detail;

    /// What earlier versions of the program wrote.
    const WORDS: &[(&str, &str)] = &[
        ("rwsem write", "lock_flags"),
        ("percpu read", "lock_flags"),
        ("mutex", "lock_flags"),
        ("rtmutex", "lock_flags"),
        ("lock", "lock_flags"),
        ("rwsem read", "lock_flags"),
        ("on 7,1", "device"),
        ("inode 131 on 7,0", "inode"),
        ("32 pages reclaimed", "pages_reclaimed"),
        ("super_cache_scan of xfs on loop0", "shrinker"),
        ("super_cache_scan", "shrinker"),
        ("no progress", "throttle_reason"),
        ("another reason", "throttle_reason"),
        ("on 7,0: locked 0 ms, flushing 4 ms, logging 100 ms, 3 handles, 9 blocks", "journal_commit"),
        ("/a of b/c: 20.0 ms of 100 ms", "cpu_quota"),
        ("freezer cgroup /batch", "freezer"),
        ("frozen cgroup /system.slice/a.service", "freezer"),
        ("the FIFO /srv/a b, which no process has open at its other end", "fifo"),
        ("the FIFO, which no process has open at its other end", "fifo"),
        ("its own timer", "timer"),
        ("a UNIX socket", "unix_socket"),
        ("a TCP connection that its server has not accepted", "tcp_connection"),
        (
            "a TCP connection to another machine or network whose server works on the request",
            "tcp_connection_elsewhere",
        ),
        ("what nobody knows", "words"),
    ];

    #[test]
    fn words_of_older_runs_are_read() {
        for (words, expected) in WORDS {
            let detail = detail(words);
            assert_eq!(detail.type_name(), *expected, "{words}");
            assert_eq!(detail.to_string(), *words);
        }
        let words = "dirty 1.0 MiB of 2.0 MiB, on 7:0 0.5 MiB of 1.0 MiB, allowed 100.0 MiB/s";
        let expected = DirtyPages {
            dirty_bytes: 1 << 20,
            limit_bytes: 2 << 20,
            backing_device: "7:0".to_owned(),
            device: Some(DeviceNumber::new(7, 0)),
            device_dirty_bytes: 1 << 19,
            device_limit_bytes: 1 << 20,
            allowed_bytes_per_s: 100 << 20,
        };
        assert_eq!(detail(words), Detail::DirtyPages(expected));
    }
}

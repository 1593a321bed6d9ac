//! What a log puts before a kernel message.

/// The message: what follows the time of the kernel's ring buffer, or the name of the log's source.
///
/// ```text
/// [  123.456] text        [Fri Nov  5 21:02:26 2021] text        [  +0.000004] text        <6>[ 1.0] text
/// Sep  7 16:36:18 host kernel: [5359680.372082] text             Dec  7 10:12:34 host 6,3873,1349697082,-;text
/// <3>1 2024-05-01T10:00:00.1+00:00 host kernel - - - text
/// ```
pub(crate) fn message(line: &str) -> &str {
    let mut line = line.trim_end_matches(['\r', '\n']);
    while let Some(rest) = line.trim_start().strip_prefix('>') {
        line = rest;
    }
    // Each rule removes one prefix; a log may have two.
    for _ in 0..3 {
        let Some(rest) = without_source(line).or_else(|| without_time(line)).or_else(|| without_record(line)) else {
            break;
        };
        line = rest;
    }
    line
}

/// `... kernel: text`, and of RFC 5424 `... kernel - - - text`
fn without_source(line: &str) -> Option<&str> {
    ["kernel: ", " kernel - - - "].into_iter().find_map(|source| {
        let at = line.find(source).filter(|at| *at < 120)?;
        Some(&line[at + source.len()..])
    })
}

/// `[  123.456] text`, with a level `<6>` before and a CPU or thread `[T12]` behind.
fn without_time(line: &str) -> Option<&str> {
    let mut trimmed = line.trim_start();
    if trimmed.starts_with('<') && trimmed.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        let (level, rest) = trimmed.split_once('>')?;
        trimmed = if level.len() <= 3 { rest } else { trimmed };
    }
    let rest = trimmed.strip_prefix('[')?;
    let (inside, rest) = rest.split_once(']')?;
    // An address `[<ffffffff8168c889>]` belongs to the message.
    let is_time = inside.contains(['.', ':']) && !inside.starts_with('<') && inside.len() <= 40;
    let is_thread =
        inside.trim().starts_with(['T', 'C']) && inside.trim()[1..].bytes().all(|byte| byte.is_ascii_digit());
    (is_time || is_thread).then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

/// `6,3873,1349697082,-;text` of the kernel's log device, also within a line of netconsole.
fn without_record(line: &str) -> Option<&str> {
    let (before, text) = line.split_once(";")?;
    let record = before.rsplit(' ').next()?;
    let is_record = record.split(',').count() >= 4 && record.starts_with(|c: char| c.is_ascii_digit());
    (is_record && before.len() < 120).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::message;

    #[test]
    fn prefixes_of_logs_are_removed() {
        let check = |line: &str, expected: &str| assert_eq!(message(line), expected, "{line}");
        check("[  123.456789]  schedule+0x1/0x2", " schedule+0x1/0x2");
        check("[Fri Nov  5 21:02:26 2021] a", "a");
        check("[  +0.000004]  </TASK>", " </TASK>");
        check("<6>[   12.5][T123] a", "a");
        check("<3>1 2024-05-01T10:00:00.100000+00:00 node7 kernel - - -  schedule+0x1/0x2", " schedule+0x1/0x2");
        check("Sep  7 16:36:18 server kernel: [5359680.372082] INFO: x", "INFO: x");
        check("Mar 25 16:49:08 dws07 kernel:  fuse_wait+0x62/0x90 [fuse]", " fuse_wait+0x62/0x90 [fuse]");
        check(
            "Dec  7 10:12:34 192.168.1.50 6,3878,1349697126,-; ? shrink_slab+0xaa/0x120",
            " ? shrink_slab+0xaa/0x120",
        );
        check(" [<ffffffff8168c889>] schedule+0x29/0x70", " [<ffffffff8168c889>] schedule+0x29/0x70");
        check("[<0>] fuse_lookup+0x9c/0x1e8 [fuse]", "[<0>] fuse_lookup+0x9c/0x1e8 [fuse]");
        check("> [ 1.5] a", "a");
        check("/proc/12/stack", "/proc/12/stack");
    }
}

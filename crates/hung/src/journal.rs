//! Lines of `journalctl -o json`: an entry each.

use std::borrow::Cow;

use serde_json::Value;

/// The message of an entry. `None`: the line is none.
pub(crate) fn entry(line: &str) -> Option<String> {
    let line = line.trim_start();
    if !line.starts_with('{') || !line.contains("\"MESSAGE\"") {
        return None;
    }
    let Value::Object(fields) = serde_json::from_str(line).ok()? else { return None };
    match fields.get("MESSAGE")? {
        Value::String(text) => Some(text.clone()),
        // Not all of it can be printed.
        Value::Array(bytes) => {
            let bytes: Vec<u8> = bytes.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok()).collect();
            Some(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => None,
    }
}

/// A message of another CPU within a line, which a console printed at once: what came before it, and the message.
///
/// ```text
/// [1038750.300119]  [<ffffffff81579899>] sched[1043267.444164] serial8250: too much work for irq4
/// ule_preempt_disabled+0x9/0x10
/// ```
pub(crate) fn interrupted(line: &str) -> Option<(&str, &str)> {
    let is_time = |inside: &str| {
        inside.trim_start().split_once('.').is_some_and(|(seconds, fraction)| {
            let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_number(seconds) && is_number(fraction) && fraction.len() == 6
        })
    };
    let is_within = |at: usize| line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || "_+/".contains(c));
    let opens = line.match_indices('[').map(|(at, _)| at).filter(|at| is_within(*at));
    let mut times = opens.filter(|at| line[at + 1..].split_once("] ").is_some_and(|(inside, _)| is_time(inside)));
    times.next().map(|at| line.split_at(at))
}

/// A line that may be the rest of one that was interrupted.
pub(crate) fn continued<'a>(begun: Option<String>, line: &'a str, is_bare: bool) -> (Option<String>, Cow<'a, str>) {
    match begun {
        Some(begun) if is_bare => (None, Cow::Owned(begun + line)),
        begun => (begun, Cow::Borrowed(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::{entry, interrupted};

    #[test]
    fn entries_have_their_message() {
        assert_eq!(entry(r#"{"PRIORITY":"3","MESSAGE":" schedule+0x1\/0x2"}"#).as_deref(), Some(" schedule+0x1/0x2"));
        assert_eq!(entry(r#"{"MESSAGE":[97,255,98]}"#).as_deref(), Some("a\u{fffd}b"));
        for line in ["", "{", r#"{"MESSAGE":null}"#, r#"{"A":"MESSAGE"}"#, "[ 1.5] schedule+0x1/0x2"] {
            assert_eq!(entry(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_is_interrupted_by_a_time_alone() {
        let line = "[1038750.300119]  [<ffffffff81579899>] sched[1043267.444164] serial8250: too much work";
        let expected = ("[1038750.300119]  [<ffffffff81579899>] sched", "[1043267.444164] serial8250: too much work");
        assert_eq!(interrupted(line), Some(expected));
        for whole in
            ["[ 1.500000] [ 2.500000] a", "kernel[123]: a", "a[1.5] b", " jbd2_x+0x1/0x2 [jbd2]", "é[1.500000] a"]
        {
            assert_eq!(interrupted(whole), None, "{whole}");
        }
    }
}

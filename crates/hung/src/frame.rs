//! A line of a stack.

/// A function on a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) function: &'a str,
    /// Its kernel module, or an empty text.
    pub(crate) module: &'a str,
    /// Of 32-bit ARM, which prints who called whom: the function that was called.
    pub(crate) called: Option<&'a str>,
    /// `?`: an address that the unwinder found but does not vouch for.
    pub(crate) is_guess: bool,
}

/// The function of a line such as
///
/// ```text
///  [<ffffffff8168c889>] ? schedule+0x29/0x70 [mod]        schedule+0x29/0x70
/// [<8014ac8c>] (io_schedule) from [<8021c4e4>] (__lock_page+0x100/0x128)
///  #1 [ffff8801] schedule at ffffffff8168c889
/// ```
pub(crate) fn frame(message: &str) -> Option<Frame<'_>> {
    let text = message.trim();
    if let Some(function) = of_crash(text) {
        return Some(Frame { function, module: module(text), called: None, is_guess: false });
    }
    let called = text.split_once(") from ").and_then(|(called, _)| called.rsplit_once('(')).map(|(_, name)| name);
    let mut is_guess = false;
    for word in text.split_whitespace() {
        is_guess |= word == "?";
        if let Some(function) = of_word(word) {
            return Some(Frame { function, module: module(text), called: called.map(bare), is_guess });
        }
        // Only addresses, marks and their like precede a function.
        if !is_before(word) && called.is_none() {
            return None;
        }
    }
    None
}

/// `... schedule+0x29/0x70 [mod BUILDID]`, and in Linux 2.6.18 `... :mod:schedule+0x29/0x70`.
fn module(text: &str) -> &str {
    let is_name = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let last =
        text.trim_end_matches(')').strip_suffix(']').and_then(|text| text.rsplit_once(" [")).map(|(_, inside)| inside);
    let of_old =
        || text.split_whitespace().find_map(|word| word.strip_prefix(':')?.split_once(':')).map(|(name, _)| name);
    last.and_then(|inside| inside.split_whitespace().next()).or_else(of_old).filter(is_name).unwrap_or_default()
}

/// `#1 [ffff8801] schedule at ffffffff8168c889`
fn of_crash(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('#')?;
    let (number, rest) = rest.split_once(' ')?;
    number.parse::<u16>().ok()?;
    let (_, rest) = rest.trim_start().strip_prefix('[')?.split_once("] ")?;
    let mut words = rest.split_whitespace();
    let function = words.next()?;
    (words.next()? == "at").then(|| bare(function))
}

/// `schedule+0x29/0x70`, in brackets on ARM, after `:module:` in Linux 2.6.18.
fn of_word(word: &str) -> Option<&str> {
    let word = word.trim_matches(['(', ')']);
    let word = word.strip_prefix(':').and_then(|word| word.split_once(':')).map_or(word, |(_, function)| function);
    let (function, offset) = word.split_once('+')?;
    let offset = offset.split('/').next()?.strip_prefix("0x")?;
    let is_offset = !offset.is_empty() && offset.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte))
    };
    (is_offset && is_name(function)).then(|| bare(function))
}

/// Without what compilers append: `.isra.0`, `.constprop.4`, `.part.0`.
fn bare(function: &str) -> &str {
    function.split('.').next().unwrap_or(function)
}

/// What may precede a function: an address, a mark of a context, a count.
fn is_before(word: &str) -> bool {
    word == "?"
        || word.starts_with(['[', '<', '('])
        || word.bytes().all(|byte| byte.is_ascii_hexdigit() || b"x:]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn functions_of_all_forms() {
        let check = |line: &str, function: &str, is_guess: bool| {
            let frame = frame(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((frame.function, frame.is_guess), (function, is_guess), "{line}");
        };
        check(" schedule+0x29/0x70", "schedule", false);
        check(" [<ffffffff8168c889>] ? mutex_lock.isra.5+0x29/0x70 [mod]", "mutex_lock", true);
        check(" [<ffffffff88582f6d>] :jbd2:kjournald2+0x191/0x1068", "kjournald2", false);
        check("[<0>] fuse_lookup+0x9c/0x1e8 [fuse]", "fuse_lookup", false);
        check(" #1 [ffff88042fc03e50] schedule at ffffffff8168c889", "schedule", false);
        check("[<8014ac8c>] (io_schedule) from [<8021c4e4>] (__lock_page+0x100/0x128)", "__lock_page", false);
        check("[<7f5>] (btrfs_wait [btrfs]) from [<7f6>] (btrfs_commit+0x140/0x18c [btrfs])", "btrfs_commit", false);
        assert_eq!(frame(" [<ffffffff88582f6d>] :jbd2:kjournald2+0x191/0x1068").unwrap().module, "jbd2");
        assert_eq!(frame(" bch2_btree_update_start+0x917/0x940 [bcachefs bc7df9d8]").unwrap().module, "bcachefs");
        assert_eq!(frame(" schedule+0x29/0x70").unwrap().module, "");
        for line in ["RIP: 0033:0x7febdb0a370b", "Call Trace:", "a+b", "INFO: task a+0x1/0x2", "disks 1+0x"] {
            assert_eq!(frame(line), None, "{line}");
        }
    }
}

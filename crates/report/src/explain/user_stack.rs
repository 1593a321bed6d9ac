//! Where a program was in its own code, in one line.

use explain::blame::{UserFrame, UserStack};

use crate::style::printable;

/// Functions that are shown.
const SHOWN: usize = 4;
/// Libraries whose functions say only which system call it is, and how a program begins.
const SYSTEM: [&str; 5] = ["libc.so", "libc-", "libpthread", "ld-linux", "[vdso]"];

/// `in commit (log.c:123), called by main (db.c:40)`.
pub(super) fn words(stack: &UserStack) -> Option<String> {
    let own = |frame: &&UserFrame| !is_system(frame);
    let mut shown: Vec<&UserFrame> = stack.frames.iter().skip_while(|frame| !own(frame)).collect();
    let end = shown.iter().rposition(own).map_or(0, |last| last + 1);
    shown.truncate(end);
    if shown.is_empty() {
        shown = stack.frames.iter().collect();
    }
    let begins = shown.iter().position(|frame| frame.function.as_deref() == Some("main"));
    shown.truncate(begins.map_or(SHOWN, |main| (main + 1).min(SHOWN)));
    let (first, callers) = shown.split_first()?;
    let place = if stack.released { "released in" } else { "in" };
    let callers: String = callers.iter().map(|frame| format!(", called by {}", frame_words(frame))).collect();
    let is_short = !stack.whole && begins.is_none() && shown.len() < SHOWN;
    let missing = if is_short { "; its callers are unknown" } else { "" };
    Some(format!("{place} {}{callers}{missing}", frame_words(first)))
}

fn is_system(frame: &UserFrame) -> bool {
    let name = frame.module.as_deref().map_or("", |module| base(module));
    SYSTEM.iter().any(|system| name.starts_with(system)) || frame.function.as_deref() == Some("_start")
}

fn frame_words(frame: &UserFrame) -> String {
    let module = frame.module.as_deref().map_or("an unknown file", base);
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{}:{line}", base(file)),
        (Some(file), None) => base(file).to_owned(),
        (None, _) => module.to_owned(),
    };
    let words = match &frame.function {
        Some(function) => format!("{function} ({place})"),
        None => format!("{module}+{:#x}", frame.offset),
    };
    printable(&words)
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use explain::blame::{UserFrame, UserStack};

    use super::words;

    fn frame(function: &str, source: Option<(&str, u32)>, module: &str) -> UserFrame {
        UserFrame {
            function: Some(function.to_owned()).filter(|name| !name.is_empty()),
            file: source.map(|source| source.0.to_owned()),
            line: source.map(|source| source.1),
            module: Some(module.to_owned()),
            build_id: None,
            offset: 0x1234,
        }
    }

    fn stack(frames: Vec<UserFrame>) -> UserStack {
        UserStack { frames, whole: true, released: false }
    }

    const LIBC: &str = "/usr/lib/libc.so.6";

    #[test]
    fn the_programs_own_functions_are_shown_up_to_main() {
        let frames = vec![
            frame("fsync", Some(("fsync.c", 25)), LIBC),
            frame("commit", Some(("/src/log.c", 123)), "/usr/bin/db"),
            frame("main", Some(("/src/db.c", 40)), "/usr/bin/db"),
            frame("__libc_start_main", None, LIBC),
            frame("_start", None, "/usr/bin/db"),
        ];
        let expected = "in commit (log.c:123), called by main (db.c:40)";
        assert_eq!(words(&stack(frames.clone())).unwrap(), expected);
        let released = UserStack { released: true, ..stack(frames) };
        assert_eq!(words(&released).unwrap(), format!("released {expected}"));
    }

    #[test]
    fn a_stripped_program_has_offsets() {
        let frames = vec![frame("", None, LIBC), frame("", None, "/usr/bin/db"), frame("", None, "/usr/bin/db")];
        assert_eq!(words(&stack(frames)).unwrap(), "in db+0x1234, called by db+0x1234");
    }

    #[test]
    fn missing_callers_are_said() {
        let cut = UserStack { whole: false, ..stack(vec![frame("fsync", None, LIBC)]) };
        assert_eq!(words(&cut).unwrap(), "in fsync (libc.so.6); its callers are unknown");
        assert_eq!(words(&stack(Vec::new())), None);
    }
}

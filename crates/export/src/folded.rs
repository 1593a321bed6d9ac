//! Folded stacks, as flamegraph.pl, inferno and compatible tools read them: `OUTERMOST;...;INNERMOST NANOSECONDS`.

use std::io::{self, Write};

use crate::off_cpu::OffCpuProfile;

/// Writes a line for each place. Returns the lines.
pub fn write(profile: &OffCpuProfile, mut sink: impl Write) -> io::Result<u64> {
    let mut lines = 0;
    let names: Vec<String> = profile.frames().iter().map(|frame| escaped(&frame.name)).collect();
    for (place, lost) in profile.places() {
        for (at, frame) in place.frames.iter().enumerate() {
            write!(sink, "{}{}", if at > 0 { ";" } else { "" }, names[*frame as usize])?;
        }
        writeln!(sink, " {}", lost.time_ns)?;
        lines += 1;
    }
    sink.flush()?;
    Ok(lines)
}

/// A semicolon separates frames, and a line ends a stack. An empty name would be no frame.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            ';' => text.push(':'),
            character if character.is_control() => text.extend(character.escape_default()),
            character => text.push(character),
        }
    }
    if text.is_empty() { "[unknown]".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use model::cause::Cause;
    use proptest::prelude::*;

    use super::write;
    use crate::off_cpu::{Frame, OffCpuProfile};

    fn folded(profile: &OffCpuProfile) -> String {
        let mut bytes = Vec::new();
        write(profile, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn equal_places_are_added_up() {
        let mut profile = OffCpuProfile::default();
        let stack = || ["main", "-", "vfs_fsync"].map(Frame::named).to_vec();
        profile.add(("dd", "fsync"), Cause::Device, stack(), 30);
        profile.add(("dd", "fsync"), Cause::Device, stack(), 12);
        profile.add(("dd", "fsync"), Cause::Lock, stack(), 1);
        profile.add(("a;b\n", ""), Cause::Unexplained, Vec::new(), 5);
        let expected = "a:b\\n;[unknown];[unexplained] 5\n\
                        dd;fsync;main;-;vfs_fsync;[device] 42\n\
                        dd;fsync;main;-;vfs_fsync;[lock] 1\n";
        assert_eq!(folded(&profile), expected);
    }

    proptest! {
        /// Whatever functions are called, a reader finds as many frames and the same sum.
        #[test]
        fn lines_read_back(rows in prop::collection::vec((prop::collection::vec("\\PC{0,4}|;|\n| \
             7", 0..5), 0_u64..9), 0..20)) {
            let mut profile = OffCpuProfile::default();
            for (names, time_ns) in &rows {
                profile.add(("t", "o"), Cause::Device, names.iter().map(Frame::named).collect(), *time_ns);
            }
            let (mut sum, mut depths) = (0, Vec::new());
            for line in folded(&profile).lines() {
                let (stack, count) = line.rsplit_once(' ').unwrap();
                sum += count.parse::<u64>().unwrap();
                depths.push(stack.split(';').count());
            }
            prop_assert_eq!(sum, rows.iter().map(|(_, time_ns)| time_ns).sum::<u64>());
            let expected: Vec<usize> = profile.places().map(|(place, _)| place.frames.len()).collect();
            prop_assert_eq!(depths, expected);
        }
    }
}

//! The command for a shell that applies a remedy.

use explain::whatif::KnownLimit;
use remedy::{Format, Remedy, RemedyAction, Setting, Target, Value};

/// As it can be typed; `None` where something of it is unknown, or people have to do it.
pub(super) fn command_of(remedy: &Remedy, target: &Target, limit: Option<KnownLimit>) -> Option<String> {
    let complete = |template: &str| target.is_known(template).then(|| target.words(template));
    match &remedy.change {
        RemedyAction::Setting(setting) => write(setting, target, limit),
        RemedyAction::Command { apply, .. } => complete(apply),
        RemedyAction::Manual { command, .. } => command.as_deref().and_then(complete),
    }
}

/// `echo 1 > /sys/block/sda/queue/iosched/writes_starved`
fn write(setting: &Setting, target: &Target, limit: Option<KnownLimit>) -> Option<String> {
    let file = target.is_known(&setting.path).then(|| target.words(&setting.path))?;
    let written = |value: &str| match &setting.format {
        Format::Plain | Format::Choice => value.to_owned(),
        Format::PerDevice => format!("\"{} {value}\"", target.number.as_deref().unwrap_or_default()),
        Format::Keyed(key) => format!("\"{} {key}={value}\"", target.number.as_deref().unwrap_or_default()),
    };
    if setting.is_per_device() && target.number.is_none() {
        return None;
    }
    match &setting.value {
        Value::Set(text) => target.is_known(text).then(|| format!("echo {} > {file}", written(&target.words(text)))),
        Value::Multiply(factor) if setting.is_per_device() => {
            let now = limit.and_then(|limit| limit.bytes_per_s.xor(limit.per_s))?;
            Some(format!("echo {} > {file}", written(&format!("{:.0}", now as f64 * factor))))
        }
        // The file has the value.
        Value::Multiply(factor) => Some(format!("echo $(($(cat {file}) * {factor:.0})) > {file}")),
    }
}

/// A command as lines of at most so many columns: a shell reads them as one. A line breaks at a blank, or within a word
/// that is longer than a line.
pub(super) fn wrapped(command: &str, columns: usize) -> Vec<String> {
    const CONTINUES: &str = " \\";
    let room = columns.saturating_sub(CONTINUES.len()).max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in command.split(' ') {
        let is_first = line.is_empty();
        if !is_first && line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        if !is_first {
            lines.push(std::mem::take(&mut line) + CONTINUES);
        }
        let mut letters: Vec<char> = word.chars().collect();
        while letters.len() > room {
            // Without a blank before it, the next line goes on with the word.
            let rest = letters.split_off(room);
            lines.push(letters.into_iter().chain(['\\']).collect());
            letters = rest;
        }
        line = letters.into_iter().collect();
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::wrapped;

    #[test]
    fn a_command_breaks_where_a_shell_goes_on() {
        assert_eq!(wrapped("echo 1 > /sys/a", 20), ["echo 1 > /sys/a"]);
        assert_eq!(wrapped("echo 1 > /sys/block", 14), ["echo 1 > \\", "/sys/block"]);
        assert_eq!(wrapped("echo /sys/block/x", 10), ["echo \\", "/sys/blo\\", "ck/x"]);
    }

    proptest! {
        /// What a shell reads is the command: it drops a backslash with the line's end.
        #[test]
        fn no_line_is_longer_and_nothing_is_lost(command in "[a-z/{}=]{1,40}( \
             [a-z/{}=]{1,120}){0,6}", columns in 20_usize..100) {
            let lines = wrapped(&command, columns);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= columns), "{lines:?}");
            prop_assert_eq!(lines.join("\n").replace("\\\n", ""), command);
        }
    }
}

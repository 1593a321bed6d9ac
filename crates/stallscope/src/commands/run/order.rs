//! Options before the workload: `run -q FILE.toml`.

use std::ffi::OsString;

use clap::{Arg, Args, Command};

use crate::commands::run::request::RunArgs;

/// The command line with the workload before the options that all workloads have. Those of one workload are unknown
/// before it is named.
pub fn workload_first(words: &[OsString]) -> Vec<OsString> {
    let mut words = words.to_vec();
    let is_run = words.get(1).is_some_and(|command| command == "run");
    if let Some(at) = is_run.then(|| workload_at(&words[2..])).flatten() {
        words[2..=2 + at].rotate_right(1);
    }
    words
}

/// Where the workload is behind such options.
fn workload_at(words: &[OsString]) -> Option<usize> {
    let common = RunArgs::augment_args(Command::new("run"));
    let mut at = 0;
    loop {
        let word = words.get(at)?.to_str()?;
        let Some(option) = word.strip_prefix('-') else { return Some(at) };
        let (name, has_value) = option.split_once('=').map_or((option, false), |(name, _)| (name, true));
        let is_it = |arg: &&Arg| match name.strip_prefix('-') {
            Some(long) => arg.get_long() == Some(long),
            None => arg.get_short().is_some_and(|short| name.chars().eq([short])),
        };
        let takes_value = common.get_arguments().find(is_it)?.get_action().takes_values();
        at += if takes_value && !has_value { 2 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::workload_first;

    #[test]
    fn options_of_all_workloads_may_come_first() {
        for (given, expected) in [
            ("s run -q x.toml d", "s run x.toml -q d"),
            ("s run --out o --memory=1g -q simoop -t 4", "s run simoop --out o --memory=1g -q -t 4"),
            ("s run simoop -q", "s run simoop -q"),
            // What only a workload knows, and what has no workload.
            ("s run -t 4 simoop", "s run -t 4 simoop"),
            ("s run --help", "s run --help"),
            ("s run -q", "s run -q"),
            ("s record -q x.toml", "s record -q x.toml"),
        ] {
            let words: Vec<_> = given.split(' ').map(Into::into).collect();
            assert_eq!(workload_first(&words).join(" ".as_ref()).to_str(), Some(expected));
        }
    }
}

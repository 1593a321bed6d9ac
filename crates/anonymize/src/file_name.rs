//! Names of files and folders, one part of a path each.

use crate::known::{FILES, SUFFIXES, has};
use crate::names::{Kept, Names};

/// Ends of files that databases keep beside another file: the explanation knows them by these.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];
/// Digits at the end of a name that stay: those of a number in a series.
const MOST_DIGITS: usize = 3;
const DELETED: &str = " (deleted)";

/// The replacement of a name, with what its end says of its kind: `orders.db-wal` becomes `n1.db-wal`.
pub(crate) fn file_name(names: &mut Names, name: &str) -> String {
    if has(FILES, name) {
        return names.keep(Kept::Path, name);
    }
    let says_nothing = !name.chars().any(char::is_alphanumeric);
    if says_nothing || names.is_wanted(name) {
        return name.to_owned();
    }
    let after = changed(names, name);
    names.change(name, after)
}

fn changed(names: &mut Names, name: &str) -> String {
    for end in [DELETED].into_iter().chain(BESIDE) {
        if let Some(stem) = name.strip_suffix(end).filter(|stem| !stem.is_empty()) {
            return file_name(names, stem) + end;
        }
    }
    if let Some(rest) = name.strip_prefix('.').filter(|rest| !rest.is_empty()) {
        return format!(".{}", file_name(names, rest));
    }
    match name.rsplit_once('.') {
        Some((stem, suffix)) if has(SUFFIXES, suffix) && !stem.is_empty() => {
            format!("{}.{suffix}", file_name(names, stem))
        }
        _ => series(names, name),
    }
}

/// A name with a number at its end, of which there may be others: `worker-3` becomes `n1-3`.
fn series(names: &mut Names, name: &str) -> String {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &name[stem.len()..];
    if digits.is_empty() || digits.len() > MOST_DIGITS {
        return names.name(name);
    }
    if stem.is_empty() {
        return name.to_owned();
    }
    format!("{}-{digits}", names.name(stem))
}

#[cfg(test)]
mod tests {
    use super::file_name;
    use crate::names::{Comms, Names};

    #[test]
    fn what_a_file_is_stays_and_whose_it_is_does_not() {
        let mut names = Names::new(Comms::Known, vec!["kept*".to_owned()]);
        for (name, expected) in [
            ("orders.db", "n1.db"),
            ("orders.db-wal", "n1.db-wal"),
            ("orders.db-journal (deleted)", "n1.db-journal (deleted)"),
            ("orders", "n1"),
            ("worker-3", "n2-3"),
            ("worker-12", "n2-12"),
            ("20260728", "n3"),
            ("42", "42"),
            (".acme", ".n4"),
            ("pg_wal", "pg_wal"),
            ("kept-too", "kept-too"),
            ("acme.orders", "n5"),
            ("-wal", "n6"),
            ("", ""),
            (":", ":"),
        ] {
            assert_eq!(file_name(&mut names, name), expected, "{name}");
        }
    }
}

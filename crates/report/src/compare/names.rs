//! Configuration names as column headings.
//!
//! A sweep names a configuration after all its settings, `fs=xfs scheduler=bfq threads=4`. Settings that all columns
//! share are left out.

use crate::style::printable;

/// A longer heading is cut, unless that would make two headings equal.
const LONGEST: usize = 24;

/// A heading for each name, as short as possible; different names have different headings.
pub(super) fn headings(names: &[&str]) -> Vec<String> {
    let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
    let words: Vec<Vec<&str>> = names.iter().map(|name| name.split_whitespace().collect()).collect();
    let fit = |names: &[String]| names.iter().all(|name| name.chars().count() <= LONGEST);
    if fit(&names) {
        return names;
    }
    let without_shared = joined(&distinguishing(&words));
    if fit(&without_shared) {
        return without_shared;
    }
    let values = joined(&values(&distinguishing(&words)));
    (LONGEST..)
        .step_by(8)
        .map(|longest| values.iter().map(|name| cut(name, longest)).collect::<Vec<_>>())
        .find(|cut| as_different(cut, &values))
        .expect("at the length of the longest nothing is cut")
}

/// The names without the words that are equal in all of them.
fn distinguishing<'a>(names: &[Vec<&'a str>]) -> Vec<Vec<&'a str>> {
    let longest = names.iter().map(Vec::len).max().unwrap_or(0);
    let differs = |place: &usize| names.iter().any(|words| words.get(*place) != names[0].get(*place));
    let places: Vec<usize> = (0..longest).filter(differs).collect();
    if places.is_empty() {
        return names.to_vec();
    }
    names.iter().map(|words| places.iter().filter_map(|&place| words.get(place).copied()).collect()).collect()
}

/// The names without the settings' keys, if all names have the same keys: `scheduler=bfq` becomes `bfq`.
fn values<'a>(names: &[Vec<&'a str>]) -> Vec<Vec<&'a str>> {
    let keys = |words: &[&'a str]| {
        words.iter().map(|word| word.split_once('=').map(|(key, _)| key)).collect::<Option<Vec<&str>>>()
    };
    let first = names.first().and_then(|words| keys(words));
    if first.is_none() || names.iter().any(|words| keys(words) != first) {
        return names.to_vec();
    }
    let value = |word: &&'a str| word.split_once('=').map_or(*word, |(_, value)| value);
    names.iter().map(|words| words.iter().map(value).collect()).collect()
}

fn joined(names: &[Vec<&str>]) -> Vec<String> {
    names.iter().map(|words| words.join(" ")).collect()
}

/// Begin and end of a name: most names differ in their end.
fn cut(name: &str, longest: usize) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= longest {
        return name.to_owned();
    }
    let head = (longest - 3) / 2;
    let tail = characters.len() - (longest - 3 - head);
    let text = |part: &[char]| part.iter().collect::<String>();
    format!("{}...{}", text(&characters[..head]), text(&characters[tail..]))
}

/// Whether shortened names differ if the names do.
fn as_different(short: &[String], names: &[String]) -> bool {
    (0..names.len()).all(|one| (0..one).all(|other| (short[one] == short[other]) == (names[one] == names[other])))
}

#[cfg(test)]
mod tests {
    use super::headings;

    fn check(names: &[&str], expected: &[&str]) {
        assert_eq!(headings(names), expected, "{names:?}");
    }

    #[test]
    fn shared_settings_are_left_out() {
        check(&["a", "b"], &["a", "b"]);
        check(&["fs=xfs scheduler=bfq", "fs=xfs scheduler=none"], &["fs=xfs scheduler=bfq", "fs=xfs scheduler=none"]);
        check(
            &["fs=xfs scheduler=bfq threads=16", "fs=xfs scheduler=none threads=16"],
            &["scheduler=bfq", "scheduler=none"],
        );
        check(
            &["fs=xfs scheduler=mq-deadline threads=1", "fs=btrfs scheduler=none threads=2"],
            &["xfs mq-deadline 1", "btrfs none 2"],
        );
    }

    #[test]
    fn long_names_are_cut_but_stay_different() {
        let (xfs, ext4) = ("/mnt/a/very/long/place/of/runs/xfs", "/mnt/a/very/long/place/of/runs/ext4");
        check(&[xfs, ext4], &["/mnt/a/ver...of/runs/xfs", "/mnt/a/ver...f/runs/ext4"]);
        let same = "the middle of these two names is what differs, A, and their ends are the same";
        let other = same.replace(", A,", ", B,");
        let short = headings(&[same, &other]);
        assert_ne!(short[0], short[1]);
        let twice = headings(&[same, same]);
        assert_eq!(twice[0], twice[1]);
        assert_eq!(twice[0].chars().count(), 24);
        check(&["a\tb"], &["a\\tb"]);
    }

    proptest::proptest! {
        #[test]
        fn names_that_differ_have_headings_that_differ(names in proptest::collection::vec("[a-c= ]{0,60}", 1..5)) {
            let given: Vec<&str> = names.iter().map(String::as_str).collect();
            let short = headings(&given);
            for (one, a) in names.iter().enumerate() {
                for (other, b) in names.iter().enumerate() {
                    let words = |name: &str| name.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                    if words(a) != words(b) {
                        proptest::prop_assert_ne!(&short[one], &short[other], "{:?}", names);
                    }
                }
            }
        }
    }
}

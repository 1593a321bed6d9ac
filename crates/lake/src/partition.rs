//! Where rows of a table, a day and a machine are: `table=TABLE/date=YYYY-MM-DD/host=HOST`, as Hive writes partitions.

use std::path::PathBuf;

use crate::fingerprint::Fnv;

/// Hive's name for a value that is empty or unknown.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";
/// A file name has at most 255 bytes.
const LONGEST: usize = 200;

/// A directory of a lake.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition {
    /// The table's name.
    pub table: &'static str,
    /// The day in UTC, as `2026-11-23`.
    pub date: String,
    /// The machine's name, as recorded.
    pub host: String,
}

impl Partition {
    /// Its path below the lake.
    pub fn path(&self) -> PathBuf {
        let parts = [("table", self.table), ("date", &self.date), ("host", &self.host)];
        parts.iter().map(|(key, value)| format!("{key}={}", escaped(value))).collect()
    }
}

/// A value as a part of a file name: bytes other than letters, digits, `.`, `_` and `-` become `%` and two digits, as
/// readers of such partitions expect. Of a value that is too long the rest is replaced by its hash.
pub fn escaped(value: &str) -> String {
    if value.is_empty() {
        return NO_VALUE.to_owned();
    }
    let escaped = |text: &str| -> String { text.bytes().map(escaped_byte).collect() };
    let whole = escaped(value);
    if whole.len() <= LONGEST {
        return whole;
    }
    let mut hash = Fnv::default();
    hash.part(value);
    let mut kept = String::new();
    for letter in value.chars().map(|letter| escaped(letter.encode_utf8(&mut [0; 4]))) {
        if kept.len() + letter.len() > LONGEST - 17 {
            break;
        }
        kept += &letter;
    }
    format!("{kept}-{}", hash.digits())
}

fn escaped_byte(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Component;

    use proptest::prelude::*;

    use super::{Partition, escaped};

    #[test]
    fn hostile_hosts_stay_one_part_of_the_path() {
        for (host, expected) in [
            ("db-1.example", "db-1.example"),
            ("../../etc", "..%2F..%2Fetc"),
            ("a=b c", "a%3Db%20c"),
            ("100%", "100%25"),
            ("zoë\n", "zo%C3%AB%0A"),
            ("", "__HIVE_DEFAULT_PARTITION__"),
        ] {
            assert_eq!(escaped(host), expected);
        }
        let partition = Partition { table: "stalls", date: "2026-11-23".into(), host: "a/b".into() };
        assert_eq!(partition.path().to_str(), Some("table=stalls/date=2026-11-23/host=a%2Fb"));
    }

    proptest! {
        #[test]
        fn any_host_is_a_short_part_and_stays_itself(a in "\\PC{0,300}", b in "\\PC{0,300}") {
            let path = Partition { table: "runs", date: "2026-11-23".into(), host: a.clone() }.path();
            prop_assert_eq!(path.components().filter(|part| matches!(part, Component::Normal(_))).count(), 3);
            prop_assert!(escaped(&a).len() <= 200 && escaped(&a).is_ascii());
            prop_assert_eq!(a == b, escaped(&a) == escaped(&b));
        }
    }
}

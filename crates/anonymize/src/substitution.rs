//! Whether what is said of a run after its names were replaced is what was said of it before, but for the names.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// What names became, wherever they occur in a text. Without any it compares documents as they are.
#[derive(Debug, Clone, Default)]
pub struct Substitution {
    /// By their first byte, the longest first.
    names: HashMap<u8, Vec<(String, String)>>,
}

impl Substitution {
    /// Of names and what they became: [`Names::changed`](crate::Names::changed).
    pub fn new<'a>(changed: impl Iterator<Item = (&'a str, &'a str)>) -> Substitution {
        let mut by_first: HashMap<u8, Vec<(String, String)>> = HashMap::new();
        for (before, after) in changed {
            let Some(first) = before.bytes().next() else { continue };
            by_first.entry(first).or_default().push((before.to_owned(), after.to_owned()));
        }
        by_first.values_mut().for_each(|names| names.sort_by_key(|(before, _)| std::cmp::Reverse(before.len())));
        Substitution { names: by_first }
    }

    /// Whether one text is another with whole names replaced: a name between two letters or digits is part of
    /// another name. A name may also be a word of ours (`run`, `disk`), which stays.
    pub fn becomes(&self, before: &str, after: &str) -> bool {
        let (mut at, mut to) = (0, 0);
        while let Some(c) = before[at..].chars().next() {
            let begins = at == 0 || !is_inner(before.as_bytes()[at - 1]) || c == '/';
            let names = self.names.get(&before.as_bytes()[at]).filter(|_| begins);
            let fits =
                |(name, new): &&(String, String)| ends_in(&before[at..], name) && after[to..].starts_with(new.as_str());
            match names.and_then(|names| names.iter().find(fits)) {
                Some((name, new)) => (at, to) = (at + name.len(), to + new.len()),
                None if after[to..].starts_with(c) => (at, to) = (at + c.len_utf8(), to + c.len_utf8()),
                None => return false,
            }
        }
        to == after.len()
    }

    /// Where two documents differ: the path, and both values; empty where one lacks it.
    pub fn differences(&self, before: &Value, after: &Value) -> Vec<(String, String, String)> {
        let mut found = Vec::new();
        self.compare("", before, after, &mut found);
        found
    }

    fn compare(&self, path: &str, before: &Value, after: &Value, found: &mut Vec<(String, String, String)>) {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => self.compare_members(path, before, after, found),
            (Value::Array(before), Value::Array(after)) => {
                for at in 0..before.len().max(after.len()) {
                    let path = format!("{path}/{at}");
                    match (before.get(at), after.get(at)) {
                        (Some(before), Some(after)) => self.compare(&path, before, after, found),
                        (before, after) => found.push((path, shown(before), shown(after))),
                    }
                }
            }
            (Value::String(before), Value::String(after)) if self.becomes(before, after) => {}
            (before, after) if before == after => {}
            (before, after) => found.push((path.to_owned(), shown(Some(before)), shown(Some(after)))),
        }
    }

    fn compare_members(
        &self,
        path: &str,
        before: &Map<String, Value>,
        after: &Map<String, Value>,
        found: &mut Vec<(String, String, String)>,
    ) {
        // A key may be a name.
        let of =
            |key: &String| after.get(key).or_else(|| Some(after.iter().find(|(other, _)| self.becomes(key, other))?.1));
        for (key, value) in before {
            let path = format!("{path}/{key}");
            match of(key) {
                Some(other) => self.compare(&path, value, other, found),
                None => found.push((path, shown(Some(value)), String::new())),
            }
        }
        let is_new = |key: &&String| !before.contains_key(*key) && !before.keys().any(|known| self.becomes(known, key));
        let new = after.keys().filter(is_new);
        found.extend(new.map(|key| (format!("{path}/{key}"), String::new(), shown(after.get(key)))));
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(String::new, Value::to_string)
}

fn is_inner(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn ends_in(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| !rest.bytes().next().is_some_and(is_inner))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Substitution;
    use crate::names::{Comms, Names};
    use crate::{path::path, program::program};

    fn substitution() -> Substitution {
        let mut names = Names::new(Comms::Known, Vec::new());
        path(&mut names, "/srv/acme/orders.db");
        program(&mut names, "acmed");
        program(&mut names, "run");
        Substitution::new(names.changed())
    }

    #[test]
    fn names_are_replaced_where_they_stand_by_themselves() {
        let substitution = substitution();
        for (before, after, becomes) in [
            (
                "acmed/12 waits for /srv/acme/orders.db (ext4 on /srv/acme)",
                "n3/12 waits for /srv/n1/n2.db (ext4 on /srv/n1)",
                true,
            ),
            ("acmedia", "acmedia", true),
            ("acmedia", "n3ia", false),
            ("the run queue of run/7", "the run queue of n4/7", true),
            ("acmed", "n2", false),
            ("acmed", "n3 more", false),
        ] {
            assert_eq!(substitution.becomes(before, after), becomes, "{before} -> {after}");
        }
    }

    #[test]
    fn differences_have_a_path_and_names_as_keys_are_none() {
        let before = json!({ "a": [1, "acmed"], "acmed": 2, "gone": 3 });
        let after = json!({ "a": [1, "n3", 4], "n3": 2, "new": 5 });
        let expected = [("/a/2", "", "4"), ("/gone", "3", ""), ("/new", "", "5")];
        let expected = expected.map(|(path, before, after)| (path.to_owned(), before.to_owned(), after.to_owned()));
        assert_eq!(substitution().differences(&before, &after), expected);
        assert!(Substitution::default().differences(&before, &before).is_empty());
    }
}

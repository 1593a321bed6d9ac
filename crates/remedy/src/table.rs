//! The table of remedies: those shipped with the program, and the user's own.

use model::cause::Cause;
use serde::Deserialize;

use crate::error::RemedyError;
use crate::remedy::{Entry, Remedy};

/// The shipped files.
const SHIPPED: [(&str, &str); 6] = [
    ("remedies/block.toml", include_str!("../../../remedies/block.toml")),
    ("remedies/cgroup.toml", include_str!("../../../remedies/cgroup.toml")),
    ("remedies/cpu.toml", include_str!("../../../remedies/cpu.toml")),
    ("remedies/file-system.toml", include_str!("../../../remedies/file-system.toml")),
    ("remedies/memory.toml", include_str!("../../../remedies/memory.toml")),
    ("remedies/workload.toml", include_str!("../../../remedies/workload.toml")),
];

/// Remedies, each with an id of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Remedies(Vec<Remedy>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    remedy: Vec<Entry>,
}

impl Remedies {
    /// Those shipped with the program.
    pub fn shipped() -> Remedies {
        let mut shipped = Remedies(Vec::new());
        for (name, text) in SHIPPED {
            shipped.add(name, text).expect("a test reads the shipped files");
        }
        shipped
    }

    /// Adds a file's remedies. One with the id of an earlier one replaces it.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), RemedyError> {
        let syntax = |error: toml::de::Error| RemedyError::Syntax {
            name: name.to_owned(),
            why: error.to_string().trim_end().to_owned(),
        };
        let file: File = toml::from_str(text).map_err(syntax)?;
        let mut seen: Vec<String> = Vec::new();
        for entry in file.remedy {
            let id = entry.id.clone();
            let wrong = |why: String| RemedyError::Entry { name: name.to_owned(), id: id.clone(), why };
            if !is_id(&id) {
                return Err(wrong("an id consists of lower-case letters, digits and hyphens".into()));
            }
            if seen.contains(&id) {
                return Err(wrong("the id occurs twice in this file".into()));
            }
            seen.push(id.clone());
            let remedy = entry.check().map_err(wrong)?;
            match self.0.iter_mut().find(|known| known.id == id) {
                Some(known) => *known = remedy,
                None => self.0.push(remedy),
            }
        }
        Ok(())
    }

    /// All of them.
    pub fn all(&self) -> &[Remedy] {
        &self.0
    }

    /// The remedy with that id.
    pub fn get(&self, id: &str) -> Option<&Remedy> {
        self.0.iter().find(|remedy| remedy.id == id)
    }

    /// Those that a cause calls for.
    pub fn against(&self, cause: Cause) -> impl Iterator<Item = &Remedy> {
        self.0.iter().filter(move |remedy| remedy.causes.contains(&cause))
    }
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

#[cfg(test)]
mod tests {
    use model::cause::Cause;
    use proptest::prelude::*;

    use super::{Remedies, SHIPPED};
    use crate::remedy::RemedyAction;

    const ENTRY: &str = r#"
        [[remedy]]
        id = "own"
        title = "do it"
        causes = ["device"]
        changes = "setting"
        path = "/sys/block/{device}/queue/x"
        set = "1"
        live = true
        risk = "none"
        source = "our notes"
        claim = "it helps"
        effect = { edge = "device", factor = 2 }
    "#;

    #[test]
    fn the_shipped_files_hold_at_least_thirty_remedies_with_sources() {
        let mut remedies = Remedies(Vec::new());
        for (name, text) in SHIPPED {
            remedies.add(name, text).unwrap_or_else(|error| panic!("{error}"));
        }
        assert!(remedies.all().len() >= 30, "{}", remedies.all().len());
        for remedy in remedies.all() {
            assert!(!remedy.claim.is_empty() && !remedy.title.ends_with('.'), "{}", remedy.id);
            assert!(remedy.read, "{}: its source was not read", remedy.id);
            assert!(remedy.title.len() <= 72, "{}: too long for a line", remedy.id);
            let acts = remedy.causes.iter().any(|cause| remedy.effect.edge.changes(*cause));
            assert!(acts, "{}: its effect changes none of its causes", remedy.id);
            // A live setting can be reverted from what was read; a live command says how.
            assert!(
                remedy.live || !matches!(remedy.change, RemedyAction::Setting(_)),
                "{}: a setting is live",
                remedy.id
            );
        }
    }

    /// The kernel does not say which task an asynchronous request waits for.
    #[test]
    fn every_other_wait_has_a_remedy() {
        let remedies = Remedies::shipped();
        let none: Vec<&str> = Cause::ALL
            .into_iter()
            .filter(|cause| cause.is_wait() && remedies.against(*cause).next().is_none())
            .map(Cause::name)
            .collect();
        assert_eq!(none, ["io_worker"]);
    }

    #[test]
    fn an_own_file_adds_and_replaces() {
        let mut remedies = Remedies::shipped();
        let count = remedies.all().len();
        remedies.add("mine.toml", ENTRY).unwrap();
        assert_eq!(remedies.all().len(), count + 1);
        remedies.add("mine.toml", &ENTRY.replace("do it", "do it well")).unwrap();
        assert_eq!((remedies.all().len(), remedies.get("own").unwrap().title.as_str()), (count + 1, "do it well"));
    }

    #[test]
    fn mistakes_are_named() {
        for (from, to, expected) in [
            ("\"device\"]", "\"diskette\"]", "mine.toml: remedy 'own': unknown cause 'diskette'"),
            ("[\"device\"]", "[]", "mine.toml: remedy 'own': 'causes' is empty; name at least one"),
            (
                "{device}",
                "{disk}",
                "mine.toml: remedy 'own': unknown placeholder {disk}; known: device, number, cgroup, mount, pid, unit",
            ),
            ("set = \"1\"", "", "mine.toml: remedy 'own': exactly one of 'set' and 'multiply' is required"),
            ("set = \"1\"", "multiply = -2", "mine.toml: remedy 'own': 'multiply' must be a positive number, not -2"),
            ("factor = 2", "factor = 0.5", "mine.toml: remedy 'own': 'factor' must exceed 1, not 0.5"),
            (
                "\"own\"",
                "\"My own\"",
                "mine.toml: remedy 'My own': an id consists of lower-case letters, digits and hyphens",
            ),
            ("/sys/block", "sys/block", "mine.toml: remedy 'own': 'path' is not absolute: sys/block/{device}/queue/x"),
            (
                "\"setting\"",
                "\"manual\"",
                "mine.toml: remedy 'own': 'apply' and 'revert' are required unless changes = \"setting\"",
            ),
        ] {
            let text = ENTRY.replace(from, to);
            assert_eq!(Remedies(Vec::new()).add("mine.toml", &text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn an_unknown_kind_of_wait_is_refused_with_those_that_are_known() {
        let text = ENTRY.replace("live = true", "of = [\"file lock\"]\nlive = true");
        let error = Remedies(Vec::new()).add("mine.toml", &text).unwrap_err().to_string();
        assert!(
            error.starts_with("mine.toml: remedy 'own': unknown kind of wait 'file lock' in 'of'; known: "),
            "{error}"
        );
        assert!(error.contains(", flock, posix_lock, file_lease, "), "{error}");
        Remedies(Vec::new()).add("mine.toml", &text.replace("file lock", "flock")).unwrap();
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,300}") {
            let _ = Remedies(Vec::new()).add("mine.toml", &text);
            let _ = Remedies(Vec::new()).add("mine.toml", &ENTRY.replace("1", &text));
        }
    }
}

//! `set.json`: the set of a run on several nodes.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use model::set::{SET_VERSION, SetDescription};

use crate::disk;
use crate::error::ArchiveError;

/// The description of a set. A directory with it is a set.
const SET_FILE: &str = "set.json";
/// Most that is read of it: 4,096 nodes with their ranks need less.
const MOST_BYTES: u64 = 4 << 20;

/// Whether a directory is a set.
pub fn is_set(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(SET_FILE)).is_ok_and(|metadata| metadata.is_file())
}

/// Reads the description of a set. Anybody may have written it: its size is bounded, and names of nodes are plain.
pub fn read_set(directory: &Path) -> Result<SetDescription, ArchiveError> {
    let path = directory.join(SET_FILE);
    let read = || {
        let mut text = Vec::new();
        File::open(&path)?.take(MOST_BYTES + 1).read_to_end(&mut text)?;
        io::Result::Ok(text)
    };
    let text = read().map_err(ArchiveError::io(&path, "read the set"))?;
    let wrong = |why: String| ArchiveError::Set { path: path.clone(), why };
    if text.len() as u64 > MOST_BYTES {
        return Err(wrong(format!("it is larger than {MOST_BYTES} bytes")));
    }
    // A newer version may lack what this one requires.
    let version = serde_json::from_slice::<Version>(&text).map_err(|error| wrong(error.to_string()))?.version;
    if version > SET_VERSION {
        return Err(ArchiveError::Newer { path, found: version, supported: SET_VERSION });
    }
    let set: SetDescription = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    match set.mistake() {
        Some(why) => Err(wrong(why)),
        None => Ok(set),
    }
}

#[derive(serde::Deserialize)]
struct Version {
    version: u32,
}

/// Writes the description of a set, which replaces an earlier one: after a crash one of the two is there.
pub fn write_set(directory: &Path, set: &SetDescription) -> Result<(), ArchiveError> {
    let path = directory.join(SET_FILE);
    let write = || {
        let mut text = serde_json::to_vec_pretty(set)?;
        text.push(b'\n');
        let unfinished = directory.join("set.json.new");
        let mut file = access::create(&unfinished)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)?;
        disk::sync_directory(directory)
    };
    write().map_err(ArchiveError::io(&path, "write the set"))
}

#[cfg(test)]
mod tests {
    use model::set::{ClockOffset, SetDescription, SetNode};

    use super::{MOST_BYTES, is_set, read_set, write_set};

    fn set() -> SetDescription {
        let node = |name: &str, rank| SetNode {
            name: name.into(),
            host: name.into(),
            ranks: vec![rank],
            clock_at_begin: Some(ClockOffset { offset_ns: -5, error_ns: 2 }),
            clock_at_end: None,
            lost: None,
        };
        let nodes = vec![node("a", 0), node("b", 1)];
        SetDescription { version: 1, workload: "ior".into(), started_wall_ns: 7, is_final: false, ranks: 2, nodes }
    }

    #[test]
    fn the_later_description_replaces_the_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_set(folder.path()));
        write_set(folder.path(), &set()).unwrap();
        let last = SetDescription { is_final: true, ..set() };
        write_set(folder.path(), &last).unwrap();
        assert_eq!(read_set(folder.path()).unwrap(), last);
        assert!(is_set(folder.path()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    }

    #[test]
    fn hostile_descriptions_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.json");
        let good = serde_json::to_string(&set()).unwrap();
        for (text, says) in [
            (good.replace("\"a\"", "\"../../etc\""), "plain name"),
            (good.replace("\"b\"", "\"a\""), "two nodes are called a"),
            (good.replace("\"ranks\":[1]", "\"ranks\":[0]"), "each of its 2 ranks once"),
            (good.replace("\"version\":1", "\"version\":9"), "newer"),
            (r#"{"version": 9, "something": "else"}"#.to_owned(), "newer"),
            (good.replace("\"ranks\":2", "\"ranks\":-2"), "set"),
            (String::new(), "EOF"),
            ("[".repeat(1 << 20), "not the description of a set"),
            (good + &" ".repeat(MOST_BYTES as usize), "larger than"),
        ] {
            std::fs::write(&path, &text).unwrap();
            let error = read_set(folder.path()).unwrap_err().to_string();
            assert!(error.contains(says), "{error}: {}", &text[..text.len().min(300)]);
        }
    }

    /// A symbolic link or a device named set.json makes no set: a reader would follow it out of the directory, or wait.
    #[test]
    fn only_a_plain_file_makes_a_set() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path().join("set.json")).unwrap();
        assert!(!is_set(folder.path()));
    }
}

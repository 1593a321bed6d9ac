//! The flags of mdtest.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::commands::run::request::RunRequest;
use crate::ui::failure::Failure;

pub(super) fn take(request: &mut RunRequest) -> Result<(), Failure> {
    request.args.directories = request.args.directories.iter().flat_map(|given| several(given)).collect();
    let is_set = |name: &str| request.given(name).is_some_and(|value| value != "false");
    // Ranks that share a tree are all in one directory.
    if request.args.directories.len() > 1 && !is_set("unique_directory") {
        return Err(Failure::usage("several directories need a tree for each rank: add -u"));
    }
    Ok(())
}

/// mdtest's `-d a@b` names several directories. One that exists under the whole name is meant.
fn several(given: &Path) -> Vec<PathBuf> {
    if given.exists() {
        return vec![given.to_owned()];
    }
    let parts = given.as_os_str().as_bytes().split(|byte| *byte == b'@');
    parts.map(|part| PathBuf::from(std::ffi::OsString::from_vec(part.to_vec()))).collect()
}

#[cfg(test)]
mod tests {
    use super::several;

    #[test]
    fn directories_are_separated_as_in_mdtest() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("a@b");
        assert_eq!(several(&odd), [folder.path().join("a"), "b".into()]);
        std::fs::create_dir(&odd).unwrap();
        assert_eq!(several(&odd), [odd]);
    }
}

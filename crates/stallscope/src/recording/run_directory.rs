//! The location of a run directory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::ui::failure::Failure;

const RUNS: &str = "stallscope-runs";

/// A run directory, and a remark if it is not in the usual location.
#[derive(Debug)]
pub struct ChosenDirectory {
    /// The directory; it does not exist yet.
    pub directory: PathBuf,
    /// Why this location.
    pub remark: Option<String>,
}

/// Chooses a run directory. A directory named by the user is used as is. The default is `./stallscope-runs/<UTC
/// time>-<name>`; if that is on a file system under test, the same below another directory: the archive would add to the
/// load, and would stall with it.
pub fn choose(out: Option<&Path>, name: &str, under_test: &[PathBuf]) -> Result<ChosenDirectory, Failure> {
    if let Some(directory) = out {
        return Ok(ChosenDirectory { directory: directory.to_owned(), remark: None });
    }
    let tested: Vec<u64> = under_test.iter().filter_map(|path| file_system_of(path)).collect();
    let here = PathBuf::from(".");
    let elsewhere = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from("/dev/shm")];
    let suits = |parent: &&PathBuf| {
        file_system_of(parent).is_some_and(|number| !tested.contains(&number)) && is_writable(parent)
    };
    let Some(parent) = std::iter::once(&here).chain(&elsewhere).find(suits) else {
        return Err(Failure::machine(
            "no directory outside the file systems under test can hold the run; choose one with --out DIR",
        ));
    };
    let directory = unused(&parent.join(RUNS), name);
    let remark = (parent != &here).then(|| {
        let lost = if parent.starts_with("/dev/shm") { ", which is memory: copy it before a reboot" } else { "" };
        format!(
            "the run goes to {}{lost}, because the current directory is under test or read-only",
            directory.display()
        )
    });
    Ok(ChosenDirectory { directory, remark })
}

/// Device number of the file system of a path, or of its nearest ancestor that exists.
fn file_system_of(path: &Path) -> Option<u64> {
    let absolute = std::path::absolute(path).ok()?;
    absolute.ancestors().find_map(|ancestor| std::fs::metadata(ancestor).ok()).map(|metadata| metadata.dev())
}

fn is_writable(directory: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

/// An unused directory for a run of that name, by the current time.
pub fn unused(parent: &Path, name: &str) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M").to_string();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    let candidate = |n: u32| parent.join(if n == 1 { format!("{time}-{name}") } else { format!("{time}-{name}-{n}") });
    (1..).map(candidate).find(|path| !path.exists()).expect("some number is unused")
}

/// Creates the parent of a run directory.
pub fn create_parent(directory: &Path) -> Result<(), Failure> {
    let Some(parent) = directory.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(parent)
        .map_err(|error| Failure::machine(format_args!("{}: cannot create: {error}", parent.display())))
}

#[cfg(test)]
mod tests {
    use super::choose;
    use std::path::{Path, PathBuf};

    #[test]
    fn a_directory_named_by_the_user_is_used_even_under_test() {
        let chosen = choose(Some(Path::new("/tmp/x")), "simoop", &[PathBuf::from("/tmp")]).unwrap();
        assert_eq!(chosen.directory, PathBuf::from("/tmp/x"));
    }

    #[test]
    fn the_default_avoids_the_file_system_under_test() {
        let chosen = choose(None, "my load", &[PathBuf::from(".")]).unwrap();
        assert!(!chosen.directory.starts_with("."), "{:?}", chosen.directory);
        assert!(chosen.remark.is_some());
        assert!(chosen.directory.to_string_lossy().ends_with("-my-load"));
    }
}

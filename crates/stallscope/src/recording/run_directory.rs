//! Where a run's directory goes.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::ui::failure::Failure;

const RUNS: &str = "stallscope-runs";

/// The run directory's path, and a remark where it is not where one would look first.
#[derive(Debug)]
pub struct Place {
    /// The directory, which does not exist yet.
    pub directory: PathBuf,
    /// Why it is there.
    pub remark: Option<String>,
}

/// Chooses a run directory. One that the user names is taken as it is. Otherwise it is `./stallscope-runs/<UTC
/// time>-<name>`, or, where that lies on a file system under test, the same in a directory that does not: writing the
/// archive there would be load of ours, and would stall with the rest.
pub fn choose(out: Option<&Path>, name: &str, under_test: &[PathBuf]) -> Result<Place, Failure> {
    if let Some(directory) = out {
        return Ok(Place { directory: directory.to_owned(), remark: None });
    }
    let tested: Vec<u64> = under_test.iter().filter_map(|path| file_system_of(path)).collect();
    let here = PathBuf::from(".");
    let elsewhere = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from("/dev/shm")];
    let suits = |parent: &&PathBuf| {
        file_system_of(parent).is_some_and(|number| !tested.contains(&number)) && is_writable(parent)
    };
    let Some(parent) = std::iter::once(&here).chain(&elsewhere).find(suits) else {
        return Err(Failure::machine(
            "no directory outside the file systems under test can hold the run; name one with --out DIR",
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
    Ok(Place { directory, remark })
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

/// A directory for a run of that name, by the time of now.
pub fn unused(parent: &Path, name: &str) -> PathBuf {
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H%M").to_string();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect();
    let candidate = |n: u32| parent.join(if n == 1 { format!("{time}-{name}") } else { format!("{time}-{name}-{n}") });
    (1..).map(candidate).find(|path| !path.exists()).expect("some number is unused")
}

#[cfg(test)]
mod tests {
    use super::choose;
    use std::path::{Path, PathBuf};

    #[test]
    fn a_directory_that_the_user_names_is_taken_even_under_test() {
        let place = choose(Some(Path::new("/tmp/x")), "simoop", &[PathBuf::from("/tmp")]).unwrap();
        assert_eq!(place.directory, PathBuf::from("/tmp/x"));
    }

    #[test]
    fn the_default_avoids_the_file_system_under_test() {
        let place = choose(None, "my load", &[PathBuf::from(".")]).unwrap();
        assert!(!place.directory.starts_with("."), "{:?}", place.directory);
        assert!(place.remark.is_some());
        assert!(place.directory.to_string_lossy().ends_with("-my-load"));
    }
}

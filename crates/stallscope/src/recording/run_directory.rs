//! The location of a run directory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use access::Sharing;
use archive::{ArchiveError, Writer, WriterOptions};
use model::run::RunDescription;

use crate::recording::output_file::refuse_stored;
use crate::recording::own_path::{belongs_to_another, refuse_replaceable};
use crate::recording::sharing::make_directory;
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
/// time>-<name>`; if that is on a file system under test, the same below another directory: the archive would add to
/// the load, and would stall with it.
pub fn choose(out: Option<&Path>, name: &str, under_test: &[PathBuf]) -> Result<ChosenDirectory, Failure> {
    if let Some(directory) = out {
        refuse_replaceable(directory)?;
        refuse_stored(directory)?;
        return Ok(ChosenDirectory { directory: directory.to_owned(), remark: None });
    }
    let tested: Vec<u64> = under_test.iter().filter_map(|path| file_system_of(path)).collect();
    let here = PathBuf::from(".");
    let elsewhere = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from("/dev/shm")];
    let suits = |parent: &&PathBuf| {
        file_system_of(parent).is_some_and(|number| !tested.contains(&number)) && is_writable(parent)
    };
    let candidates = std::iter::once(&here).chain(&elsewhere).filter(suits);
    let Some((parent, runs)) = candidates.filter_map(|parent| Some((parent, runs_in(parent)?))).next() else {
        return Err(Failure::machine(
            "no directory outside the file systems under test can hold the run; choose one with --out DIR",
        ));
    };
    refuse_replaceable(&runs)?;
    let directory = unused(&runs, name);
    let belongs_to_another = || {
        let usual = parent.join(RUNS);
        let (usual, directory) = (usual.display(), directory.display());
        (runs != parent.join(RUNS))
            .then(|| format!("the run goes to {directory}, because {usual} belongs to another user"))
    };
    let is_elsewhere = (parent != &here).then(|| {
        let lost = if parent.starts_with("/dev/shm") { ", which is memory: copy it before a reboot" } else { "" };
        format!(
            "the run goes to {}{lost}, because the current directory is under test or read-only",
            directory.display()
        )
    });
    let remark = belongs_to_another().or(is_elsewhere);
    Ok(ChosenDirectory { directory, remark })
}

/// The default directory of the flight recorder.
pub fn of_flight() -> Result<PathBuf, Failure> {
    let runs = runs_in(Path::new("")).ok_or_else(|| {
        Failure::machine(format_args!("./{RUNS} belongs to another user; choose a directory with --out DIR"))
    })?;
    Ok(runs.join("flight"))
}

/// The directory of runs below a parent: the usual one, or one of this user's own if that is another user's.
fn runs_in(parent: &Path) -> Option<PathBuf> {
    let own = format!("{RUNS}-{}", rustix::process::geteuid().as_raw());
    let is_usable = |path: &PathBuf| !belongs_to_another(path) && (is_writable(path) || !path.exists());
    [parent.join(RUNS), parent.join(own)].into_iter().find(is_usable)
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

/// A run directory that cannot be created: its path is wrong, unless the system failed.
pub fn not_created(error: ArchiveError) -> Failure {
    match &error {
        ArchiveError::Io { source, .. } => Failure::path(source, &error),
        ArchiveError::NotEmpty { .. } => Failure::usage(error),
        _ => Failure::machine(error),
    }
}

/// Creates a run in a directory with that access. An error leaves nothing behind.
pub fn create(
    directory: &Path,
    sharing: Sharing,
    description: &RunDescription,
    options: WriterOptions,
) -> Result<Writer, Failure> {
    let is_new = make_directory(directory, sharing)?;
    let created = Writer::create(directory, description, options).map_err(not_created);
    created.inspect_err(|_| {
        if is_new {
            remove(directory)
        }
    })
}

/// Removes a run directory, and the default parent if nothing else is in it.
pub fn remove(directory: &Path) {
    let _ = std::fs::remove_dir_all(directory);
    if let Some(parent) = directory.parent().filter(|parent| parent.ends_with(RUNS)) {
        let _ = std::fs::remove_dir(parent);
    }
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

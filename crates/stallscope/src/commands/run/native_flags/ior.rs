//! The flags of IOR.

use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::commands::run::request::{DIRECTORY_FLAG, RunRequest};
use crate::ui::failure::Failure;

const KEEP: &str = "ior keep";
const HEADING: &str = "IOR flags";

pub(super) fn extend(command: Command) -> Command {
    let keep = Arg::new(KEEP).short('k').help("Same as --keep").action(ArgAction::SetTrue).help_heading(HEADING);
    // `-n` sets the number of ranks, as `mpirun -n` does.
    command.arg(keep).mut_arg("variable ranks", |ranks| ranks.short_alias('n'))
}

pub(super) fn take(matches: &ArgMatches, request: &mut RunRequest) -> Result<(), Failure> {
    request.args.keep |= matches.get_flag(KEEP);
    // Directories from the flag are last. A positional argument is a directory; if it is missing, that is an error.
    let by_flag = matches.get_many::<PathBuf>(DIRECTORY_FLAG).map_or(0, |given| given.len());
    for directory in request.args.directories.iter_mut().rev().take(by_flag) {
        if let Some(parent) = parent_of_a_file(directory) {
            *directory = parent;
        }
    }
    Ok(())
}

/// IOR's `-o` names the file under test; here its data goes to a separate directory next to it.
fn parent_of_a_file(path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    (!path.is_dir() && parent.is_dir()).then(|| parent.to_owned())
}

#[cfg(test)]
mod tests {
    use super::parent_of_a_file;

    #[test]
    fn the_name_of_a_file_stands_for_its_directory() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(parent_of_a_file(&folder.path().join("testFile")), Some(folder.path().to_owned()));
        assert_eq!(parent_of_a_file(folder.path()), None);
        assert_eq!(parent_of_a_file(&folder.path().join("no/testFile")), None);
        assert_eq!(parent_of_a_file("missing-testFile".as_ref()), Some(".".into()));
    }
}

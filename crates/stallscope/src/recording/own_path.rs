//! Paths that nobody else can replace while we write there.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::ui::failure::Failure;

const REMEDY: &str = "choose a path below directories of root's own, or run as that user";
const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o002;

/// Whether a path belongs to another ordinary user, who could replace what we write below it, and make root write elsewhere by a
/// link. A path that does not exist belongs to nobody.
pub fn belongs_to_another(path: &Path) -> bool {
    let is_foreign = |metadata: Metadata| {
        let owner = metadata.uid();
        owner != 0 && owner != rustix::process::geteuid().as_raw()
    };
    path.symlink_metadata().is_ok_and(is_foreign) || path.metadata().is_ok_and(is_foreign)
}

/// Refuses, for root, to write to a path that another user could replace by a link to somewhere else: it lies below a directory
/// of that user, or of one that everybody can write to without the sticky bit. The user who called `sudo` is root already.
pub fn refuse_replaceable(path: &Path) -> Result<(), Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let caller = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
    match replaceable_by(path, caller) {
        Some(why) => Err(Failure::usage(format_args!("{}: {why}; {REMEDY}", path.display()))),
        None => Ok(()),
    }
}

/// Who could replace the path. Links on the way belong to it as well as what they lead to.
fn replaceable_by(path: &Path, caller: Option<u32>) -> Option<String> {
    let absolute = std::path::absolute(path).ok()?;
    let existing = absolute.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok())?;
    let resolved = fs::canonicalize(existing).ok();
    let on_the_way = existing.ancestors().chain(resolved.iter().flat_map(|path| path.ancestors()));
    on_the_way.filter_map(|part| part_replaceable_by(part, caller)).next()
}

fn part_replaceable_by(part: &Path, caller: Option<u32>) -> Option<String> {
    let metadata = part.symlink_metadata().ok()?;
    let kind = metadata.file_type();
    // A terminal or a pipe is written to, never replaced.
    if !(kind.is_dir() || kind.is_file() || kind.is_symlink()) {
        return None;
    }
    let (owner, part) = (metadata.uid(), part.display());
    if owner != 0 && Some(owner) != caller {
        return Some(format!("{part} belongs to user {owner}, who could replace what root writes there"));
    }
    let mode = metadata.mode();
    (kind.is_dir() && mode & OTHERS_WRITE != 0 && mode & STICKY == 0)
        .then(|| format!("every user can write to {part}, and could replace what root writes there"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::replaceable_by;

    #[test]
    fn a_path_below_another_users_directory_is_replaceable_by_that_user() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: root alone can make directories of another user");
        }
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["own", "foreign", "foreign/inside", "open"] {
            fs::create_dir(path(name)).unwrap();
        }
        chown(path("foreign"), Some(4242), None).unwrap();
        fs::set_permissions(path("open"), Permissions::from_mode(0o777)).unwrap();
        symlink(path("foreign"), path("link")).unwrap();
        for (name, refused) in [
            ("own", false),
            ("own/new/run", false),
            ("foreign", true),
            ("foreign/new/run", true),
            ("foreign/inside/run", true),
            ("link/run", true),
            ("open/run", true),
        ] {
            assert_eq!(replaceable_by(&path(name), None).is_some(), refused, "{name}");
        }
        assert_eq!(replaceable_by(&path("foreign/run"), Some(4242)), None, "the user who called sudo");
        assert_eq!(replaceable_by("/dev/null".as_ref(), None), None);
    }
}

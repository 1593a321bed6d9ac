//! Paths that nobody else can replace while we write there.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use access::owner::{caller, is_trusted};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::ui::failure::Failure;

const REMEDY: &str = "choose a path below directories of root's own, or run as that user";
const STICKY: u32 = 0o1000;
const OTHERS_WRITE: u32 = 0o002;

/// Whether a path belongs to another ordinary user, who could replace what we write below it, and make root write
/// elsewhere by a link. A path that does not exist belongs to nobody.
pub fn belongs_to_another(path: &Path) -> bool {
    let is_foreign = |metadata: Metadata| !is_trusted(metadata.uid());
    path.symlink_metadata().is_ok_and(is_foreign) || path.metadata().is_ok_and(is_foreign)
}

/// Refuses, for root, to write to a path that another user could replace by a link to somewhere else: it lies below a
/// directory of that user, or of one that everybody can write to without the sticky bit. The user who called `sudo` is
/// root already.
pub fn refuse_replaceable(path: &Path) -> Result<(), Failure> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    match replaceable_by(path, caller()) {
        Some(why) => Err(Failure::usage(format_args!("{}: {why}; {REMEDY}", path.display()))),
        None => Ok(()),
    }
}

/// Makes a directory for files that anybody may read, with those on the way, and checks it again: another user may have
/// made one since. Returns whether it is new.
pub fn make_public_directory(path: &Path) -> Result<bool, Failure> {
    refuse_replaceable(path)?;
    let is_new = !path.exists();
    fs::create_dir_all(path)
        .map_err(|error| Failure::path(&error, format_args!("{}: cannot create: {error}", path.display())))?;
    refuse_replaceable(path).map(|()| is_new)
}

/// Opens a file to append to, for a path that is not refused. Time has passed since it was chosen: in a directory like
/// /tmp another user may have put a link or a file there, which root does not write to.
pub fn append(path: &Path) -> Result<File, Failure> {
    refuse_replaceable(path)?;
    open(path, OFlags::APPEND | OFlags::CREATE)
        .map_err(|error| Failure::usage(format_args!("cannot open the log {}: {error}", path.display())))
}

/// Does not follow a link of another user, and truncates nothing.
pub fn open(path: &Path, how: OFlags) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC | how;
    let mode = if how.contains(OFlags::CREATE) { Mode::from_raw_mode(0o600) } else { Mode::empty() };
    let is_own = |metadata: &Metadata| !rustix::process::geteuid().is_root() || is_trusted(metadata.uid());
    let opened = match rustix::fs::open(path, flags | OFlags::NOFOLLOW, mode) {
        // In a directory with the sticky bit, nobody else replaces a link of our own meanwhile.
        Err(Errno::LOOP) if path.symlink_metadata().is_ok_and(|link| is_own(&link)) => {
            rustix::fs::open(path, flags, mode)
        }
        opened => opened,
    };
    let file = File::from(opened?);
    let metadata = file.metadata()?;
    // A second name may be that of a file elsewhere.
    if metadata.is_file() && (!is_own(&metadata) || metadata.nlink() > 1 && is_shared(path)) {
        return Err(io::Error::other("another user has put a file there meanwhile"));
    }
    Ok(file)
}

/// Whether every user can make names where the path is.
fn is_shared(path: &Path) -> bool {
    let parent = std::path::absolute(path).ok().and_then(|path| Some(path.parent()?.to_owned()));
    parent.is_none_or(|parent| parent.metadata().is_ok_and(|parent| parent.mode() & OTHERS_WRITE != 0))
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
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    use rustix::fs::OFlags;

    use super::{open, replaceable_by};

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

    /// A user who sees that root is about to write a file in /tmp puts one there first.
    #[test]
    fn what_another_user_puts_there_meanwhile_is_not_written_to() {
        if !rustix::process::geteuid().is_root() {
            return println!("skipped: root alone can make files of another user");
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("own")).unwrap();
        for name in ["own/target", "file", "own/shadow"] {
            fs::write(path(name), "kept").unwrap();
        }
        for name in ["theirs", "ours"] {
            symlink(path("own/target"), path(name)).unwrap();
        }
        lchown(path("theirs"), Some(4242), None).unwrap();
        chown(path("file"), Some(4242), None).unwrap();
        fs::hard_link(path("own/shadow"), path("second name")).unwrap();
        for name in ["theirs", "file", "second name"] {
            assert!(open(&path(name), OFlags::empty()).is_err(), "{name}");
        }
        for name in ["new", "ours", "own/shadow", "own/target"] {
            assert!(open(&path(name), OFlags::APPEND | OFlags::CREATE).is_ok(), "{name}");
        }
        assert!(open("/dev/null".as_ref(), OFlags::empty()).is_ok());
        assert_eq!(fs::read_to_string(path("own/target")).unwrap(), "kept");
    }
}

//! Files that a command writes for its user: complete under their name or not there, and never in place of what is
//! recorded.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use lake::Lake;
use rustix::fs::OFlags;

use crate::recording::flight::marker::is_flight_directory;
use crate::recording::own_path::{open, refuse_replaceable};
use crate::ui::failure::Failure;

/// Read and write permission of the owner: what is written derives from runs.
const PRIVATE: u32 = 0o600;
/// The same of everybody, as far as the umask lets them.
const PUBLIC: u32 = 0o666;

/// Refuses a path that a command must not write to: one that another user could replace, a file of a run, a lake or a
/// flight recorder, or one that the command reads.
pub fn refuse(path: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    refuse_replaceable(path)?;
    refuse_stored(path)?;
    let identity = |path: &Path| path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let output = identity(path);
    match inputs.iter().find(|input| output.is_some() && identity(input) == output) {
        Some(input) => {
            let (path, input) = (path.display(), input.display());
            Err(Failure::usage(format_args!("{path}: is {input}, which is read; choose another name")))
        }
        None => Ok(()),
    }
}

/// Refuses a path inside a run, a lake or the directory of a flight recorder, and a file of a set or a sweep.
pub fn refuse_stored(path: &Path) -> Result<(), Failure> {
    let resolved = resolved(path);
    let refused = |what: &str, directory: &Path| {
        let (path, directory) = (path.display(), directory.display());
        Err(Failure::usage(format_args!("{path}: is in {what} {directory}; choose a path outside of it")))
    };
    for directory in resolved.ancestors().skip(1) {
        match () {
            () if archive::is_run(directory) => return refused("the run", directory),
            () if Lake::is_lake(directory) => return refused("the lake", directory),
            () if is_flight_directory(directory) => return refused("the directory of a flight recorder,", directory),
            () => {}
        }
    }
    match resolved.parent().filter(|_| resolved.is_file()) {
        Some(parent) if archive::is_set(parent) => refused("the run on several nodes", parent),
        Some(parent) if sweep::is_sweep(parent) => refused("the sweep", parent),
        _ => Ok(()),
    }
}

/// Without links, as far as the path exists.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
    match existing {
        Some((part, real)) => match absolute.strip_prefix(part) {
            // Joining nothing adds a slash, with which no file is found.
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        },
        None => absolute,
    }
}

/// Writes a whole file for a path that was not refused. It is written beside its name and renamed, so that an error
/// leaves what was there; one that exists keeps its owner and permissions, another is its owner's alone.
pub fn write(path: &Path, bytes: &[u8], inputs: &[PathBuf]) -> Result<(), Failure> {
    refuse(path, inputs)?;
    write_as(path, bytes, PRIVATE)
}

/// The same for a file that derives from no run, such as a man page.
pub fn write_public(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    refuse(path, &[])?;
    write_as(path, bytes, PUBLIC)
}

fn write_as(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::path(&error, format_args!("{}: cannot write: {error}", path.display()));
    // Also checks whose file it is.
    let existing = match open(path, OFlags::empty()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        opened => Some(opened.map_err(failed)?),
    };
    if let Some(mut special) = existing.as_ref().filter(|file| file.metadata().is_ok_and(|kind| !kind.is_file())) {
        return special.write_all(bytes).map_err(failed);
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name =
        target.file_name().ok_or_else(|| Failure::usage(format_args!("{}: is not a file name", path.display())))?;
    let unfinished = target.with_file_name(format!(".{}.stallscope-{}", name.display(), std::process::id()));
    match (write_new(&unfinished, bytes, mode, existing.as_ref()), existing) {
        // Its directory is not ours to write to: then only the file itself is.
        (Err(error), Some(file)) if error.kind() == io::ErrorKind::PermissionDenied => {
            file.set_len(0).and_then(|()| (&file).write_all(bytes)).map_err(failed)
        }
        (written, _) => written.and_then(|()| fs::rename(&unfinished, &target)).map_err(|error| {
            let _ = fs::remove_file(&unfinished);
            failed(error)
        }),
    }
}

fn write_new(path: &Path, bytes: &[u8], mode: u32, like: Option<&File>) -> io::Result<()> {
    let mut options = File::options();
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let mut file = options.write(true).create_new(true).open(path)?;
    let mut write = || {
        if let Some(like) = like.map(File::metadata).transpose()? {
            // Root writes a file of the user who called sudo.
            let _ = fchown(&file, Some(like.uid()), Some(like.gid()));
            file.set_permissions(Permissions::from_mode(like.mode() & 0o777))?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().inspect_err(|_| drop(fs::remove_file(path)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::{refuse, write};

    #[test]
    fn a_file_is_complete_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        write(&path, b"one", &[]).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        symlink(&path, folder.path().join("link")).unwrap();
        write(&folder.path().join("link"), b"two", &[]).unwrap();
        assert_eq!((fs::read(&path).unwrap(), path.metadata().unwrap().mode() & 0o777), (b"two".to_vec(), 0o644));
        assert!(folder.path().join("link").is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
        write("/dev/null".as_ref(), b"three", &[]).unwrap();
        assert!(write(&folder.path().join("none/x"), b"", &[]).is_err());
    }

    #[test]
    fn what_is_read_or_stored_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for directory in ["run", "lake/table=runs", "flight/ring", "sweep/runs", "set"] {
            fs::create_dir_all(path(directory)).unwrap();
        }
        let markers =
            ["run/run.json", "lake/stallscope-lake.json", "flight/flight-recorder", "sweep/sweep.json", "set/set.json"];
        for marker in markers {
            fs::write(path(marker), "kept").unwrap();
        }
        symlink(path("run/run.json"), path("link")).unwrap();
        symlink(path("run"), path("way")).unwrap();
        let inside = ["run/new", "lake/table=runs/x", "flight/page.html", "link", "way/page.html"];
        for name in markers.iter().chain(&inside) {
            let refused = refuse(&path(name), &[]).unwrap_err().to_string();
            assert!(refused.contains("choose a path outside of it"), "{name}: {refused}");
            assert!(write(&path(name), b"x", &[]).is_err(), "{name}");
        }
        for name in ["sweep/page.html", "set/page.html", "page.html"] {
            write(&path(name), b"x", &[]).unwrap();
        }
        fs::hard_link(path("page.html"), path("same")).unwrap();
        assert!(refuse(&path("same"), &[path("page.html")]).unwrap_err().to_string().contains("which is read"));
        assert!(markers.iter().all(|marker| fs::read(path(marker)).unwrap() == b"kept"));
    }
}

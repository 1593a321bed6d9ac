//! The path that a blocked call names, which is in the memory of its process.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use model::system_call::{FileArgument, SystemCall};

use super::super::threads::state_of;
use crate::bytes::{path_in_memory, read_text};

/// `AT_FDCWD`, the folder of a name that is relative to the current one.
const CURRENT_FOLDER: i32 = -100;
/// A task that waits for write access to a mount holds no lock of its process's memory.
const WITHOUT_MEMORY_LOCK: &str = "mnt_want_write";

/// The path, from the call's arguments; `None` where it names none, or the read could wait for the lock of the memory.
pub(super) fn read(thread: &Path, call: &SystemCall, arguments: &[u64], frames: &[String]) -> Option<PathBuf> {
    let is_safe = frames.iter().any(|frame| frame == WITHOUT_MEMORY_LOCK) && !others_are_blocked(thread);
    if is_safe { named(thread, call, arguments) } else { None }
}

/// The path that it names.
fn named(thread: &Path, call: &SystemCall, arguments: &[u64]) -> Option<PathBuf> {
    let (folder, name) = match call.file {
        FileArgument::First => (None, arguments.first()?),
        FileArgument::At | FileArgument::Result if arguments.len() > 1 => (arguments.first().copied(), &arguments[1]),
        _ => return None,
    };
    let folder = folder.map(|fd| (fd & u64::from(u32::MAX)) as u32 as i32).filter(|fd| *fd != CURRENT_FOLDER);
    let link = folder.map_or_else(|| thread.join("cwd"), |fd| thread.join(format!("fd/{fd}")));
    // `futimens` names no file: it means the descriptor.
    if *name == 0 {
        return folder.and_then(|_| std::fs::read_link(link).ok());
    }
    let name = path_in_memory(&File::open(thread.join("mem")).ok()?, *name)?;
    let name = PathBuf::from(OsString::from_vec(name));
    match name.is_absolute() {
        true => Some(name),
        false => Some(std::fs::read_link(link).ok()?.join(name)),
    }
}

/// Whether another thread of the process is blocked: it may hold that lock, or wait for it.
fn others_are_blocked(thread: &Path) -> bool {
    let Some(threads) = thread.parent().and_then(|threads| std::fs::read_dir(threads).ok()) else { return true };
    let others = threads.flatten().map(|other| other.path()).filter(|other| other != thread);
    let is_blocked = |other: PathBuf| {
        let stat = read_text(other.join("stat")).unwrap_or_default();
        state_of(stat.as_bytes()).is_none_or(|state| state == b'D')
    };
    others.into_iter().any(is_blocked)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use model::system_call::{self, SystemCall};

    use super::{CURRENT_FOLDER, named, read};

    fn call(name: &str) -> &'static SystemCall {
        let mut numbers = (0..512).filter_map(system_call::numbered);
        numbers.find(|call| call.name == name).unwrap()
    }

    #[test]
    fn a_name_is_read_from_the_memory_of_the_process() {
        let thread = Path::new("/proc/thread-self").canonicalize().unwrap();
        let (absolute, relative) = (b"/mnt/file\0", b"file\0");
        let at = |name: &[u8]| name.as_ptr() as u64;
        let of = |name, arguments: &[u64]| named(&thread, call(name), arguments);
        let here = i64::from(CURRENT_FOLDER) as u64;
        assert_eq!(of("openat", &[here, at(absolute), 0]), Some(PathBuf::from("/mnt/file")));
        let current = std::env::current_dir().unwrap();
        assert_eq!(of("openat", &[here, at(relative), 0]), Some(current.join("file")));
        assert_eq!(of("chdir", &[at(absolute)]), Some(PathBuf::from("/mnt/file")));
        assert_eq!((of("openat", &[here, 8, 0]), of("openat", &[here]), of("fsync", &[3, 0])), (None, None, None));
        assert_eq!(of("utimensat", &[0, 0, 0]), std::fs::read_link("/proc/self/fd/0").ok());
        // In a page fault, it may hold the lock.
        let frames = ["percpu_rwsem_wait".to_owned(), "do_page_mkwrite".to_owned()];
        assert_eq!(read(&thread, call("openat"), &[here, at(absolute), 0], &frames), None);
    }
}

//! Resolving a path beneath a descriptor: by `openat2` (Linux 5.6), or component by component.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Set once the kernel, or a seccomp filter, has refused `openat2`.
static UNSUPPORTED: AtomicBool = AtomicBool::new(false);

/// Mode of what is made, before the umask.
const MODE: Mode = Mode::from_raw_mode(0o666);

/// Opens `path` beneath `directory`, without a link anywhere.
pub(crate) fn open(directory: BorrowedFd<'_>, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::NOFOLLOW;
    resolved(directory, path, flags, resolve).unwrap_or_else(|| by_component(directory, path, flags))
}

/// Opens `path` beneath `directory`. Links are followed as far as they stay beneath it: for files that this process
/// linked there. A kernel before 5.6 follows any.
pub fn open_within(directory: BorrowedFd<'_>, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let plainly = || rustix::fs::openat(directory, path, flags | OFlags::CLOEXEC, mode(flags));
    resolved(directory, path, flags, resolve).unwrap_or_else(plainly)
}

/// By `openat2`; `None` where that is unsupported.
fn resolved(
    directory: BorrowedFd<'_>,
    path: &CStr,
    flags: OFlags,
    resolve: ResolveFlags,
) -> Option<Result<OwnedFd, Errno>> {
    if UNSUPPORTED.load(Ordering::Relaxed) {
        return None;
    }
    match rustix::fs::openat2(directory, path, flags | OFlags::CLOEXEC, mode(flags), resolve) {
        Err(Errno::NOSYS) => {
            UNSUPPORTED.store(true, Ordering::Relaxed);
            None
        }
        // A filter of an older container runtime, or the file itself: then the walk fails with it as well.
        Err(Errno::PERM) => None,
        opened => Some(opened),
    }
}

/// `openat2` refuses a mode where nothing is made.
fn mode(flags: OFlags) -> Mode {
    if flags.contains(OFlags::CREATE) { MODE } else { Mode::empty() }
}

pub(crate) fn by_component(directory: BorrowedFd<'_>, path: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut components = path.to_bytes().split(|byte| *byte == b'/').filter(|part| !part.is_empty()).peekable();
    let mut parent: Option<OwnedFd> = None;
    while let Some(component) = components.next() {
        if component == b".." {
            return Err(Errno::XDEV);
        }
        let name = CString::new(component).map_err(|_| Errno::INVAL)?;
        let at = parent.as_ref().map_or(directory, AsFd::as_fd);
        if components.peek().is_none() {
            return rustix::fs::openat(at, &name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, mode(flags));
        }
        let on_the_way = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        parent = Some(rustix::fs::openat(at, &name, on_the_way, Mode::empty())?);
    }
    rustix::fs::openat(directory, c".", flags | OFlags::CLOEXEC, mode(flags))
}

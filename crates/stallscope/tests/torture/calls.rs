//! The system calls at which the program is killed or an error is injected, and what each works on.

use std::fs;
use std::os::unix::fs::FileExt;

use libc::{EAGAIN, EINTR, EIO, EMFILE, ENOMEM, ENOSPC, EPERM};

use crate::sys::Call;

/// The argument that names what a call works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// A descriptor in that argument.
    Descriptor(usize),
    /// A command in that argument.
    Command(usize),
    /// A path in that argument.
    Path(usize),
    /// Nothing with a name.
    None,
}

/// A system call.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub number: i64,
    pub name: &'static str,
    pub object: Object,
    /// Whether it changes something, so that a kill before or after it can leave something half done.
    pub changes: bool,
    /// Errors that the kernel documents for it.
    pub errors: &'static [i32],
}

const fn known(number: i64, name: &'static str, object: Object, changes: bool, errors: &'static [i32]) -> Known {
    Known { number, name, object, changes, errors }
}

use Object::{Descriptor, Path};

// tidy: table
pub const CALLS: &[Known] = &[
    known(libc::SYS_openat, "openat", Path(1), true, &[ENOMEM, EIO, EINTR, EMFILE, ENOSPC]),
    known(libc::SYS_openat2, "openat2", Path(1), true, &[ENOMEM, EIO, EINTR, EMFILE, ENOSPC]),
    known(libc::SYS_fchmod, "fchmod", Descriptor(0), true, &[EIO, EPERM]),
    known(libc::SYS_fchown, "fchown", Descriptor(0), true, &[EIO, EPERM]),
    known(libc::SYS_read, "read", Descriptor(0), false, &[EIO, EINTR, ENOMEM]),
    known(libc::SYS_pread64, "pread64", Descriptor(0), false, &[EIO, EINTR]),
    known(libc::SYS_write, "write", Descriptor(0), true, &[ENOSPC, EIO, EINTR, EAGAIN]),
    known(libc::SYS_writev, "writev", Descriptor(0), true, &[ENOSPC, EIO, EINTR]),
    known(libc::SYS_pwrite64, "pwrite64", Descriptor(0), true, &[ENOSPC, EIO, EINTR]),
    known(libc::SYS_pwritev, "pwritev", Descriptor(0), true, &[ENOSPC, EIO, EINTR]),
    known(libc::SYS_fsync, "fsync", Descriptor(0), true, &[EIO, ENOSPC, EINTR]),
    known(libc::SYS_fdatasync, "fdatasync", Descriptor(0), true, &[EIO, ENOSPC, EINTR]),
    known(libc::SYS_ftruncate, "ftruncate", Descriptor(0), true, &[EIO, EINTR, ENOSPC]),
    known(libc::SYS_fallocate, "fallocate", Descriptor(0), true, &[ENOSPC, EIO, EINTR]),
    known(libc::SYS_flock, "flock", Descriptor(0), true, &[EINTR, ENOMEM]),
    known(libc::SYS_getdents64, "getdents64", Descriptor(0), false, &[EIO, ENOMEM]),
    known(libc::SYS_statx, "statx", Path(1), false, &[ENOMEM, EIO]),
    known(libc::SYS_rename, "rename", Path(0), true, &[EIO, ENOSPC, ENOMEM]),
    known(libc::SYS_renameat, "renameat", Path(1), true, &[EIO, ENOSPC, ENOMEM]),
    known(libc::SYS_renameat2, "renameat2", Path(1), true, &[EIO, ENOSPC, ENOMEM]),
    known(libc::SYS_unlink, "unlink", Path(0), true, &[EIO, ENOMEM]),
    known(libc::SYS_unlinkat, "unlinkat", Path(1), true, &[EIO, ENOMEM]),
    known(libc::SYS_mkdir, "mkdir", Path(0), true, &[ENOSPC, EIO, ENOMEM]),
    known(libc::SYS_mkdirat, "mkdirat", Path(1), true, &[ENOSPC, EIO, ENOMEM]),
    known(libc::SYS_rmdir, "rmdir", Path(0), true, &[EIO, ENOMEM]),
    known(libc::SYS_mount, "mount", Path(1), true, &[ENOMEM, EIO, EPERM]),
    known(libc::SYS_umount2, "umount2", Path(0), true, &[ENOMEM, EIO, EAGAIN]),
    known(libc::SYS_ioctl, "ioctl", Descriptor(0), true, &[EINTR, ENOMEM, EIO]),
    known(libc::SYS_bpf, "bpf", Object::Command(0), true, &[EPERM, ENOMEM, EAGAIN]),
    known(libc::SYS_perf_event_open, "perf_event_open", Object::None, true, &[EMFILE, ENOMEM, EINTR]),
    known(libc::SYS_memfd_create, "memfd_create", Object::None, true, &[ENOMEM, EMFILE]),
    known(libc::SYS_clone3, "clone3", Object::None, true, &[EAGAIN, ENOMEM]),
    known(libc::SYS_clone, "clone", Object::None, true, &[EAGAIN, ENOMEM]),
    known(libc::SYS_kill, "kill", Object::None, true, &[]),
    known(libc::SYS_mmap, "mmap", Object::None, false, &[]),
    known(libc::SYS_mremap, "mremap", Object::None, false, &[]),
];

/// Calls that fail for lack of memory in a campaign of their own.
pub const ALLOCATIONS: [&str; 2] = ["mmap", "mremap"];

/// The commands of bpf(2) that look up an element, a key, a program's description.
const BPF_READS: [u32; 4] = [1, 4, 15, 24];

/// The table's row for a call.
pub fn find(call: &Call) -> Option<&'static Known> {
    CALLS.iter().find(|known| known.number == call.number)
}

/// Whether a kill at this call can leave something half done: it changes something, an `openat` creates or writes, and
/// a `bpf` does not only look something up.
pub fn is_kill_point(known: &Known, call: &Call) -> bool {
    let writes = (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT) as u64;
    match known.number {
        libc::SYS_openat => call.arguments[2] & writes != 0,
        libc::SYS_bpf => !BPF_READS.contains(&(call.arguments[0] as u32)),
        _ => known.changes,
    }
}

/// What a call works on, with digits replaced, and without the name of the scene's folder, which is random: the same
/// place of the program has one name.
pub fn object(tid: i32, known: &Known, call: &Call, folder: &str) -> String {
    let name = match known.object {
        Descriptor(argument) => descriptor(tid, call.arguments[argument]),
        Path(argument) => path(tid, call.arguments[argument]).unwrap_or_default(),
        Object::Command(argument) => return format!("command {}", call.arguments[argument] as u32),
        Object::None => return String::new(),
    };
    let name = name.replace(folder, "");
    let mut short = String::new();
    for part in name.chars().map(|c| if c.is_ascii_digit() { 'N' } else { c }) {
        if !(part == 'N' && short.ends_with('N')) {
            short.push(part);
        }
    }
    short
}

fn descriptor(tid: i32, number: u64) -> String {
    let link = fs::read_link(format!("/proc/{tid}/fd/{}", number as i32));
    link.map_or_else(|_| String::new(), |path| path.to_string_lossy().into_owned())
}

fn path(tid: i32, address: u64) -> Option<String> {
    let memory = fs::File::open(format!("/proc/{tid}/mem")).ok()?;
    let mut bytes = vec![0; 512];
    let length = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..length].iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

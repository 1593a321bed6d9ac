//! The system calls on files that are followed, and how each names its file.

/// Higher numbers are not followed: `CALLS` of the programs.
const CALLS: usize = 512;

/// How a system call names its file: `enum names_file` of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Nothing = 1,
    Descriptor = 2,
    First = 3,
    Second = 4,
    /// The path is the second argument, the descriptor the result.
    Result = 5,
    /// It names no file, and is too frequent to be followed from its begin: only waits for storage in it count.
    Waits = 6,
    /// It executes another program: by its first argument, or, on success, by the program's file.
    Program = 7,
}

/// Name, number, how it names its file, and whether it returns a number of bytes.
type Call = (&'static str, libc::c_long, Names, bool);

const COMMON: [Call; 74] = [
    ("read", libc::SYS_read, Names::Descriptor, true),
    ("write", libc::SYS_write, Names::Descriptor, true),
    ("pread64", libc::SYS_pread64, Names::Descriptor, true),
    ("pwrite64", libc::SYS_pwrite64, Names::Descriptor, true),
    ("readv", libc::SYS_readv, Names::Descriptor, true),
    ("writev", libc::SYS_writev, Names::Descriptor, true),
    ("preadv", libc::SYS_preadv, Names::Descriptor, true),
    ("pwritev", libc::SYS_pwritev, Names::Descriptor, true),
    ("preadv2", libc::SYS_preadv2, Names::Descriptor, true),
    ("pwritev2", libc::SYS_pwritev2, Names::Descriptor, true),
    ("fsync", libc::SYS_fsync, Names::Descriptor, false),
    ("fdatasync", libc::SYS_fdatasync, Names::Descriptor, false),
    ("sync_file_range", libc::SYS_sync_file_range, Names::Descriptor, false),
    ("syncfs", libc::SYS_syncfs, Names::Descriptor, false),
    ("sync", libc::SYS_sync, Names::Nothing, false),
    ("fallocate", libc::SYS_fallocate, Names::Descriptor, false),
    ("ftruncate", libc::SYS_ftruncate, Names::Descriptor, false),
    ("truncate", libc::SYS_truncate, Names::First, false),
    ("getdents64", libc::SYS_getdents64, Names::Descriptor, true),
    ("copy_file_range", libc::SYS_copy_file_range, Names::Descriptor, true),
    ("close", libc::SYS_close, Names::Waits, false),
    ("openat", libc::SYS_openat, Names::Result, false),
    ("openat2", libc::SYS_openat2, Names::Result, false),
    ("unlinkat", libc::SYS_unlinkat, Names::Second, false),
    ("mkdirat", libc::SYS_mkdirat, Names::Second, false),
    ("renameat2", libc::SYS_renameat2, Names::Second, false),
    ("linkat", libc::SYS_linkat, Names::Second, false),
    ("statx", libc::SYS_statx, Names::Second, false),
    ("msync", libc::SYS_msync, Names::Nothing, false),
    ("symlinkat", libc::SYS_symlinkat, Names::First, false),
    ("faccessat", libc::SYS_faccessat, Names::Second, false),
    ("fchmodat", libc::SYS_fchmodat, Names::Second, false),
    ("fchownat", libc::SYS_fchownat, Names::Second, false),
    ("utimensat", libc::SYS_utimensat, Names::Second, false),
    ("readlinkat", libc::SYS_readlinkat, Names::Second, false),
    ("fadvise64", libc::SYS_fadvise64, Names::Descriptor, false),
    ("readahead", libc::SYS_readahead, Names::Descriptor, false),
    ("sendfile", libc::SYS_sendfile, Names::Waits, false),
    ("splice", libc::SYS_splice, Names::Waits, false),
    ("io_uring_enter", libc::SYS_io_uring_enter, Names::Waits, false),
    ("io_submit", libc::SYS_io_submit, Names::Waits, false),
    ("io_getevents", libc::SYS_io_getevents, Names::Waits, false),
    ("execve", libc::SYS_execve, Names::Program, false),
    ("execveat", libc::SYS_execveat, Names::Second, false),
    ("renameat", libc::SYS_renameat, Names::Second, false),
    ("mknodat", libc::SYS_mknodat, Names::Second, false),
    ("faccessat2", libc::SYS_faccessat2, Names::Second, false),
    ("fchmod", libc::SYS_fchmod, Names::Descriptor, false),
    ("fchown", libc::SYS_fchown, Names::Descriptor, false),
    ("statfs", libc::SYS_statfs, Names::First, false),
    ("fstatfs", libc::SYS_fstatfs, Names::Descriptor, false),
    ("chdir", libc::SYS_chdir, Names::First, false),
    ("mount", libc::SYS_mount, Names::Second, false),
    ("umount2", libc::SYS_umount2, Names::First, false),
    ("setxattr", libc::SYS_setxattr, Names::First, false),
    ("lsetxattr", libc::SYS_lsetxattr, Names::First, false),
    ("fsetxattr", libc::SYS_fsetxattr, Names::Descriptor, false),
    ("getxattr", libc::SYS_getxattr, Names::First, false),
    ("lgetxattr", libc::SYS_lgetxattr, Names::First, false),
    ("fgetxattr", libc::SYS_fgetxattr, Names::Descriptor, false),
    ("listxattr", libc::SYS_listxattr, Names::First, false),
    ("llistxattr", libc::SYS_llistxattr, Names::First, false),
    ("flistxattr", libc::SYS_flistxattr, Names::Descriptor, false),
    ("removexattr", libc::SYS_removexattr, Names::First, false),
    ("lremovexattr", libc::SYS_lremovexattr, Names::First, false),
    ("fremovexattr", libc::SYS_fremovexattr, Names::Descriptor, false),
    ("ioctl", libc::SYS_ioctl, Names::Waits, false),
    ("mmap", libc::SYS_mmap, Names::Waits, false),
    ("munmap", libc::SYS_munmap, Names::Waits, false),
    ("mprotect", libc::SYS_mprotect, Names::Waits, false),
    ("madvise", libc::SYS_madvise, Names::Waits, false),
    ("brk", libc::SYS_brk, Names::Waits, false),
    // A task's last open files, also deleted ones, are released when it exits.
    ("exit", libc::SYS_exit, Names::Waits, false),
    ("exit_group", libc::SYS_exit_group, Names::Waits, false),
];

/// Calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
const OLD: [Call; 17] = [
    ("open", libc::SYS_open, Names::First, false),
    ("creat", libc::SYS_creat, Names::First, false),
    ("stat", libc::SYS_stat, Names::First, false),
    ("lstat", libc::SYS_lstat, Names::First, false),
    ("unlink", libc::SYS_unlink, Names::First, false),
    ("mkdir", libc::SYS_mkdir, Names::First, false),
    ("rmdir", libc::SYS_rmdir, Names::First, false),
    ("rename", libc::SYS_rename, Names::First, false),
    ("newfstatat", libc::SYS_newfstatat, Names::Second, false),
    ("access", libc::SYS_access, Names::First, false),
    ("chmod", libc::SYS_chmod, Names::First, false),
    ("chown", libc::SYS_chown, Names::First, false),
    ("lchown", libc::SYS_lchown, Names::First, false),
    ("link", libc::SYS_link, Names::First, false),
    ("symlink", libc::SYS_symlink, Names::Second, false),
    ("readlink", libc::SYS_readlink, Names::First, false),
    ("mknod", libc::SYS_mknod, Names::First, false),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: [Call; 1] = [("newfstatat", libc::SYS_newfstatat, Names::Second, false)];

fn all() -> impl Iterator<Item = &'static Call> {
    COMMON.iter().chain(&OLD)
}

/// One byte for each number: 0, or how the call names its file.
pub(super) fn table() -> [u8; CALLS] {
    let mut table = [0; CALLS];
    for (_, number, names, _) in all() {
        if let Some(place) = usize::try_from(*number).ok().and_then(|number| table.get_mut(number)) {
            *place = *names as u8;
        }
    }
    table
}

/// A followed call.
pub(super) struct FollowedCall {
    pub(super) name: &'static str,
    /// Its first argument is the descriptor of its file.
    pub(super) is_on_descriptor: bool,
    /// Its first argument or its result is the descriptor of its file.
    pub(super) by_descriptor: bool,
    pub(super) returns_bytes: bool,
}

/// The call of that number.
pub(super) fn of(number: i32) -> Option<FollowedCall> {
    let (name, _, names, returns_bytes) = all().find(|(_, known, _, _)| *known == libc::c_long::from(number))?;
    Some(FollowedCall {
        name,
        is_on_descriptor: *names == Names::Descriptor,
        by_descriptor: matches!(names, Names::Descriptor | Names::Result),
        returns_bytes: *returns_bytes,
    })
}

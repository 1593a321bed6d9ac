//! How system calls are followed, and how each names its file.

use super::system_call_names;

/// Higher numbers are not followed: `CALLS` of the programs.
const CALLS: usize = 512;
/// `IF_WAITED` of the programs.
const IF_WAITED: u8 = 16;
/// `DIRTIES_NOTHING` of the programs.
const DIRTIES_NOTHING: u8 = 32;
/// Calls that make no page dirty, though inodes change: they read, or write out what others made dirty.
const READING_OR_SYNCING: [libc::c_long; 14] = [
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_getdents64,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_sync,
    libc::SYS_msync,
    libc::SYS_fadvise64,
    libc::SYS_umount2,
];

/// How a system call names its file: `enum names_file` of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    Nothing = 1,
    Descriptor = 2,
    First = 3,
    Second = 4,
    /// The path is the second argument, the descriptor the result.
    Result = 5,
    /// By the descriptor of an fsopen(2).
    Context = 6,
    /// It executes another program: by its first argument, or, on success, by the program's file.
    Program = 7,
    /// The path is the second argument, relative to the folder that is the first.
    At = 8,
    /// By the descriptor that it closes.
    Closed = 9,
}

/// Name, number, how it names its file, and whether it returns a number of bytes.
type Call = (&'static str, libc::c_long, Names, bool);

const COMMON: [Call; 62] = [
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
    ("openat", libc::SYS_openat, Names::Result, false),
    ("openat2", libc::SYS_openat2, Names::Result, false),
    ("unlinkat", libc::SYS_unlinkat, Names::At, false),
    ("mkdirat", libc::SYS_mkdirat, Names::At, false),
    ("renameat2", libc::SYS_renameat2, Names::At, false),
    ("linkat", libc::SYS_linkat, Names::At, false),
    ("statx", libc::SYS_statx, Names::At, false),
    ("msync", libc::SYS_msync, Names::Nothing, false),
    ("symlinkat", libc::SYS_symlinkat, Names::First, false),
    ("faccessat", libc::SYS_faccessat, Names::At, false),
    ("fchmodat", libc::SYS_fchmodat, Names::At, false),
    ("fchownat", libc::SYS_fchownat, Names::At, false),
    ("utimensat", libc::SYS_utimensat, Names::At, false),
    ("readlinkat", libc::SYS_readlinkat, Names::At, false),
    ("fadvise64", libc::SYS_fadvise64, Names::Descriptor, false),
    ("readahead", libc::SYS_readahead, Names::Descriptor, false),
    ("execve", libc::SYS_execve, Names::Program, false),
    ("execveat", libc::SYS_execveat, Names::At, false),
    ("renameat", libc::SYS_renameat, Names::At, false),
    ("mknodat", libc::SYS_mknodat, Names::At, false),
    ("faccessat2", libc::SYS_faccessat2, Names::At, false),
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
    ("flock", libc::SYS_flock, Names::Descriptor, false),
    ("fcntl", libc::SYS_fcntl, Names::Descriptor, false),
];

/// Calls that newer architectures lack.
#[cfg(target_arch = "x86_64")]
const OLD: [Call; 22] = [
    ("open", libc::SYS_open, Names::First, false),
    ("creat", libc::SYS_creat, Names::First, false),
    ("stat", libc::SYS_stat, Names::First, false),
    ("lstat", libc::SYS_lstat, Names::First, false),
    ("unlink", libc::SYS_unlink, Names::First, false),
    ("mkdir", libc::SYS_mkdir, Names::First, false),
    ("rmdir", libc::SYS_rmdir, Names::First, false),
    ("rename", libc::SYS_rename, Names::First, false),
    ("newfstatat", libc::SYS_newfstatat, Names::At, false),
    ("access", libc::SYS_access, Names::First, false),
    ("chmod", libc::SYS_chmod, Names::First, false),
    ("chown", libc::SYS_chown, Names::First, false),
    ("lchown", libc::SYS_lchown, Names::First, false),
    ("link", libc::SYS_link, Names::First, false),
    ("symlink", libc::SYS_symlink, Names::Second, false),
    ("readlink", libc::SYS_readlink, Names::First, false),
    ("mknod", libc::SYS_mknod, Names::First, false),
    ("getdents", libc::SYS_getdents, Names::Descriptor, true),
    ("utime", libc::SYS_utime, Names::First, false),
    ("utimes", libc::SYS_utimes, Names::First, false),
    ("futimesat", libc::SYS_futimesat, Names::At, false),
    ("fchmodat2", libc::SYS_fchmodat2, Names::At, false),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD: [Call; 1] = [("newfstatat", libc::SYS_newfstatat, Names::At, false)];

/// Calls that seldom work on storage, or may idle: operations only if they waited for storage. A task's last open files, also
/// deleted ones, are released when it exits.
const SELDOM: [Call; 21] = [
    ("close", libc::SYS_close, Names::Closed, false),
    ("close_range", libc::SYS_close_range, Names::Nothing, false),
    ("exit", libc::SYS_exit, Names::Nothing, false),
    ("exit_group", libc::SYS_exit_group, Names::Nothing, false),
    ("fsconfig", libc::SYS_fsconfig, Names::Context, false),
    ("fsmount", libc::SYS_fsmount, Names::Context, false),
    ("fspick", libc::SYS_fspick, Names::At, false),
    ("open_tree", libc::SYS_open_tree, Names::At, false),
    ("move_mount", libc::SYS_move_mount, Names::At, false),
    ("mount_setattr", libc::SYS_mount_setattr, Names::At, false),
    ("pivot_root", libc::SYS_pivot_root, Names::First, false),
    ("chroot", libc::SYS_chroot, Names::First, false),
    ("fchdir", libc::SYS_fchdir, Names::Descriptor, false),
    ("quotactl", libc::SYS_quotactl, Names::Second, false),
    ("swapon", libc::SYS_swapon, Names::First, false),
    ("swapoff", libc::SYS_swapoff, Names::First, false),
    ("name_to_handle_at", libc::SYS_name_to_handle_at, Names::At, false),
    ("open_by_handle_at", libc::SYS_open_by_handle_at, Names::Nothing, false),
    ("io_destroy", libc::SYS_io_destroy, Names::Nothing, false),
    ("init_module", libc::SYS_init_module, Names::Nothing, false),
    ("finit_module", libc::SYS_finit_module, Names::Descriptor, false),
];

fn always() -> impl Iterator<Item = &'static Call> {
    COMMON.iter().chain(&OLD)
}

/// One byte for each number: 0, or how the call names its file, whether it counts only if it waited for storage, and whether it makes
/// no page dirty.
pub(super) fn table() -> [u8; CALLS] {
    let mut table = [0; CALLS];
    let calls = always().map(|call| (call, 0)).chain(SELDOM.iter().map(|call| (call, IF_WAITED)));
    for ((_, number, names, _), flag) in calls {
        if let Some(place) = usize::try_from(*number).ok().and_then(|number| table.get_mut(number)) {
            let dirties_nothing = READING_OR_SYNCING.contains(number);
            *place = *names as u8 | flag | if dirties_nothing { DIRTIES_NOTHING } else { 0 };
        }
    }
    table
}

/// A system call.
pub(super) struct KnownCall {
    pub(super) name: &'static str,
    /// Its first argument is the descriptor of its file.
    pub(super) is_on_descriptor: bool,
    /// Its first argument or its result is the descriptor of its file.
    pub(super) by_descriptor: bool,
    pub(super) returns_bytes: bool,
}

/// The call of that number.
pub(super) fn of(number: i32) -> Option<KnownCall> {
    let timed = always().chain(&SELDOM).find(|(_, known, _, _)| *known == libc::c_long::from(number));
    let Some((name, _, names, returns_bytes)) = timed else {
        let name = system_call_names::of(number)?;
        return Some(KnownCall { name, is_on_descriptor: false, by_descriptor: false, returns_bytes: false });
    };
    Some(KnownCall {
        name,
        is_on_descriptor: *names == Names::Descriptor,
        by_descriptor: matches!(names, Names::Descriptor | Names::Result),
        returns_bytes: *returns_bytes,
    })
}

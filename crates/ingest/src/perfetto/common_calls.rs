//! System calls by their numbers on machines of another architecture than this one: Linux numbers them alike on all
//! that came after it had a common table (include/uapi/asm-generic/unistd.h), arm64 and riscv64 among them.

/// Whether calls of a machine (`uname -m`) have the numbers of that table.
pub(super) fn is_common(machine: &str) -> bool {
    ["aarch64", "riscv64", "loongarch64"].contains(&machine)
}

/// The call of a number, if it is one on files.
pub(super) fn name(number: i64) -> Option<&'static str> {
    let at = CALLS.binary_search_by_key(&number, |(known, _)| *known).ok()?;
    Some(CALLS[at].1)
}

// tidy: table
const CALLS: &[(i64, &str)] = &[
    (1, "io_destroy"),
    (5, "setxattr"),
    (6, "lsetxattr"),
    (7, "fsetxattr"),
    (8, "getxattr"),
    (9, "lgetxattr"),
    (10, "fgetxattr"),
    (11, "listxattr"),
    (12, "llistxattr"),
    (13, "flistxattr"),
    (14, "removexattr"),
    (15, "lremovexattr"),
    (16, "fremovexattr"),
    (25, "fcntl"),
    (32, "flock"),
    (33, "mknodat"),
    (34, "mkdirat"),
    (35, "unlinkat"),
    (36, "symlinkat"),
    (37, "linkat"),
    (38, "renameat"),
    (39, "umount2"),
    (40, "mount"),
    (41, "pivot_root"),
    (43, "statfs"),
    (44, "fstatfs"),
    (45, "truncate"),
    (46, "ftruncate"),
    (47, "fallocate"),
    (48, "faccessat"),
    (49, "chdir"),
    (50, "fchdir"),
    (51, "chroot"),
    (52, "fchmod"),
    (53, "fchmodat"),
    (54, "fchownat"),
    (55, "fchown"),
    (56, "openat"),
    (57, "close"),
    (60, "quotactl"),
    (61, "getdents64"),
    (63, "read"),
    (64, "write"),
    (65, "readv"),
    (66, "writev"),
    (67, "pread64"),
    (68, "pwrite64"),
    (69, "preadv"),
    (70, "pwritev"),
    (78, "readlinkat"),
    (81, "sync"),
    (82, "fsync"),
    (83, "fdatasync"),
    (84, "sync_file_range"),
    (88, "utimensat"),
    (93, "exit"),
    (94, "exit_group"),
    (105, "init_module"),
    (213, "readahead"),
    (221, "execve"),
    (223, "fadvise64"),
    (224, "swapon"),
    (225, "swapoff"),
    (227, "msync"),
    (264, "name_to_handle_at"),
    (265, "open_by_handle_at"),
    (267, "syncfs"),
    (273, "finit_module"),
    (276, "renameat2"),
    (281, "execveat"),
    (285, "copy_file_range"),
    (286, "preadv2"),
    (287, "pwritev2"),
    (291, "statx"),
    (428, "open_tree"),
    (429, "move_mount"),
    (431, "fsconfig"),
    (432, "fsmount"),
    (433, "fspick"),
    (436, "close_range"),
    (437, "openat2"),
    (439, "faccessat2"),
    (442, "mount_setattr"),
];

#[cfg(test)]
mod tests {
    use super::{CALLS, name};

    #[test]
    fn calls_are_operations_in_the_order_of_their_numbers() {
        assert!(CALLS.is_sorted_by_key(|(number, _)| *number));
        let is_operation = |name: &str| model::system_call::named(name).is_some_and(|call| call.is_operation());
        assert!(CALLS.iter().all(|(_, name)| is_operation(name)));
        assert_eq!((name(82), name(67), name(-1)), (Some("fsync"), Some("pread64"), None));
    }
}

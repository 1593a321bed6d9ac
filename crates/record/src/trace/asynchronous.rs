//! Asynchronous operations that are followed, by their code, and how each names its file.

/// Codes of io_uring that are known: `CODES` of the programs.
const CODES: usize = 64;
/// From here on, the codes of libaio: `AIO_CODE` of the programs.
const AIO: u32 = 64;

/// How an operation names its file, if at all: `enum names_file` of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    /// By a path, which is gone once it was submitted.
    Nothing = 1,
    File = 2,
}

/// Name, code, how it names its file, and whether it returns a number of bytes.
type Operation = (&'static str, u32, Names, bool);

/// `enum io_uring_op` (Linux 5.1 to 6.18). Others, such as those on sockets and timers, are not on storage.
const IO_URING: [Operation; 31] = [
    ("io_uring_readv", 1, Names::File, true),
    ("io_uring_writev", 2, Names::File, true),
    ("io_uring_fsync", 3, Names::File, false),
    ("io_uring_read_fixed", 4, Names::File, true),
    ("io_uring_write_fixed", 5, Names::File, true),
    ("io_uring_sync_file_range", 8, Names::File, false),
    ("io_uring_fallocate", 17, Names::File, false),
    ("io_uring_openat", 18, Names::Nothing, false),
    ("io_uring_close", 19, Names::Nothing, false),
    ("io_uring_statx", 21, Names::Nothing, false),
    ("io_uring_read", 22, Names::File, true),
    ("io_uring_write", 23, Names::File, true),
    ("io_uring_fadvise", 24, Names::File, false),
    ("io_uring_madvise", 25, Names::Nothing, false),
    ("io_uring_openat2", 28, Names::Nothing, false),
    ("io_uring_renameat", 35, Names::Nothing, false),
    ("io_uring_unlinkat", 36, Names::Nothing, false),
    ("io_uring_mkdirat", 37, Names::Nothing, false),
    ("io_uring_symlinkat", 38, Names::Nothing, false),
    ("io_uring_linkat", 39, Names::Nothing, false),
    ("io_uring_fsetxattr", 41, Names::File, false),
    ("io_uring_setxattr", 42, Names::Nothing, false),
    ("io_uring_fgetxattr", 43, Names::File, false),
    ("io_uring_getxattr", 44, Names::Nothing, false),
    ("io_uring_uring_cmd", 46, Names::File, false),
    ("io_uring_read_multishot", 49, Names::File, true),
    ("io_uring_ftruncate", 55, Names::File, false),
    ("io_uring_readv_fixed", 60, Names::File, true),
    ("io_uring_writev_fixed", 61, Names::File, true),
    // Both files are storage only if the first is.
    ("io_uring_splice", 30, Names::File, true),
    ("io_uring_tee", 33, Names::File, true),
];

/// `IOCB_CMD_*` of <linux/aio_abi.h>.
const LIBAIO: [Operation; 6] = [
    ("aio_pread", AIO, Names::File, true),
    ("aio_pwrite", AIO + 1, Names::File, true),
    ("aio_fsync", AIO + 2, Names::File, false),
    ("aio_fdsync", AIO + 3, Names::File, false),
    ("aio_preadv", AIO + 7, Names::File, true),
    ("aio_pwritev", AIO + 8, Names::File, true),
];

/// One byte for each code of io_uring: 0, or how it names its file.
pub(super) fn table() -> [u8; CODES] {
    let mut table = [0; CODES];
    for (_, code, names, _) in IO_URING {
        table[code as usize] = names as u8;
    }
    table
}

/// A followed operation.
pub(super) struct FollowedOperation {
    pub(super) name: &'static str,
    pub(super) returns_bytes: bool,
}

/// The operation of that code.
pub(super) fn of(code: u32) -> Option<FollowedOperation> {
    let (name, _, _, returns_bytes) = IO_URING.iter().chain(&LIBAIO).find(|(_, known, ..)| *known == code)?;
    Some(FollowedOperation { name, returns_bytes: *returns_bytes })
}

#[cfg(test)]
mod tests {
    use super::{of, table};

    #[test]
    fn operations_are_known_by_their_code() {
        assert_eq!(of(23).map(|write| write.name), Some("io_uring_write"));
        assert_eq!(of(65).map(|write| write.name), Some("aio_pwrite"));
        // A timer is no operation on storage.
        assert!(of(11).is_none());
        assert_eq!([table()[11], table()[18], table()[23]], [0, 1, 2]);
    }
}

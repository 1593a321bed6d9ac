//! du.

/// du on a file system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walker {
    pub(super) fs: u8,
    pub(super) ino: u32,
}

impl Walker {
    pub(super) fn new(fs: u8) -> Walker {
        Walker { fs, ino: 0 }
    }
}

//! Where distributions put debug information of its own.

use std::path::{Path, PathBuf};

/// The file with the debug information of that build, below a root folder, if its build id is one.
pub fn debug_file(root: &Path, build_id: &str) -> Option<PathBuf> {
    let is_id = build_id.len() > 2 && build_id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (folder, name) = is_id.then(|| build_id.split_at(2))?;
    Some(root.join(format!("usr/lib/debug/.build-id/{folder}/{name}.debug")))
}

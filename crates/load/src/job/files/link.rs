//! Links instead of small files, as in bonnie++: all to the first file, which is a normal file.

use std::ffi::{CStr, CString};

use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::own_files::OwnFiles;
use crate::error::LoadError;
use crate::job::values::JobValues;

/// How to make links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LinkMethod {
    symbolic: bool,
    pub(super) class: usize,
}

/// The target of links.
pub(super) struct LinkTarget {
    /// Its path within the set, and relative to a link's directory.
    path: CString,
    seen: CString,
}

impl LinkMethod {
    pub(super) fn resolve(values: &mut JobValues<'_, '_>) -> Result<Option<LinkMethod>, LoadError> {
        let symbolic = match values.word("links")?.as_deref() {
            Some("hard") => false,
            Some("symbolic") => true,
            _ => return Ok(None),
        };
        Ok(Some(LinkMethod { symbolic, class: values.class("link")? }))
    }

    /// Makes the current file a link, and creates its subdirectory if it is missing.
    pub(super) fn make(self, files: &mut OwnFiles, original: &LinkTarget) -> Result<(), Errno> {
        match (self.once(files, original), files.name.subdirectory()) {
            (Err(Errno::NOENT), Some(subdirectory)) => {
                match rustix::fs::mkdirat(&files.root, subdirectory, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => self.once(files, original),
                    Err(errno) => Err(errno),
                }
            }
            (made, _) => made,
        }
    }

    fn once(self, files: &mut OwnFiles, original: &LinkTarget) -> Result<(), Errno> {
        let name: &CStr = files.name.as_c_str();
        match self.symbolic {
            true => rustix::fs::symlinkat(&original.seen, &files.root, name),
            false => rustix::fs::linkat(&files.root, &original.path, &files.root, name, AtFlags::empty()),
        }
    }
}

impl LinkTarget {
    /// The current file.
    pub(super) fn new(files: &OwnFiles) -> LinkTarget {
        let path = files.name.as_bytes();
        let up: &[u8] = if files.name.subdirectory().is_some() { b"../" } else { b"" };
        let text = |bytes: Vec<u8>| CString::new(bytes).expect("names are made of letters and digits");
        LinkTarget { path: text(path.to_vec()), seen: text([up, path].concat()) }
    }
}

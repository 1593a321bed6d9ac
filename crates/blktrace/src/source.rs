//! From names on the command line to byte streams: files, sets of per-CPU files, directories, standard input,
//! compression.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use crate::error::TraceError;

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The files that `name` denotes, in a fixed order; `-` is standard input.
pub(crate) fn expand(name: &Path) -> Result<Vec<PathBuf>, TraceError> {
    if name == Path::new("-") || name.is_file() {
        return Ok(vec![name.to_owned()]);
    }
    let shown = || name.display().to_string();
    if name.is_dir() {
        let found = matching(name, |file| file.contains(".blktrace."))?;
        return if found.is_empty() { Err(TraceError::EmptyFolder { path: shown() }) } else { Ok(found) };
    }
    if fs::metadata(name).is_ok() {
        // A pipe or a device file.
        return Ok(vec![name.to_owned()]);
    }
    let folder = name.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(prefix) = name.file_name().map(|file| format!("{}.blktrace.", file.to_string_lossy())) else {
        return Err(TraceError::Missing { path: shown() });
    };
    let found = if folder.is_dir() { matching(folder, |file| file.starts_with(&prefix))? } else { Vec::new() };
    if found.is_empty() { Err(TraceError::Missing { path: shown() }) } else { Ok(found) }
}

fn matching(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, TraceError> {
    let fail = |source| TraceError::Io { path: folder.display().to_string(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if wanted(&entry.file_name().to_string_lossy()) && entry.path().is_file() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Opens a file, or standard input, and decompresses it if its first bytes show a compression.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path == Path::new("-") { decompress(Box::new(io::stdin())) } else { decompress(Box::new(File::open(path)?)) }
}

/// Decompresses a source if its first bytes show a compression.
pub(crate) fn decompress(mut source: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::with_capacity(4);
    source.by_ref().take(4).read_to_end(&mut start)?;
    let zstd = start.starts_with(&ZSTD_MAGIC);
    let gzip = start.starts_with(&GZIP_MAGIC);
    let whole = Cursor::new(start).chain(source);
    Ok(if zstd {
        Box::new(zstd::stream::read::Decoder::new(whole)?)
    } else if gzip {
        Box::new(flate2::read::MultiGzDecoder::new(whole))
    } else {
        Box::new(whole)
    })
}

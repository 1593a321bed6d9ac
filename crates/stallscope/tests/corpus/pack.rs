//! A run as one file: its files as a tar archive (ustar, which any tar reads), compressed with zstd.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

const BLOCK: usize = 512;
const LEVEL: i32 = 19;
/// Space for a full disk, which says nothing of the run.
const RESERVE: &str = "reserve";

/// The packed run. The same run gives the same bytes.
pub fn packed(run: &Path) -> io::Result<Vec<u8>> {
    let mut names: Vec<String> = fs::read_dir(run)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.retain(|name| name != RESERVE);
    names.sort();
    let mut archive = Vec::new();
    for name in names {
        let contents = fs::read(run.join(&name))?;
        archive.extend(header(&format!("run/{name}"), contents.len()));
        archive.extend(&contents);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    zstd::encode_all(archive.as_slice(), LEVEL)
}

fn header(name: &str, length: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    for (at, text) in [(100, "0000600"), (108, "0000000"), (116, "0000000"), (136, "00000000000"), (148, "        ")] {
        put(at, text);
    }
    put(124, &format!("{length:011o}"));
    put(156, "0ustar");
    put(263, "00");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// Unpacks a run into a directory.
pub fn unpack(file: &Path, directory: &Path) -> io::Result<()> {
    let mut archive = Vec::new();
    zstd::Decoder::new(fs::File::open(file)?)?.read_to_end(&mut archive)?;
    let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", file.display()));
    fs::create_dir_all(directory)?;
    let mut rest = archive.as_slice();
    while let Some(header) = rest.get(..BLOCK).filter(|header| header[0] != 0) {
        let text =
            |from: usize, to: usize| String::from_utf8_lossy(&header[from..to]).trim_matches(['\0', ' ']).to_owned();
        let length = usize::from_str_radix(&text(124, 136), 8).map_err(|_| wrong("has no length of a file"))?;
        let name = text(0, 100).rsplit('/').next().unwrap_or_default().to_owned();
        let contents = rest.get(BLOCK..BLOCK + length).ok_or_else(|| wrong("ends within a file"))?;
        if header[156] == b'0' && !name.is_empty() && name != ".." {
            fs::write(directory.join(name), contents)?;
        }
        rest = &rest[(BLOCK + length.next_multiple_of(BLOCK)).min(rest.len())..];
    }
    Ok(())
}

//! Compressed parts of a `trace.dat`, each with its size before and after.

use std::io::{self, Read};

use crate::perf_check::damaged;

/// What parts are compressed with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Codec {
    /// Nothing is.
    #[default]
    Plain,
    Zlib,
    Zstd,
    /// Another one, by its name.
    Unknown(String),
}

impl Codec {
    pub(crate) fn named(name: &str) -> Codec {
        match name {
            "none" | "" => Codec::Plain,
            "zlib" => Codec::Zlib,
            "zstd" => Codec::Zstd,
            name => Codec::Unknown(name.to_owned()),
        }
    }

    /// Decompresses a part that is so long then: the caller has checked that this is not too much.
    pub(crate) fn expand(&self, bytes: &[u8], length: usize) -> io::Result<Vec<u8>> {
        let expanded = match self {
            Codec::Zstd => zstd::bulk::decompress(bytes, length).map_err(|_| wrong())?,
            Codec::Zlib => {
                let mut expanded = Vec::new();
                let decoder = flate2::read::ZlibDecoder::new(bytes);
                decoder.take(length as u64 + 1).read_to_end(&mut expanded).map_err(|_| wrong())?;
                expanded
            }
            Codec::Plain | Codec::Unknown(_) => return Err(wrong()),
        };
        if expanded.len() == length { Ok(expanded) } else { Err(wrong()) }
    }
}

fn wrong() -> io::Error {
    damaged("a compressed part of it is damaged")
}

//! /proc/self/mountstats: the operations of each NFS mount, and the server's response times.
//!
//! The file lists every mount, and only NFS has statistics. Without NFS it is read again only when the kernel signals
//! that a file system was mounted.

use std::path::PathBuf;

use model::metric::{Semantics, Unit};

use crate::bytes::{next_line, shown, words, words_len};
use crate::file::TextFile;
use crate::last_values::{Column, SampleWriter};
use crate::mountinfo;
use crate::rows::{Rows, Table};
use crate::source::MetricSource;
use crate::source_error::SourceError;

/// Operations that storage stalls show in; the others are skipped.
const OPERATIONS: [&str; 20] = [
    "READ",
    "WRITE",
    "COMMIT",
    "OPEN",
    "OPEN_NOATTR",
    "CLOSE",
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "CREATE",
    "REMOVE",
    "RENAME",
    "MKDIR",
    "RMDIR",
    "READDIR",
    "READDIRPLUS",
    "LOCK",
    "LAYOUTGET",
    "LAYOUTCOMMIT",
];

/// Columns of an operation (`rpc_count_iostats` of net/sunrpc/stats.c); `errors` since Linux 5.3.
const OPERATION_FIELDS: [(&str, Unit); 9] = [
    ("ops", Unit::Count),
    ("ntrans", Unit::Count),
    ("timeouts", Unit::Count),
    ("bytes_sent", Unit::Bytes),
    ("bytes_recv", Unit::Bytes),
    ("queue", Unit::Milliseconds),
    ("rtt", Unit::Milliseconds),
    ("execute", Unit::Milliseconds),
    ("errors", Unit::Count),
];

/// Columns of `bytes:` (`enum nfs_stat_bytecounters`).
const BYTES_FIELDS: [(&str, Unit); 8] = [
    ("normalread", Unit::Bytes),
    ("normalwritten", Unit::Bytes),
    ("directread", Unit::Bytes),
    ("directwritten", Unit::Bytes),
    ("serverread", Unit::Bytes),
    ("serverwritten", Unit::Bytes),
    ("readpages", Unit::Pages),
    ("writepages", Unit::Pages),
];

/// Mounts beyond this are left out.
const MOUNT_LIMIT: usize = 32;

/// Lines `<mount point>\n<section>: <numbers>`, put together from the mount's heading and its lines.
struct NfsTable {
    mounts: Vec<Vec<u8>>,
}

impl Table for NfsTable {
    fn key_len(&self, line: &[u8]) -> usize {
        let section = line.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        section + words_len(&line[section..], 1)
    }

    fn columns(&mut self, key: &[u8], values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let mut parts = key.splitn(2, |byte| *byte == b'\n');
        let (mount, section) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let section = shown(section.strip_suffix(b":").unwrap_or(section));
        let fields = match &*section {
            "bytes" => &BYTES_FIELDS[..],
            name if OPERATIONS.contains(&name) => &OPERATION_FIELDS[..],
            _ => return Vec::new(),
        };
        if !self.mounts.iter().any(|known| known == mount) {
            if self.mounts.len() >= MOUNT_LIMIT {
                return Vec::new();
            }
            self.mounts.push(mount.to_owned());
        }
        let instance = mountinfo::unescaped(mount);
        let printed = fields.iter().take(words(values).count()).enumerate();
        let column = |(word, (field, unit)): (usize, &(&str, Unit))| {
            writer.column(word, format!("mountstats.{section}.{field}"), &instance, *unit, Semantics::Counter)
        };
        printed.map(column).collect()
    }
}

pub(crate) struct Mountstats {
    file: TextFile,
    rows: Rows,
    table: NfsTable,
    has_nfs: bool,
    line: Vec<u8>,
}

impl Mountstats {
    pub(crate) fn new(path: PathBuf) -> Mountstats {
        Mountstats {
            file: TextFile::new(path),
            rows: Rows::default(),
            table: NfsTable { mounts: Vec::new() },
            has_nfs: false,
            line: Vec::new(),
        }
    }
}

/// The mount point of `device X mounted on Y with fstype nfs4 statvers=1.1`; `Some(None)` for other file systems,
/// `None` for other lines.
fn heading(line: &[u8]) -> Option<Option<&[u8]>> {
    let mut words = words(line);
    (words.next() == Some(b"device")).then(|| {
        let point = words.nth(3)?;
        let fs_type = words.nth(2)?;
        fs_type.starts_with(b"nfs").then_some(point)
    })
}

impl MetricSource for Mountstats {
    fn sample(&mut self, writer: &mut SampleWriter<'_>) -> Result<(), SourceError> {
        if !self.file.is_signalled() && !self.has_nfs {
            return Ok(());
        }
        self.has_nfs = false;
        let (mut rest, result) = self.file.read_or_empty();
        let mut mount = None;
        self.rows.begin();
        while let Some((line, after)) = next_line(rest) {
            rest = after;
            if let Some(nfs) = heading(line) {
                mount = nfs;
            } else if let Some(mount) = mount {
                self.has_nfs = true;
                self.line.clear();
                for part in [mount, b"\n", line.trim_ascii_start()] {
                    self.line.extend_from_slice(part);
                }
                self.rows.visit(&self.line, &mut self.table, writer);
            }
        }
        self.rows.finish(writer);
        result
    }
}

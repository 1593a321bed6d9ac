//! What really happened to a bio.

use model::block::{DeviceNumber, Kind};

/// A bio as it really was: a split bio once per piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrueBio {
    /// Device.
    pub device: DeviceNumber,
    /// Kind.
    pub kind: Kind,
    /// First sector.
    pub sector: u64,
    /// Length in sectors.
    pub sectors: u32,
    /// Thread.
    pub pid: u32,
    /// Cgroup; 0 is none.
    pub cgroup: u64,
    /// When it was queued.
    pub queued_ns: u64,
    /// When it completed.
    pub completed_ns: u64,
    /// Queued to request, of bios that got one.
    pub q2g_ns: Option<u64>,
    /// Request to first insertion.
    pub g2i_ns: Option<u64>,
    /// Request to last issue, of requests that were never inserted.
    pub g2d_ns: Option<u64>,
    /// Queued to merged.
    pub q2m_ns: Option<u64>,
    /// First insertion to last issue.
    pub i2d_ns: Option<u64>,
    /// Merged to last issue.
    pub m2d_ns: Option<u64>,
    /// Last issue to completion.
    pub d2c_ns: Option<u64>,
    /// Queued to remapped.
    pub q2a_ns: Option<u64>,
    /// Remapped to completion.
    pub a2c_ns: Option<u64>,
}

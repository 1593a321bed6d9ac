//! Write RPCs, and the reasons for them.

/// Why an RPC was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    HighPriority,
    Urgent,
    CacheWaiters,
    /// The object's count of pages, or a full extent.
    Enough,
}

/// A write RPC.
#[derive(Debug, Clone, Default)]
pub(super) struct Rpc {
    pub(super) osc: usize,
    pub(super) extents: Vec<usize>,
    pub(super) pages: u64,
    /// Contiguous pieces, and how many RAID stripes they cover only partly.
    pub(super) pieces: u64,
    pub(super) partial_stripes: u64,
    /// Pages with grant, which the reply returns.
    pub(super) granted_pages: u64,
    pub(super) sent_ns: u64,
}

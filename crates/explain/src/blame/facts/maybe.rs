//! Numbers and moments that may be missing.

/// A number that may be missing, in half the memory of an [`Option`]: a long run has millions of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Maybe(u32);

impl Maybe {
    /// No thread, stack or request has this number.
    pub(crate) const NONE: Maybe = Maybe(u32::MAX);

    pub(crate) fn get(self) -> Option<u32> {
        (self != Maybe::NONE).then_some(self.0)
    }
}

impl From<Option<u32>> for Maybe {
    fn from(number: Option<u32>) -> Maybe {
        number.map_or(Maybe::NONE, Maybe)
    }
}

/// A moment that may be unknown, in half the memory of an [`Option`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MaybeNs(u64);

impl MaybeNs {
    /// No clock runs for that long.
    pub(crate) const NONE: MaybeNs = MaybeNs(u64::MAX);

    pub(crate) fn get(self) -> Option<u64> {
        (self != MaybeNs::NONE).then_some(self.0)
    }
}

impl From<Option<u64>> for MaybeNs {
    fn from(ns: Option<u64>) -> MaybeNs {
        ns.map_or(MaybeNs::NONE, MaybeNs)
    }
}

//! NodeKind is wrong with a formula, and where.

use std::ops::Range;

/// A mistake in a formula, with its byte range in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// Where in the formula's text.
    pub span: Range<usize>,
    /// NodeKind is wrong.
    pub message: String,
}

impl Mistake {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Mistake {
        Mistake { span, message: message.into() }
    }
}

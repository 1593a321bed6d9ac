//! Cells of CSV files (RFC 4180) that hold text from outside.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, also a quoted one, and runs it. So
//! such a text gets an apostrophe before it, as does one that begins with an apostrophe: who removes one leading
//! apostrophe from each cell of text has the name as it was. Numbers are written as they are.

use std::borrow::Cow;

/// Begins a formula, or is skipped before one; and the same in full width.
const FORMULA: [char; 12] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠', '\''];

/// A text that no spreadsheet takes for a formula. Not quoted.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.starts_with(FORMULA) { format!("'{text}").into() } else { text.into() }
}

/// The text that [`plain`] was given.
pub fn original(cell: &str) -> &str {
    cell.strip_prefix('\'').unwrap_or(cell)
}

/// A text as a cell, quoted where that is needed.
pub fn cell(text: &str) -> Cow<'_, str> {
    let text = plain(text);
    let is_plain = !text.is_empty() && !text.contains([',', '"', '\n', '\r']);
    if is_plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")).into() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{cell, original, plain};

    #[test]
    fn a_cell_of_text_is_no_formula() {
        for (text, expected) in [
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("-1+1", "'-1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("＝1", "'＝1"),
            ("'=1", "''=1"),
            ("a=1", "a=1"),
            ("+1,\"x\"", "\"'+1,\"\"x\"\"\""),
            ("", "\"\""),
        ] {
            assert_eq!(cell(text), expected);
        }
    }

    proptest! {
        #[test]
        fn every_text_reads_back(text in "[=+'a,@-]{0,4}") {
            let written = plain(&text);
            prop_assert!(!written.starts_with(['=', '+', '-', '@']));
            prop_assert_eq!(original(&written), text.as_str());
        }
    }
}

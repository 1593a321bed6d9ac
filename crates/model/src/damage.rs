//! What of a run directory was recorded and cannot be read.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quantity::counted;

/// One damaged or missing part of a run directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// File within the run directory.
    pub file: String,
    /// The table whose rows are lost; `None`: perhaps any.
    pub table: Option<String>,
    /// First byte of the damaged part, where known.
    pub offset: Option<u64>,
    /// Length of the damaged part, where known.
    pub bytes: Option<u64>,
    /// Rows that are lost; `None`: unknown.
    pub rows: Option<u64>,
    /// The time that they cover on the monotonic clock; `None`: perhaps any.
    pub span_ns: Option<(u64, u64)>,
    /// What is wrong with it.
    pub why: String,
}

impl Damage {
    /// A damaged file, of which nothing else is known.
    pub fn of_file(file: &str, why: impl Into<String>) -> Damage {
        Damage {
            file: file.to_owned(),
            table: None,
            offset: None,
            bytes: None,
            rows: None,
            span_ns: None,
            why: why.into(),
        }
    }

    /// Whether rows of that table may be lost.
    pub fn may_lack(&self, table: &str) -> bool {
        self.rows != Some(0) && self.table.as_deref().is_none_or(|damaged| damaged == table)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file)?;
        if let (Some(table), Some(rows)) = (&self.table, self.rows) {
            write!(f, "{} of {table}", counted(rows, "row"))?;
            if let Some(offset) = self.offset {
                write!(f, " at offset {offset}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::Damage;

    #[test]
    fn damage_of_a_table_concerns_that_table_only() {
        let any = Damage::of_file("journal", "line 3 is damaged");
        assert_eq!(any.to_string(), "journal: line 3 is damaged");
        assert!(any.may_lack("stalls"));
        let stalls = Damage { table: Some("stalls".into()), rows: Some(7), offset: Some(9), ..any.clone() };
        assert_eq!(stalls.to_string(), "journal: 7 rows of stalls at offset 9: line 3 is damaged");
        assert!(stalls.may_lack("stalls") && !stalls.may_lack("tasks"));
        assert!(!Damage { rows: Some(0), ..any }.may_lack("stalls"));
    }
}

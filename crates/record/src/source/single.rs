//! Files that hold one number.

use model::metric::{Semantics, Unit};

use crate::ledger::Sheet;
use crate::rows::{Column, Table};

/// The one metric of such a file.
pub(crate) struct SingleTable {
    pub(crate) name: String,
    pub(crate) instance: String,
    pub(crate) unit: Unit,
    pub(crate) semantics: Semantics,
}

impl Table for SingleTable {
    fn key_len(&self, _line: &[u8]) -> usize {
        0
    }

    fn columns(&mut self, _key: &[u8], _values: &[u8], sheet: &mut Sheet<'_>) -> Vec<Column> {
        vec![sheet.column(0, self.name.clone(), &self.instance, self.unit, self.semantics)]
    }
}

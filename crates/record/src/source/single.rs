//! Files that hold one number.

use model::metric::{Semantics, Unit};

use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;

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

    fn columns(&mut self, _key: &[u8], _values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        vec![writer.column(0, self.name.clone(), &self.instance, self.unit, self.semantics)]
    }
}

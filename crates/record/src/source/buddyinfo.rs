//! /proc/buddyinfo: free blocks of each order in each zone. Shows fragmentation before compaction does.

use model::metric::{Semantics, Unit};

use crate::bytes::{shown, words, words_len};
use crate::last_values::{Column, SampleWriter};
use crate::rows::Table;

/// Lines `Node 0, zone   Normal   2401   1062 ...`, one column for each order.
pub(crate) struct BuddyinfoTable;

impl Table for BuddyinfoTable {
    fn key_len(&self, line: &[u8]) -> usize {
        words_len(line, 4)
    }

    fn columns(&mut self, key: &[u8], values: &[u8], writer: &mut SampleWriter<'_>) -> Vec<Column> {
        let mut names = words(key);
        let (Some(node), Some(zone)) = (names.nth(1), names.nth(1)) else { return Vec::new() };
        let instance = format!("node{}/{}", shown(node.strip_suffix(b",").unwrap_or(node)), shown(zone));
        let orders = 0..words(values).count();
        let column =
            |order| writer.column(order, format!("buddyinfo.order{order}"), &instance, Unit::Count, Semantics::Gauge);
        orders.map(column).collect()
    }
}

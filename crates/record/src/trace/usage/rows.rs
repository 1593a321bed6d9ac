//! Rows of an interval, made few.

use std::collections::BTreeMap;

use model::block::DeviceNumber;
use model::usage::{Resource, UsageRecord};

/// Rows of one resource: those with the most.
const KEPT: usize = 24;
/// Rows with less than this fraction of a resource's use are summed up.
const LEAST: u64 = 256;

/// Of each resource the rows with the most, and the rest in one row without a process.
pub(super) fn largest(rows: Vec<UsageRecord>) -> Vec<UsageRecord> {
    let mut by_resource: BTreeMap<(Resource, Option<DeviceNumber>, Option<u32>), Vec<UsageRecord>> = BTreeMap::new();
    for row in rows {
        by_resource.entry((row.resource, row.device, row.cpu)).or_default().push(row);
    }
    by_resource.into_values().flat_map(kept).collect()
}

fn kept(rows: Vec<UsageRecord>) -> Vec<UsageRecord> {
    let mut rows = joined(rows);
    let total: u64 = rows.iter().map(UsageRecord::amount).sum();
    rows.sort_by_key(|row| std::cmp::Reverse((row.amount(), row.bytes)));
    let large = |row: &UsageRecord| row.amount() * LEAST >= total;
    let count = rows.iter().take(KEPT).take_while(|row| large(row)).count();
    let rest = rows.split_off(count);
    let mut others: Option<UsageRecord> = None;
    for row in rest {
        match &mut others {
            Some(others) => others.add(&row),
            None => others = Some(UsageRecord { pid: None, cgroup: None, limit: None, ..row }),
        }
    }
    rows.extend(others);
    rows
}

/// The threads of a process as one row for each of its cgroups.
fn joined(rows: Vec<UsageRecord>) -> Vec<UsageRecord> {
    let mut joined: BTreeMap<(Option<u32>, Option<String>), UsageRecord> = BTreeMap::new();
    for row in rows {
        let key = (row.pid, row.cgroup.clone());
        match joined.get_mut(&key) {
            Some(sum) => sum.add(&row),
            None => drop(joined.insert(key, row)),
        }
    }
    joined.into_values().collect()
}

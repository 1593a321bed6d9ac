//! From rows to what they were for.

use crate::blame::culprits::disk_users::find_disk_users;
use crate::blame::facts::run_index::RunIndex;
use crate::blame::facts::scope::Scope;
use crate::blame::facts::storage::disks::Disks;
use crate::blame::intents::lasting::{hangs, held_polls};
use crate::blame::intents::{self};

/// The rows in order, and what they wait for.
pub(crate) fn conclude(index: &mut RunIndex, scope: &Scope, disks: &Disks) {
    index.sort(disks.names());
    scope.find_subjects(index);
    index.command_is_clock = hangs::command_is_clock(index);
    hangs::find_hangs(index, scope.is_everything());
    for &(rule, find) in intents::RULES {
        let found = if index.applies(rule) { find(index) } else { Vec::new() };
        index.conclude(rule, found);
    }
    index.derive();
    if index.applies(&held_polls::RULE) {
        let held = held_polls::find(index, disks);
        index.conclude(&held_polls::RULE, held);
    }
    index.intents.finish();
    index.find_causes();
    find_disk_users(index, disks);
}

//! The list of all models.

use crate::policy::Model;

/// All models.
pub const ALL: &[&Model] = &[&crate::bufcache::MODEL, &crate::osc::MODEL, &crate::reclaim::MODEL, &crate::sched::MODEL];

/// The model of that name.
pub fn find(name: &str) -> Option<&'static Model> {
    ALL.iter().copied().find(|model| model.name == name)
}

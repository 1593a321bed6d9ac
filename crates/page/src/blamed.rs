//! Who cost each class of operations its time: the wait graph's data.

use std::collections::BTreeMap;

use explain::blame::{Accounting, Culprit};
use model::container::Containers;
use report::answer::short_cgroup;
use serde_json::{Map, Value, json};

/// Root blockers by class of operation.
pub(crate) fn blamed(accounting: &Accounting) -> Value {
    by_class(accounting.culprits_by_class())
}

/// The same of the recorded command's operations alone.
pub(crate) fn blamed_of_command(accounting: &Accounting) -> Value {
    by_class(accounting.culprits_of_command_by_class())
}

fn by_class(classes: BTreeMap<String, Vec<Culprit>>) -> Value {
    let classes = classes.into_iter();
    classes.map(|(class, culprits)| (class, culprits.iter().map(culprit).collect())).collect::<Map<_, _>>().into()
}

fn culprit(one: &Culprit) -> Value {
    json!({
        "cause": one.cause.name(),
        "task": one.task.as_ref().and_then(|task| Some(with_role(task.name.as_deref()?, one.role.as_deref()))),
        "cgroup": one.cgroup,
        "place": one.cgroup.as_ref().map(|cgroup| one.container.clone().unwrap_or_else(|| short_cgroup(cgroup,
            &Containers::default()))),
        "device": one.device_name.clone().or_else(|| Some(one.device?.to_string())),
        "file_system": one.file_system,
        "time_ns": one.time_ns,
    })
}

/// `postgres (checkpointer)`
fn with_role(name: &str, role: Option<&str>) -> String {
    role.map_or_else(|| name.to_owned(), |role| format!("{name} ({role})"))
}

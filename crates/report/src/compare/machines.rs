//! The machines within which runs are compared.

use compare::{Comparison, Machine};
use model::quantity::counted;

use crate::style::printable;

/// Names shown of a list.
const NAMED: usize = 4;

/// One sentence; `None` where runs are not compared by machine.
pub(super) fn sentence(found: &Comparison) -> Option<String> {
    if found.machines.is_empty() {
        return None;
    }
    let of_machine = |machine: &Machine| format!("{} ({} and {})", printable(&machine.name), machine.a, machine.b);
    let names: Vec<String> = found.machines.iter().map(of_machine).collect();
    let differ = match found.machines_differ_in.as_slice() {
        [] => String::new(),
        conditions => format!(", which differ in {}", listed(conditions)),
    };
    let machines = counted(found.machines.len() as u64, "machine");
    Some(format!("runs of A and B are compared within {machines}, {}{differ}", listed(&names)))
}

fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(NAMED).map(|name| printable(name)).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

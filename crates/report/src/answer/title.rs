//! A choice of what would help in words.

use explain::whatif::{Change, Choice};

use crate::style::printable;

/// The first remedy's title, or that of an absent culprit.
pub(crate) fn title(choice: &Choice) -> String {
    match (&choice.change, choice.remedies.first()) {
        (_, Some(remedy)) => printable(&remedy.title),
        (Change::Absent(absence), None) => {
            let task = absence.task.as_deref().map_or_else(|| "others".to_owned(), printable);
            let task = absence.pid.map_or_else(|| task.clone(), |pid| format!("{task}/{pid}"));
            let cgroup = absence.container.as_ref().or(absence.cgroup.as_ref()).filter(|cgroup| *cgroup != "/");
            let cgroup = cgroup.map_or_else(String::new, |cgroup| format!(" of {}", printable(cgroup)));
            if let Some(duty) = &absence.duty {
                return format!("let {task} ({}){cgroup} do less at once, or at another time", printable(duty));
            }
            let why = if absence.evicts.is_some() { " (it evicts what is read again)" } else { "" };
            format!("run without {task}{cgroup}{why}")
        }
        (Change::Edge { .. } | Change::Refaults(_), None) => String::new(),
    }
}

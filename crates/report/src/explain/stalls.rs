//! The worst stalls, individually.

use std::collections::HashMap;
use std::fmt::Write as _;

use explain::blame::{Cause, Convoy, Explanation, Holds, Link, STOPPED, Served, Stall, StallCause};
use model::container::Containers;
use model::quantity::Nanoseconds;
use model::quantity::counted;

use super::user_stack;
use crate::number::share;
use crate::style::{Style, printable};

/// Causes shown for one stall.
const CAUSES: usize = 4;
/// Least share of the stall of a cause that is shown.
const LEAST: f64 = 0.01;
/// Least share of what a disk did of a process that is named.
const LEAST_SERVED: f64 = 0.1;

pub(super) fn stalls(text: &mut String, explanation: &Explanation, limit: usize, style: Style) {
    let shown = folded(explanation, limit);
    if shown.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{}", style.heading("Worst stalls"));
    for (at, (stall, alike)) in shown.iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        one(text, stall, &explanation.containers, style);
        if *alike > 0 {
            let alike = counted(*alike, "more stall");
            let _ = writeln!(text, "   {}", style.faint(&format!("{alike} of the same convoy")));
        }
    }
    let listed: u64 = shown.iter().map(|(_, alike)| 1 + alike).sum();
    let more = explanation.slow_operations.saturating_sub(listed);
    if more > 0 {
        let _ = writeln!(text, "{}", style.faint(&format!(" {more} more; see --worst and --json")));
    }
}

/// The stalls that are described.
pub(super) fn shown(explanation: &Explanation, limit: usize) -> impl Iterator<Item = &Stall> {
    folded(explanation, limit).into_iter().map(|(stall, _)| stall)
}

/// The worst stalls, of each convoy the longest alone, with the number of the others: they would say the same again.
fn folded(explanation: &Explanation, limit: usize) -> Vec<(&Stall, u64)> {
    let mut shown: Vec<(&Stall, u64)> = Vec::new();
    let mut of_convoys: HashMap<usize, usize> = HashMap::new();
    for stall in &explanation.stalls {
        let convoy = explanation.convoys.iter().position(|convoy| is_in(convoy, stall));
        match convoy.and_then(|convoy| of_convoys.get(&convoy)) {
            Some(at) => shown[*at].1 += 1,
            None if shown.len() < limit => {
                of_convoys.extend(convoy.map(|convoy| (convoy, shown.len())));
                shown.push((stall, 0));
            }
            None => {}
        }
    }
    shown
}

/// Whether a stall is mostly the wait of a convoy.
fn is_in(convoy: &Convoy, stall: &Stall) -> bool {
    let is_victim = || convoy.named.iter().any(|(task, _)| task.tid == stall.task.tid);
    stall.causes.first().is_some_and(|most| most.cause == convoy.cause)
        && stall.start_ns < convoy.end_ns
        && convoy.start_ns < stall.start_ns.saturating_add(stall.duration_ns)
        && is_victim()
}

pub(super) fn one(text: &mut String, stall: &Stall, containers: &Containers, style: Style) {
    let path = stall.path.as_deref().map_or_else(String::new, |path| format!(" of {}", printable(path)));
    let took = Nanoseconds(stall.duration_ns);
    let (task, what) = (printable(&stall.task.to_string()), printable(&stall.operation));
    let lasted = if stall.finished { format!("took {took}") } else { format!("had not finished after {took}") };
    let before = if stall.cut { ", having begun before the recording" } else { "" };
    let heading = match (stall.operation == STOPPED, stall.finished) {
        (true, true) => format!("{task} was stopped for {took}{before}"),
        (true, false) => format!("{task} was still stopped after {took}{before}"),
        _ => format!("{what}{path} by {task} {lasted}{before}"),
    };
    let _ = writeln!(text, " {}", style.heading(&heading));
    let part = |cause: &StallCause| cause.time_ns as f64 / stall.duration_ns.max(1) as f64;
    for cause in stall.causes.iter().take(CAUSES).filter(|cause| part(cause) >= LEAST) {
        let time = Nanoseconds(cause.time_ns).to_string();
        let _ = writeln!(text, "   {time:>9}  {:>6}  {}", share(part(cause)), cause_words(cause));
    }
    if let Some(words) = stall.user_stack.as_ref().and_then(user_stack::words) {
        let _ = writeln!(text, "   {words}");
    }
    chain(text, stall, containers);
}

/// Starts at the second link: the first repeats the stall's causes.
fn chain(text: &mut String, stall: &Stall, containers: &Containers) {
    for (depth, pair) in stall.chain.windows(2).enumerate() {
        let indent = " ".repeat(5 + depth * 2);
        let _ = writeln!(text, "{indent}{}", link_words(&pair[0], &pair[1]));
        holder(text, &indent, &pair[1]);
    }
    let request = stall.request.as_ref().filter(|request| !request.throttled);
    let submitter = request.and_then(|request| request.task.as_ref());
    // The submitter matters only if it is not the last waiter of the chain.
    let waited = stall.chain.last().and_then(|last| last.task.as_ref());
    if let Some(submitter) = submitter.filter(|submitter| waited.is_none_or(|waited| waited.tid != submitter.tid)) {
        let indent = " ".repeat(3 + stall.chain.len() * 2);
        let _ = writeln!(text, "{indent}for a request by {}", printable(&submitter.to_string()));
    }
    if let Some(words) = stall.served.as_ref().and_then(|served| others_served(served, containers)) {
        let _ = writeln!(text, "     {words}");
    }
}

/// Where the holder of a lock was.
fn holder(text: &mut String, indent: &str, link: &Link) {
    let stack = link.kernel_stack.join(" < ");
    // Where the cause is unknown, the detail is the stack.
    let is_new =
        link.holds.is_some() && !stack.is_empty() && link.detail.as_ref().is_none_or(|detail| !detail.contains(&stack));
    if is_new {
        let _ = writeln!(text, "{indent}  asleep in {stack}");
    }
    if let Some(words) = link.user_stack.as_ref().and_then(user_stack::words) {
        let _ = writeln!(text, "{indent}  {words}");
    }
}

/// Whom the disk served most while the task waited, if that was somebody else with a share that matters.
fn others_served(served: &Served, containers: &Containers) -> Option<String> {
    let most = served.by.iter().find(|one| !one.is_own)?;
    let (what, part) = match served.bytes {
        0 => ("requests", most.requests as f64 / served.requests.max(1) as f64),
        bytes => ("bytes", most.bytes as f64 / bytes as f64),
    };
    let task = most.task.as_ref().map(|task| printable(&task.to_string())).filter(|_| part >= LEAST_SERVED)?;
    let cgroup = most.cgroup.as_deref().filter(|cgroup| *cgroup != "/");
    let cgroup = cgroup.map_or_else(String::new, |cgroup| format!(" in {}", cgroup_words(cgroup, containers)));
    let requests = counted(most.requests, "request");
    Some(format!("while it waited, about {requests} of {task}{cgroup} ({} of the {what}) were served", share(part)))
}

fn cause_words(cause: &StallCause) -> String {
    let detail = cause.detail.as_deref().map_or_else(String::new, |detail| format!(": {}", printable(detail)));
    format!("{}{detail}", cause.cause.words())
}

fn link_words(before: &Link, link: &Link) -> String {
    let task = link.task.as_ref().map_or_else(|| "an unknown task".to_owned(), |task| printable(&task.to_string()));
    let detail = link.detail.as_deref().map_or_else(String::new, |detail| format!(": {}", printable(detail)));
    let begin = match link.holds {
        Some(Holds::Stopped) => {
            return format!("{} by {task}", if link.cause == Cause::Frozen { "frozen" } else { "stopped" });
        }
        Some(Holds::Exactly) => format!("held by {task}:"),
        Some(Holds::Perhaps) => format!("held by readers, such as {task}:"),
        Some(Holds::OtherEnd) => format!("waits for {task}:"),
        None if before.task == link.task => "that is".to_owned(),
        None => format!("woken by {task}:"),
    };
    format!("{begin} {} {}{detail}", Nanoseconds(link.time_ns), link.cause.words())
}

/// The container's name where a cgroup is of one, else its path.
pub(crate) fn cgroup_words(cgroup: &str, containers: &Containers) -> String {
    printable(&containers.words(cgroup).unwrap_or_else(|| cgroup.to_owned()))
}

#[cfg(test)]
mod tests {
    use explain::blame::{Served, ServedTo, TaskId};
    use model::container::Containers;

    use super::others_served;

    #[test]
    fn the_cgroup_of_a_container_has_its_name() {
        let id = "1463d1f9468191c000ca6fc892fa468d39ec3ec9d52fdf419227f6e0d51b23c3";
        let path = format!("/machine.slice/libpod-{id}.scope/container");
        let served = |cgroup: &str| Served {
            requests: 2,
            bytes: 10,
            by: vec![ServedTo {
                task: Some(TaskId { tid: 9, name: Some("dd".to_owned()) }),
                cgroup: Some(cgroup.to_owned()),
                is_own: false,
                requests: 2,
                bytes: 10,
            }],
        };
        let containers = Containers::new([(path.as_str(), "hog")].into_iter());
        let said = |cgroup: &str| others_served(&served(cgroup), &containers).unwrap();
        assert_eq!(
            said(&path),
            "while it waited, about 2 requests of dd/9 in container hog (100 % of the bytes) were served"
        );
        assert!(said("/hog.service").contains("dd/9 in /hog.service ("));
    }
}

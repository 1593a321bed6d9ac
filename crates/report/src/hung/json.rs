//! The document of `hung --json`.

use serde_json::{Value, json};

use super::HungFindings;

/// The whole document. A task is a position in `tasks`; what the dump does not say is `null`.
pub fn document(findings: &HungFindings<'_>) -> Value {
    let HungFindings { dump, analysis, advice } = findings;
    json!({
        "kernel": dump.kernel,
        "tasks": tasks(findings),
        "tasks_left_out": dump.more_tasks,
        "tasks_not_blocked": dump.tasks.len() - analysis.blocked.len(),
        "groups": analysis.groups.iter().map(|group| json!({
            "class": group.wait.class.name(),
            "waits_for": group.wait.what,
            "behind": group.behind,
            "tasks": group.members,
        })).collect::<Vec<_>>(),
        "roots": analysis.roots.iter().map(|root| json!({
            "class": root.class.name(),
            "what": root.what,
            "holder": root.holder,
            "tasks": root.tasks,
            "tasks_behind": root.behind,
        })).collect::<Vec<_>>(),
        "signs": dump.signs.iter().map(|sign| json!({"of": sign.of, "message": sign.text,
            "count": sign.count})).collect::<Vec<_>>(),
        "collect_next": advice,
    })
}

fn tasks(findings: &HungFindings<'_>) -> Vec<Value> {
    let task = |blocked: &hung::Blocked| {
        let task = &findings.dump.tasks[blocked.task];
        json!({
            "name": task.name,
            "tid": task.tid,
            "state": task.state.map(String::from),
            "work": task.work,
            "blocked_s": task.blocked_s,
            "reports": task.reports,
            "class": blocked.wait.class.name(),
            "waits_for": blocked.wait.what,
            "function": blocked.wait.function,
            "in_reclaim": blocked.wait.in_reclaim,
            "behind": blocked.behind.as_ref().map(|(name, _)| name),
            "behind_is_named_by_the_kernel": blocked.is_named,
            "stack": task.frames,
        })
    };
    findings.analysis.blocked.iter().map(task).collect()
}

//! What lets stopped tasks go on.

use model::cause::Cause;
use model::wait_kind::WaitKind;
use remedy::Remedies;

use super::{advise, explanation, run, waits};
use crate::waits::{Freezer, Stopped};

/// What lets a stopped task go on depends on what stopped it.
#[test]
fn a_stopped_task_goes_on_by_what_stopped_it() {
    let frozen = |cgroup: &str, version, is_of_manager| {
        let freezer = Freezer { cgroup: cgroup.into(), version, is_of_manager };
        Stopped { pid: 812, freezer: Some(freezer) }
    };
    let thread = Stopped { pid: 812, freezer: None };
    let service = "/system.slice/app\\x2d1.service";
    for (kind, stopped, version, title) in [
        (Some(WaitKind::StopSignal), thread.clone(), 2, "continue the stopped task: kill -CONT 812"),
        (Some(WaitKind::Debugger), thread, 2, "end or detach the debugger that stops the task"),
        (
            Some(WaitKind::FrozenCgroup),
            frozen(service, Some(2), true),
            2,
            "thaw the frozen unit: systemctl thaw 'app\\x2d1.service'",
        ),
        // Another program froze the cgroup of the unit, or one within it.
        (
            Some(WaitKind::FrozenCgroup),
            frozen("/a.scope", Some(2), false),
            2,
            "thaw the cgroup: echo 0 > /sys/fs/cgroup/a.scope/cgroup.freeze",
        ),
        (
            Some(WaitKind::FrozenCgroup),
            frozen("/a.scope/b", Some(2), true),
            2,
            "thaw the cgroup: echo 0 > /sys/fs/cgroup/a.scope/b/cgroup.freeze",
        ),
        // Both versions are mounted.
        (
            Some(WaitKind::FrozenCgroup),
            frozen("/a b", Some(2), true),
            1,
            "thaw it: echo 0 > /sys/fs/cgroup/unified'/a b'/cgroup.freeze",
        ),
        (
            Some(WaitKind::FrozenCgroup),
            frozen("/a.scope", None, true),
            1,
            "thaw it: echo THAWED > /sys/fs/cgroup/freezer/a.scope/freezer.state",
        ),
    ] {
        let mut waits = waits(Cause::Stopped);
        waits.paths[0][0].kind = kind;
        waits.stopped.insert(waits.paths[0][0].tid, stopped);
        let mut run = run();
        run.host.cgroup_version = Some(version);
        let advice = advise(&explanation(Cause::Stopped, None), &waits, &Remedies::shipped(), &run);
        let remedies = advice.choices.iter().flat_map(|choice| &choice.remedies);
        let titles: Vec<&str> = remedies.map(|remedy| remedy.title.as_str()).collect();
        assert_eq!(titles, [title]);
    }
}

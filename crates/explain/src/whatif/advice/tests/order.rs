//! What comes first.

use model::block::DeviceNumber;
use model::cause::Cause;
use model::run::Device;
use model::wait_kind::WaitKind;
use remedy::Remedies;

use super::{MIB, MS, explanation, limited, run, waits};
use crate::waits::{Step, Waits};
use crate::whatif::Change;
use crate::whatif::advice::{Advice, advise};

fn first(advice: &Advice) -> Option<&str> {
    Some(advice.choices.first()?.remedies.first()?.id.as_str())
}

/// 80 of 90 ms in the queue of mq-deadline, 10 at the device: a disk that is twice as fast saves half, and costs.
#[test]
fn a_class_for_the_others_comes_before_a_faster_disk() {
    let mut waits = waits(Cause::SchedulerQueue);
    let device = Some(DeviceNumber::new(7, 3));
    waits.paths[0][0].device = device;
    waits.paths.push(vec![Step { cause: Cause::Device, ..waits.paths[0][0] }]);
    waits.operations[0].pieces = vec![(0, 80 * MS), (2, 10 * MS)];
    let mut run = run();
    run.host.kernel_release = "6.18.44".into();
    let scheduler = Some("mq-deadline".to_owned());
    run.devices.push(Device { number: "7:3".into(), name: "loop3".into(), scheduler, ..Device::default() });
    let mut explanation = explanation(Cause::SchedulerQueue, Some("fio"));
    explanation.culprits[0].device = device;
    // The competitor is of the recorded command: it is not advised away.
    waits.command.insert(9);
    let advice = advise(&explanation, &waits, &Remedies::shipped(), &run);
    assert_eq!(first(&advice), Some("ionice-idle-deadline"));
    explanation.culprits[0].own_ns = explanation.culprits[0].time_ns;
    let advice = advise(&explanation, &waits, &Remedies::shipped(), &run);
    assert_eq!(first(&advice), Some("faster-disk"), "the requests are its own");
}

/// The holder of a lock of the kernel waits for room in the journal during two thirds of the time.
#[test]
fn what_can_be_changed_comes_before_where_to_look() {
    let mut waits = waits(Cause::Lock);
    waits.paths[0][0].kind = Some(WaitKind::KernelLock);
    let room = Step { cause: Cause::Journal, kind: Some(WaitKind::JournalSpace), tid: 9, ..waits.paths[0][0] };
    waits.paths.push(vec![waits.paths[0][0], room]);
    waits.operations[0].pieces = vec![(0, 30 * MS), (2, 60 * MS)];
    let advice = advise(&explanation(Cause::Lock, None), &waits, &Remedies::shipped(), &run());
    assert_eq!(first(&advice), Some("ext4-journal-size"));
    let lock = advice.choices.iter().find(|choice| choice.remedies[0].id == "kernel-lock").expect("the lock");
    assert!(lock.saved_ns() > advice.choices[0].saved_ns());
}

/// `curl` asks a server that computes for it while the victim waits; a hundredth of the time is for a CPU that it used.
fn computing() -> (crate::blame::Explanation, Waits) {
    let mut waits = waits(Cause::Running);
    waits.paths[0][0].kind = Some(WaitKind::WorkOfAnother);
    waits.paths[1][0].kind = Some(WaitKind::OwnWork);
    let mut explanation = explanation(Cause::Running, Some("curl"));
    let cpu = crate::blame::Culprit { cause: Cause::CpuWait, time_ns: MS, ..explanation.culprits[0].clone() };
    explanation.culprits.push(cpu);
    (explanation, waits)
}

#[test]
fn a_client_of_a_busy_server_is_wanted_too() {
    let (explanation, waits) = computing();
    let advice = advise(&explanation, &waits, &Remedies::shipped(), &run());
    assert_eq!(first(&advice), Some("cheaper-request"));
    assert!(advice.choices.iter().any(|choice| matches!(choice.change, Change::Absent(_))));
}

/// Of 240 MiB that a cgroup of 32 MiB read, all but a tenth again, `cat` read most.
#[test]
fn a_task_that_evicts_what_is_read_again_is_named() {
    let evictor = |filled_mib: u64| {
        let mut waits = limited(Cause::Device, "pread64", (240, 216, 240));
        waits.memory[0].filled_by = [("cat".to_owned(), filled_mib * MIB)].into();
        let advice = advise(&explanation(Cause::Device, None), &waits, &Remedies::shipped(), &run());
        let first = &advice.choices[0];
        matches!(&first.change, Change::Absent(absence) if absence.task.as_deref() == Some("cat"))
            .then_some(first.prediction.total_ns.value / MS)
    };
    assert_eq!(evictor(200), Some(19), "a tenth of 90 ms at the device, and 10 of work");
    assert_eq!(evictor(100), None, "the victims fill most of it themselves");
}

/// 72 of 100 ms on the run queue behind 37 threads of its own process, 15 of its own work.
#[test]
fn fewer_threads_come_before_cheaper_work_where_cpus_lack() {
    let mut waits = waits(Cause::CpuWait);
    waits.paths[1][0].kind = Some(WaitKind::OwnWork);
    waits.operations[0].pieces = vec![(0, 72 * MS), (1, 15 * MS)];
    let mut explanation = explanation(Cause::CpuWait, Some("simoop"));
    let run = run();
    let all = |explanation: &crate::blame::Explanation, waits: &Waits| {
        let advice = advise(explanation, waits, &Remedies::shipped(), &run);
        let remedies = advice.choices.iter().flat_map(|choice| &choice.remedies);
        remedies.map(|remedy| remedy.id.clone()).collect::<Vec<_>>()
    };
    let others = all(&explanation, &waits);
    assert!(!others.contains(&"fewer-threads".to_owned()) && others.contains(&"own-cpus".to_owned()), "{others:?}");
    // Another process of the recorded command is its own choice as well.
    waits.command.insert(explanation.culprits[0].task.as_ref().expect("a process").tid);
    assert_eq!(all(&explanation, &waits), ["fewer-threads", "cheaper-call"]);
    waits.command.clear();
    explanation.culprits[0].own_ns = explanation.culprits[0].time_ns;
    assert_eq!(all(&explanation, &waits), ["fewer-threads", "cheaper-call"]);
}

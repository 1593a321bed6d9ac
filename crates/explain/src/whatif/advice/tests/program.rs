//! What one program does to others, or to itself.

use model::cause::Cause;
use model::wait_kind::WaitKind;
use remedy::Remedies;

use super::{MS, explanation, run, waits};
use crate::blame::{ClassTimes, Culprit, Explanation, ShortWaits};
use crate::waits::{Step, Waiting, Waits};
use crate::whatif::Change;
use crate::whatif::advice::{Advice, advise};

fn first(advice: &Advice) -> Option<&str> {
    advice.choices.first()?.remedies.first().map(|remedy| remedy.id.as_str())
}

fn advised(waits: &Waits) -> Advice {
    advise(&explanation(Cause::Running, None), waits, &Remedies::shipped(), &run())
}

/// Of 100 ms, 60 are of one cause and 40 wait for a CPU.
fn beside_cpu_waits(cause: Cause, kind: Option<WaitKind>, ms: u64) -> Waits {
    let mut waits = waits(cause);
    waits.paths[0][0].kind = kind;
    waits.paths[1][0].cause = Cause::CpuWait;
    waits.operations[0].pieces = vec![(0, ms * MS), (1, (100 - ms) * MS)];
    waits
}

#[test]
fn a_server_that_computes_is_to_do_so_for_a_shorter_time() {
    for (kind, id) in [(Some(WaitKind::WorkOfAnother), "cheaper-request"), (Some(WaitKind::OwnWork), "cheaper-call")] {
        assert_eq!(first(&advised(&beside_cpu_waits(Cause::Running, kind, 60))), Some(id));
        assert_eq!(first(&advised(&beside_cpu_waits(Cause::Running, kind, 50))), Some("own-cpus"), "certain");
    }
}

#[test]
fn a_program_that_sleeps_by_its_own_timer_is_to_be_changed() {
    let advice = advised(&waits(Cause::Sleep));
    assert_eq!(first(&advice), Some("event-not-timer"));
    assert!(advice.choices[0].is_bound() && advice.choices[0].prediction.total_ns.value == 10 * MS);
}

/// Task 7 asks a FUSE server, dd/9, which sleeps.
#[test]
fn the_server_of_a_file_system_is_not_advised_away() {
    let mut waits = waits(Cause::NetworkFs);
    let sleeps = Step { tid: 9, cause: Cause::Sleep, ..waits.paths[0][0] };
    waits.paths[0].push(sleeps);
    waits.tasks.extend([(7, "victim/7".to_owned()), (9, "dd/9".to_owned())]);
    let advice = advise(&explanation(Cause::Sleep, Some("dd")), &waits, &Remedies::shipped(), &run());
    let is_absence = |change: &Change| matches!(change, Change::Absent(_));
    assert!(!advice.choices.is_empty() && advice.choices.iter().all(|choice| !is_absence(&choice.change)));
}

/// The neighbours' operations wait for a device, the command's shorter waits for its quota.
#[test]
fn shorter_waits_that_cost_more_are_what_is_advised_against() {
    let mut waits = waits(Cause::Device);
    let cut = Waiting { pieces: vec![(0, 50 * MS)], ..waits.operations[0].clone() };
    let quota = waits.paths[0].iter().map(|step| Step { cause: Cause::CpuThrottle, ..*step }).collect();
    let short = Waits { operations: vec![cut; 20], paths: vec![quota], are_short: true, ..waits.clone() };
    let culprit =
        Culprit { cgroup: Some("/small".into()), ..explanation(Cause::CpuThrottle, Some("dd")).culprits[0].clone() };
    let class = ClassTimes { class: "preempted".into(), operations: 20, wall_ns: 1000 * MS, causes: Vec::new() };
    let sums = ShortWaits { culprits: vec![culprit], calls: vec![class], ..ShortWaits::default() };
    let explanation = Explanation { short_waits: sums, ..explanation(Cause::Device, None) };
    let of = |waits: &Waits| advise(&explanation, waits, &Remedies::shipped(), &run());
    assert_eq!((of(&waits).of_short_waits, first(&of(&waits))), (false, Some("faster-disk")));
    waits.short = Some(Box::new(short));
    let advice = of(&waits);
    assert_eq!((advice.of_short_waits, advice.recorded.total_ns), (true, 1000 * MS));
    assert!(first(&advice).is_some_and(|id| id.contains("cpu-quota-off")), "{:?}", first(&advice));
    assert_eq!(advice.choices[0].target.cgroup.as_deref(), Some("/small"));
}

//! Remedies that fit the scheduler, the kernel and the program of a run.

use model::block::DeviceNumber;
use model::cause::Cause;
use model::run::{Device, RunDescription};
use model::wait_kind::WaitKind;
use remedy::Remedies;

use super::{MS, against, explanation, predicted, run, waits};
use crate::waits::{SqliteJournal, Step};
use crate::whatif::advice::{Choice, advise};

/// A run on a disk with that scheduler, by that kernel.
fn run_under(scheduler: Option<&str>, kernel: &str) -> RunDescription {
    let mut run = run();
    run.host.kernel_release = kernel.into();
    let scheduler = scheduler.map(str::to_owned);
    run.devices.push(Device { number: "7:3".into(), name: "loop3".into(), scheduler, ..Device::default() });
    run
}

#[test]
fn an_io_class_is_advised_only_where_the_scheduler_in_use_honours_it() {
    let ids = |scheduler, kernel: &str| {
        let mut waits = waits(Cause::SchedulerQueue);
        waits.paths[0][0].device = Some(DeviceNumber::new(7, 3));
        let run = run_under(scheduler, kernel);
        let advice = advise(&explanation(Cause::SchedulerQueue, None), &waits, &Remedies::shipped(), &run);
        let ids = advice.choices.iter().flat_map(|choice| choice.remedies.iter().map(|remedy| remedy.id.clone()));
        ids.filter(|id| id.contains("ionice") || id.contains("weight") || id.contains("fifo")).collect::<Vec<_>>()
    };
    assert_eq!(ids(Some("bfq"), "5.10.0-9-amd64"), ["ionice-idle", "v2-weight"]);
    assert_eq!(ids(Some("mq-deadline"), "6.18.44"), ["ionice-idle-deadline", "fifo-batch"]);
    assert_eq!(ids(Some("mq-deadline"), "5.10.0-9-amd64"), ["fifo-batch"], "before 5.16 it has no classes");
    for (scheduler, kernel) in [(Some("none"), "6.18.44"), (Some("kyber"), "6.18.44"), (None, "6.18.44")] {
        assert_eq!(ids(scheduler, kernel), [""; 0], "{scheduler:?}");
    }
}

/// Waits of an operation with files of SQLite, in a call that syncs or in another.
fn of_sqlite(cause: Cause, kind: Option<WaitKind>, (journal, syncs): (SqliteJournal, bool)) -> Vec<(String, u64)> {
    let mut waits = waits(cause);
    (waits.paths[0][0].kind, waits.paths[0][0].syncs) = (kind, syncs);
    waits.sqlite.insert(7, journal);
    let advice = advise(&explanation(cause, None), &waits, &Remedies::shipped(), &run());
    let of = |choice: &Choice| (choice.remedies[0].id.clone(), choice.prediction.total_ns.value / MS);
    advice.choices.iter().map(of).filter(|(id, _)| id.starts_with("sqlite")).collect()
}

#[test]
fn sqlite_is_advised_by_its_journal() {
    use SqliteJournal::{Rollback, Wal};
    let of = |list: &[(&str, u64)]| list.iter().map(|(id, ms)| ((*id).to_owned(), *ms)).collect::<Vec<_>>();
    assert_eq!(of_sqlite(Cause::Lock, Some(WaitKind::PosixLock), (Rollback, false)), of(&[("sqlite-wal-readers", 10)]));
    assert_eq!(of_sqlite(Cause::Lock, Some(WaitKind::PosixLock), (Wal, false)), of(&[("sqlite-transactions", 10)]));
    let both = [("sqlite-synchronous", 10), ("sqlite-wal", 55)];
    assert_eq!(of_sqlite(Cause::IoThrottle, Some(WaitKind::Write), (Rollback, true)), of(&both));
    assert_eq!(of_sqlite(Cause::Journal, None, (Wal, true)), of(&both[..1]));
    assert_eq!(of_sqlite(Cause::Device, None, (Wal, false)), [], "no sync");
    assert!(!against(Cause::Lock, Some(WaitKind::PosixLock)).iter().any(|id| id.contains("sqlite")), "other programs");
}

/// A commit that waits for the discards of another goes with these: no other kind of sync does without it.
#[test]
fn a_journal_that_waits_for_discards_is_no_matter_of_fsync() {
    let total_of = |kind: Option<WaitKind>| {
        let mut waits = waits(Cause::Journal);
        waits.paths[0].push(Step {
            cause: Cause::IoThrottle,
            kind,
            device: None,
            blamed: None,
            tid: 9,
            syncs: false,
            occasion: None,
        });
        let of = |id| predicted(Cause::Journal, &waits, id).map(|(ms, _)| ms);
        (of("ext4-external-journal"), of("discard-less"))
    };
    assert_eq!(total_of(Some(WaitKind::Write)), (Some(10), None));
    assert_eq!(total_of(Some(WaitKind::Discard)), (None, Some(10)));
}

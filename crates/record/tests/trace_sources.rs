//! Each source of the tracer on the real kernel.

mod trace_stage;

use model::block::DeviceNumber;
use model::detail::{Detail, DirtyPages};
use model::stall::{StallKind, StallRecord};
use record::{BlockedNow, TraceOptions, clock};
use trace_stage::{Group, Stage, most_of_it, trace, trace_and_look};

#[test]
fn reclaim_in_a_small_memory_cgroup_and_what_it_shrinks() {
    let Some(stage) = Stage::ext4() else { return };
    let limit = [("memory.limit_in_bytes", "33554432")];
    let Some(group) = Group::new("memory", &limit) else { return };
    let folder = stage.mounted();
    trace_stage::run(
        "sh",
        &[
            "-c",
            &format!(
                "mkdir {folder}/d; cd {folder}/d; seq 1 20000 | xargs touch; sync; head -c 100m /dev/zero > ../big"
            ),
        ],
    );
    stage.remount();
    let command = format!("{} ls -lR {folder}/d >/dev/null; cat {folder}/big >/dev/null", group.enter());
    let Some(seen) = trace(&most_of_it(), &command) else { return };
    let reclaims = seen.of(StallKind::Span, "mm_vmscan_memcg_reclaim");
    assert!(!reclaims.is_empty());
    assert!(reclaims.iter().all(|row| row.duration_ns > 0 && matches!(row.detail, Some(Detail::PagesReclaimed(_)))));
    let shrunk = seen.details(StallKind::Span, "mm_shrink_slab");
    assert!(shrunk.iter().any(|text| text.contains("super_cache_scan of ext4 on loop")), "{shrunk:?}");
    let is_skipped = |lost: &record::LostEvents| lost.what.starts_with("events (the kernel skips") && lost.count < 100;
    assert!(seen.lost.iter().all(is_skipped), "{:?}", seen.lost);
}

/// A setting that outlives its device's file: it is what it was when this is dropped.
struct Changed {
    file: String,
    before: String,
}

impl Changed {
    fn to(value: &str, file: String) -> Changed {
        let before = std::fs::read_to_string(&file).unwrap().trim().to_owned();
        std::fs::write(&file, value).unwrap();
        Changed { file, before }
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        std::fs::write(&self.file, &self.before).unwrap();
    }
}

#[test]
fn dirty_throttling_says_how_much_is_dirty_and_where() {
    let Some(stage) = Stage::ext4() else { return };
    let _limits =
        ["strict_limit", "max_ratio"].map(|name| Changed::to("1", format!("/sys/class/bdi/{}/{name}", stage.number())));
    let command = format!("dd if=/dev/zero of={}/big bs=1M count=200 status=none", stage.mounted());
    let Some(seen) = trace(&most_of_it(), &command) else { return };
    let waits = seen.of(StallKind::OffCpu, "balance_dirty_pages");
    let is_here = |pages: &DirtyPages| pages.backing_device == stage.number() && pages.limit_bytes > 0;
    let ours = waits.iter().filter(|row| row.detail.as_ref().and_then(Detail::dirty_pages).is_some_and(is_here));
    let wait = ours.filter(|row| row.call.is_some()).max_by_key(|row| row.duration_ns).unwrap();
    assert!(wait.duration_ns >= 1_000_000, "{wait:?}");
    assert_eq!(wait.call.as_deref(), Some("write"));
    assert!(seen.stack(wait.stack).contains("balance_dirty_pages"));
}

#[test]
fn a_journal_and_a_wait_for_pages_under_writeback() {
    let Some(stage) = Stage::ext4() else { return };
    let command = format!(
        "for i in 1 2 3 4 5; do dd if=/dev/zero of={}/$i bs=1M count=4 conv=fsync status=none; done",
        stage.mounted()
    );
    let Some(seen) = trace(&most_of_it(), &command) else { return };
    let device = DeviceNumber::parse(&stage.number());
    let commits = seen.of(StallKind::Span, "jbd2_run_stats");
    let is_ours = |detail: &Detail| matches!(detail, Detail::JournalCommit(commit) if Some(commit.device) == device);
    assert!(commits.iter().any(|row| row.detail.as_ref().is_some_and(is_ours)), "{commits:?}");
    let journal = commits.iter().find(|row| row.detail.as_ref().is_some_and(is_ours)).unwrap().tid;
    assert!(seen.traced.tasks.iter().any(|task| task.tid == journal && task.name.starts_with("jbd2/loop")));
    let waits = seen.of(StallKind::OffCpu, "folio_wait_writeback");
    let is_page = |detail: &Detail| matches!(detail, Detail::Inode { .. }) && detail.device() == device;
    let wait = waits.iter().find(|row| row.detail.as_ref().is_some_and(is_page));
    let wait = wait.unwrap_or_else(|| panic!("{waits:?}"));
    assert_eq!(wait.call.as_deref(), Some("fsync"));
    assert!(wait.woken_ns.is_some_and(|ns| wait.start_ns <= ns && ns <= wait.end_ns()) && wait.waker_tid.is_some());
}

#[test]
fn a_contended_inode_lock() {
    let Some(stage) = Stage::xfs() else { return };
    let file = format!("{}/file", stage.mounted());
    let one = format!("dd if=/dev/zero of={file} bs=16M count=8 conv=notrunc status=none");
    let Some(seen) = trace(&most_of_it(), &format!("{one} & {one} & wait")) else { return };
    let locks = seen.details(StallKind::OffCpu, "contention_begin");
    assert!(locks.iter().any(|text| text == "rwsem write"), "{locks:?}");
}

#[test]
fn waits_for_the_log_of_xfs() {
    let Some(stage) = Stage::xfs() else { return };
    let command = format!(
        "for i in $(seq 1 50); do dd if=/dev/zero of={}/$i bs=4k count=1 conv=fsync status=none; done",
        stage.mounted()
    );
    let Some(seen) = trace(&most_of_it(), &command) else { return };
    let number = stage.number().replace(':', ",");
    for tracepoint in ["xlog_iclog_wait_on", "xfs_log_force"] {
        let waits = seen.details(StallKind::OffCpu, tracepoint);
        println!("{tracepoint}: {}", waits.len());
        let ours = waits.iter().any(|text| *text == format!("on {number}"));
        assert!(ours || tracepoint != "xlog_iclog_wait_on", "{tracepoint}: {waits:?}");
    }
}

#[test]
fn a_transaction_commit_of_btrfs() {
    let Some(stage) = Stage::new(&["mkfs.btrfs", "-q", "-f"], 512) else { return };
    let folder = stage.mounted();
    let command = format!(
        "head -c 20m /dev/zero > {folder}/file; sync -f {folder}; seq 1 2000 | (cd {folder}; xargs touch); sync -f \
         {folder}"
    );
    let Some(seen) = trace(&most_of_it(), &command) else { return };
    let commits = seen.of(StallKind::Span, "btrfs_transaction_commit");
    assert!(commits.iter().any(|row| row.duration_ns > 0 && row.detail.is_some()), "{commits:?}");
}

#[test]
fn what_a_limit_of_the_cgroup_held_back() {
    let Some(stage) = Stage::new(&[], 64) else { return };
    let limit = format!("{} 2097152", stage.number());
    let Some(group) = Group::new("blkio", &[("blkio.throttle.write_bps_device", &limit)]) else { return };
    let command =
        format!("{} dd if=/dev/zero of={} bs=256k count=4 oflag=direct status=none", group.enter(), stage.device());
    let Some(seen) = trace(&most_of_it(), &command) else { return };
    let held = seen.traced.requests.iter().filter(|request| request.throttled).count();
    assert!(held >= 2, "{:?}", seen.traced.requests);
    let writes =
        seen.traced.stalls.iter().filter(|row| row.kind == StallKind::SystemCall && row.duration_ns > 50_000_000);
    assert!(writes.count() >= 2);
}

#[test]
fn a_writer_to_a_frozen_file_system_is_blocked_now_and_its_wait_is_emitted() {
    let Some(stage) = Stage::ext4() else { return };
    let folder = stage.mounted();
    let marks = tempfile::tempdir().unwrap();
    let (frozen, seen) = (marks.path().join("frozen"), marks.path().join("seen"));
    // It is thawed when the writer has been seen, and after a minute in any case.
    let command = format!(
        "fsfreeze -f {folder}; touch {}; (for i in $(seq 600); do sleep 0.1; [ ! -e {} ] || break; done; fsfreeze -u \
         {folder}) & \
         exec dd if=/dev/zero of={folder}/x bs=4k count=1 conv=fsync status=none",
        frozen.display(),
        seen.display()
    );
    let look = |blocked: &[BlockedNow]| {
        let since_ns = clock::monotonic_ns() - 1_500_000_000;
        let is_writer = |one: &&BlockedNow| one.name == "dd" && one.frames.iter().any(|frame| frame.contains("percpu"));
        if frozen.exists() && blocked.iter().filter(is_writer).any(|one| one.since_ns < since_ns) {
            std::fs::write(&seen, "").unwrap();
        }
    };
    let options = TraceOptions { blocked_ns: 500_000_000, ..most_of_it() };
    let Some(seen) = trace_and_look(&options, &command, look) else { return };
    let blocked = seen.blocked.iter().find(|blocked| blocked.tid == seen.shell).unwrap();
    assert!(blocked.frames.iter().any(|frame| frame.contains("percpu")), "{blocked:?}");
    assert_eq!(blocked.call, Some("openat"));
    let of_it = |row: &&&StallRecord| row.tid == blocked.tid;
    let waits: Vec<_> = seen.traced.stalls.iter().filter(|row| row.kind == StallKind::Blocked).collect();
    let wait = waits.iter().find(of_it).unwrap_or_else(|| panic!("{waits:?}"));
    assert!(wait.duration_ns >= 500_000_000 && seen.stack(wait.stack).contains("percpu"), "{wait:?}");
    let locks = seen.of(StallKind::OffCpu, "contention_begin");
    let lock = locks.iter().find(of_it).unwrap_or_else(|| panic!("{locks:?}"));
    assert_eq!(lock.detail.as_ref().map(ToString::to_string).as_deref(), Some("percpu read"));
    assert!(lock.duration_ns >= 1_000_000_000, "{lock:?}");
}

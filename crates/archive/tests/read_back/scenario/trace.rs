//! What a tracer sees in one flush: each optional cell is there in some rows and absent in others.

use model::block::{DeviceNumber, Kind, Operation};
use model::detail::Detail;
use model::operation::Bucket;
use model::stall::{
    Awaits, RequestFailures, RequestIntervalRecord, RequestParts, RequestRecord, StackRecord, StallKind, StallRecord,
    TaskRecord, Traced, request_bucket,
};

use model::usage::{Resource, UsageRecord};
use model::user_stack::{UserFrameRecord, UserStackRecord};

use super::SECOND;

const LOOP: DeviceNumber = DeviceNumber::new(7, 3);
const METADATA: Kind = Kind::of(Operation::Read).with(Kind::META);

/// Rows that no other step has.
pub(crate) fn traced(step: u32) -> Traced {
    Traced {
        stalls: vec![bare_stall(step), full_stall(step)],
        stacks: vec![StackRecord { stack: step, frames: frames(step) }],
        requests: vec![bare_request(2 * step), full_request(2 * step + 1)],
        request_intervals: vec![request_interval(step)],
        tasks: vec![task(step)],
        usage: vec![bare_usage(step), full_usage(step)],
        user_stacks: vec![user_stack(step)],
        user_frames: vec![bare_frame(2 * step), full_frame(2 * step + 1)],
    }
}

fn user_stack(step: u32) -> UserStackRecord {
    let frames = (0..step % 4).collect();
    UserStackRecord { tid: 70, start_ns: at(step), end_ns: at(step) + 5, frames, whole: step.is_multiple_of(2) }
}

fn bare_frame(frame: u32) -> UserFrameRecord {
    UserFrameRecord {
        frame,
        module: None,
        build_id: None,
        offset: 0x7fff_1234_5678,
        is_innermost: true,
        functions: Vec::new(),
        files: Vec::new(),
        lines: Vec::new(),
    }
}

fn full_frame(frame: u32) -> UserFrameRecord {
    UserFrameRecord {
        module: Some("/usr/bin/db".into()),
        build_id: Some("c0ffee".into()),
        offset: 0x1234,
        is_innermost: false,
        functions: vec!["flush".into(), "commit".into()],
        files: vec!["log.c".into(), String::new()],
        lines: vec![12, 0],
        ..bare_frame(frame)
    }
}

fn bare_usage(step: u32) -> UsageRecord {
    UsageRecord { bytes: 4096, ..UsageRecord::new(Resource::Dirtied, at(step), at(step + 1)) }
}

fn full_usage(step: u32) -> UsageRecord {
    UsageRecord {
        start_ns: at(step),
        end_ns: at(step + 1),
        resource: Resource::ALL[step as usize % Resource::ALL.len()],
        device: Some(LOOP),
        cpu: Some(3),
        thread: Some(step + 1),
        pid: Some(70),
        waiting: Some(71),
        cgroup: Some("/a/b".into()),
        limit: Some("/a".into()),
        count: 17,
        bytes: 1 << 40,
        busy_ns: 5,
        throttled: 2,
    }
}

fn at(step: u32) -> u64 {
    u64::from(step) * SECOND
}

fn frames(step: u32) -> Vec<String> {
    ["io_schedule", "folio_wait_bit", "vfs_read"]
        .iter()
        .take(step as usize % 4)
        .map(|&frame| frame.to_owned())
        .collect()
}

fn bare_stall(step: u32) -> StallRecord {
    let kind = StallKind::ALL[step as usize % StallKind::ALL.len()];
    StallRecord::new(kind, 70 + step % 3, at(step), at(step) + 30_000_000)
}

fn full_stall(step: u32) -> StallRecord {
    StallRecord {
        busy_ns: 20_000_000,
        count: 17,
        state: Some(2),
        woken_ns: Some(at(step) + 29_000_000),
        waker_tid: Some(0),
        behind_tid: step.is_multiple_of(2).then_some(step + 7),
        worker_tid: step.is_multiple_of(3).then_some(step + 9),
        stack: Some(step),
        waker_stack: Some(step + 1),
        request: Some(2 * step + 1),
        tracepoint: Some("mm_shrink_slab".into()),
        detail: Some(Detail::Shrinker {
            function: "super_cache_scan".into(),
            file_system: Some(("xfs".into(), "loop3".into())),
        }),
        call: Some("write".into()),
        path: Some("/mnt/a file".into()),
        bytes: Some(0),
        errno: Some(5),
        awaits: Some(Awaits::ALL[step as usize % Awaits::ALL.len()]),
        asked_ns: Some(at(step)),
        cpu: step.is_multiple_of(2).then_some(1),
        ..bare_stall(step)
    }
}

fn bare_request(request: u32) -> RequestRecord {
    RequestRecord {
        request,
        device: DeviceNumber::new(259, 1_000_000),
        sector: 1 << 40,
        bytes: 4096,
        kind: Kind::of(Operation::Write).with(Kind::SYNC).with(Kind::FUA).with(Kind::PREFLUSH),
        tid: 1,
        merges: 0,
        queued_ns: None,
        got_ns: None,
        inserted_ns: None,
        issued_ns: None,
        completed_ns: at(request),
        errno: None,
        throttled: false,
        parts: None,
        in_flight: Vec::new(),
        overtaken_by: Vec::new(),
    }
}

fn full_request(request: u32) -> RequestRecord {
    let done_ns = at(request);
    RequestRecord {
        device: LOOP,
        merges: 3,
        queued_ns: Some(done_ns - 900_000_000),
        got_ns: Some(done_ns - 1),
        inserted_ns: Some(done_ns),
        // Two CPUs' clocks may differ by a little.
        issued_ns: Some(done_ns + 1),
        errno: Some(5),
        throttled: true,
        parts: Some(Box::new(RequestParts {
            failures: RequestFailures {
                first_issued_ns: Some(done_ns - 800_000_000),
                retries: Some(5),
                timeouts: Some(1),
                scsi_result: Some(0x0e02),
                scsi_sense: Some(0x3_1100),
            },
            ..RequestParts::default()
        })),
        in_flight: vec![(Kind::of(Operation::Read), 445), (METADATA, 22)],
        overtaken_by: vec![(METADATA, u32::MAX)],
        ..bare_request(request)
    }
}

fn request_interval(step: u32) -> RequestIntervalRecord {
    let bucket = |ns| Bucket { index: request_bucket(ns), count: ns };
    RequestIntervalRecord {
        start_ns: at(step),
        end_ns: at(step + 1),
        device: LOOP,
        kind: METADATA,
        count: 9,
        bytes: 9 << 12,
        queue: (0..u64::from(step) % 3).map(|n| bucket(1000 << n)).collect(),
        device_time: vec![bucket(5), bucket(u64::MAX)],
    }
}

fn task(step: u32) -> TaskRecord {
    TaskRecord {
        tid: 70 + step,
        pid: 70,
        name: "kworker/0:1+xfs-cil/loop3".into(),
        cgroup: step.is_multiple_of(2).then(|| "/box".into()),
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: at(step),
    }
}

use explain::blame::TaskId;
use explain::series::SeriesSet;
use explain::snapshot::{DeviceLoad, Memory, PressureShare, Snapshot, SnapshotBuilder, Stuck, Window, Work};
use explain::whatif::Advice;
use model::run::RunDescription;
use model::stall::{StackRecord, StallKind, StallRecord, TaskRecord, TraceSettings};
use model::time::Moment;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;
use report::answer::Answer;
use report::snapshot::Panel;
use report::style::Style;

use crate::{Extent, Key, Scene, View, draw};

const S: u64 = 1_000_000_000;
const EXTENT: Extent = Extent { first_ns: 100 * S, last_ns: 160 * S, live: true };

/// Two tasks wait for the log of an XFS, one of them still; a slow loop device; memory is short.
fn snapshot() -> Snapshot {
    let run = RunDescription {
        slower_than_ns: S,
        trace: Some(TraceSettings { slow_ns: S, interval_ns: S / 100, all_requests: false }),
        ..RunDescription::new("simoop", Moment { monotonic_ns: 100 * S, wall_ns: 0 })
    };
    let mut builder = SnapshotBuilder::new(&run, Window { from_ns: 150 * S, to_ns: 160 * S });
    let mut rows = Vec::new();
    for tid in 20..28 {
        let (from, to) = (140 * S + u64::from(tid) * S / 2, 155 * S);
        let off = StallRecord { state: Some(2), stack: Some(1), ..StallRecord::new(StallKind::OffCpu, tid, from, to) };
        let (call, path) = (Some("fsync".into()), Some(format!("/mnt/xfs/stallscope-simoop/file/0000/{tid:03}")));
        rows.extend([off, StallRecord { call, path, ..StallRecord::new(StallKind::SystemCall, tid, from, to) }]);
    }
    rows.push(StallRecord { stack: Some(2), ..StallRecord::new(StallKind::StillBlocked, 30, 151 * S, 159 * S) });
    builder.stalls(&rows);
    let task = |tid: u32| TaskRecord {
        tid,
        pid: tid,
        name: if tid == 30 { "t\x1b[2Jar".into() } else { "simoop".into() },
        cgroup: Some("/box".into()),
        started_by: None,
        role: None,
        container: None,
        io_cgroup: None,
        seen_ns: 0,
    };
    builder.tasks((20..31).map(task).collect::<Vec<_>>().iter());
    let stack =
        |stack, frames: &[&str]| StackRecord { stack, frames: frames.iter().map(|&name| name.into()).collect() };
    builder.stacks(
        [
            stack(1, &["schedule", "xlog_wait_on_iclog", "xfs_log_force_seq", "xfs_file_fsync", "do_fsync"]),
            stack(2, &["schedule", "percpu_rwsem_wait", "__percpu_down_read", "mnt_want_write", "path_openat"]),
        ]
        .iter(),
    );
    let seen = builder.finish(&SeriesSet::default());
    let history = (0..30).map(|step| (step != 3).then(|| f64::from(step % 10) * 7.0)).collect();
    let work = |name: &str, stuck| Work {
        name: name.into(),
        per_s: Some(1234.5),
        bytes_per_s: Some(5e6),
        errors: 0,
        p50_ns: Some(12_000),
        p99_ns: Some(1_400_000_000),
        max_ns: Some(9_000_000_000),
        stuck,
        oldest_running_ns: None,
        history,
    };
    let device = DeviceLoad {
        name: "loop0".into(),
        under_test: true,
        number: Some("7:0".into()),
        mount: Some("xfs on /mnt/xfs".into()),
        in_flight: Some(64),
        reads_per_s: Some(0.0),
        writes_per_s: Some(120.0),
        read_bytes_per_s: Some(0.0),
        written_bytes_per_s: Some(15e6),
        busy: Some(1.0),
        mean_ns: Some(430_000_000),
        device_p99_ns: None,
    };
    let pressure = vec![PressureShare { resource: "io", extent: "some", share: 0.93 }];
    let memory = Memory {
        total_bytes: Some(8 << 30),
        available_bytes: Some(5 << 30),
        dirty_bytes: Some(400 << 20),
        writeback_bytes: None,
        pressure,
    };
    let blocked = Stuck {
        task: TaskId { tid: 99, name: Some("jbd2/loop1-8".into()) },
        cgroup: None,
        io_cgroup: None,
        operation: None,
        path: None,
        since_ns: 159 * S,
        lasts_ns: S,
        holder: Some(TaskId { tid: 7, name: Some("dd".into()) }),
        peer: None,
        frames: Vec::new(),
    };
    let mut stuck = seen.stuck.clone();
    stuck.push(blocked);
    Snapshot { work: vec![work("write", 3)], devices: vec![device], phase: Some("run".into()), memory, stuck, ..seen }
}

fn screen(view: &View, size: (u16, u16), style: Style) -> String {
    let snapshot = snapshot();
    let answer = Answer::of(&snapshot.explanation, &Advice::default());
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let scene = Scene {
        title: "stallscope-runs/2026-11-21T1400-simoop",
        started_ns: 100 * S,
        clock: "14:01:00",
        extent: EXTENT,
        view,
        snapshot: &snapshot,
        answer: &answer,
        remark: None,
        style,
    };
    terminal.draw(|frame| draw(&scene, frame.area(), frame.buffer_mut())).unwrap();
    terminal.backend().to_string()
}

const UNICODE: Style = Style { unicode: true, ..Style::PLAIN };

#[test]
fn small_and_large_screens() {
    let view = View::new(10 * S);
    insta::assert_snapshot!("80x24", screen(&view, (80, 24), UNICODE));
    insta::assert_snapshot!("120x40", screen(&view, (120, 40), UNICODE));
    insta::assert_snapshot!("80x24_ascii", screen(&view, (80, 24), Style::PLAIN));
}

#[test]
fn a_stall_and_a_stuck_task_in_full() {
    let mut view = View::new(10 * S);
    (view.panel, view.row) = (Panel::Stalls, 1);
    view.key(Key::Enter, EXTENT, 9);
    insta::assert_snapshot!("stall", screen(&view, (80, 24), UNICODE));
    (view.panel, view.row) = (Panel::Stuck, 0);
    insta::assert_snapshot!("stuck", screen(&view, (80, 24), UNICODE));
}

#[test]
fn a_filter_hides_rows_and_help_lists_all_keys() {
    let mut view = View::new(10 * S);
    view.filter = "ar/30".into();
    insta::assert_snapshot!("filtered", screen(&view, (80, 24), UNICODE));
    view.help = true;
    insta::assert_snapshot!("help", screen(&view, (80, 24), UNICODE));
}

#[test]
fn every_size_can_be_drawn() {
    let mut view = View::new(10 * S);
    for panel in Panel::ALL {
        view.panel = panel;
        for size in [(1, 1), (39, 9), (40, 10), (41, 13), (60, 11), (79, 23), (300, 100)] {
            let screen = screen(&view, size, UNICODE);
            assert!(!screen.contains('\x1b'), "{screen}");
        }
    }
}

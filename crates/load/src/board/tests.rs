use std::sync::Arc;

use model::latency;
use model::operation::OperationKind;

use super::{
    Board, BoardNames, BoardReader, BoardShape, FinishedOperation, LoadCommand, OperationLevel, OperationRecorder,
    ProcessState, RING_CAPACITY,
};
use crate::data::{FileId, FileNames, FileSet};
use crate::io_failure::IoFailure;

const SLOWER_THAN_NS: u64 = 1_000_000;

fn board(threads: usize) -> (Arc<Board>, BoardReader) {
    let set = FileSet {
        name: "set".to_owned(),
        files: 5000,
        size_bytes: 1,
        replaced: false,
        filled: true,
        stamped: false,
        names: FileNames::default(),
    };
    let naming = BoardNames {
        classes: vec!["read".to_owned(), "write".to_owned()],
        wholes: vec![],
        data_directories: vec!["/d/stallscope-r".into()],
        file_sets: vec![set],
        slower_than_ns: SLOWER_THAN_NS,
    };
    let board = Arc::new(Board::create(BoardShape { classes: 2, threads, cpus: 3, depth: 0 }).unwrap().1);
    (Arc::clone(&board), BoardReader::new(board, naming, 0))
}

fn done(class: usize, latency_ns: u64) -> FinishedOperation {
    FinishedOperation { class, start_ns: 1, end_ns: 1 + latency_ns, bytes: 10, file: None, failure: None }
}

#[test]
fn nothing_is_lost_between_writing_threads_and_a_reader() {
    const THREADS: u64 = 4;
    const EACH: u64 = 50_000;
    let (board, mut reader) = board(THREADS as usize);
    let writers: Vec<_> = (0..THREADS)
        .map(|thread| {
            let board = Arc::clone(&board);
            std::thread::spawn(move || {
                let recorder = OperationRecorder::new(&board, thread as usize, 1, u64::MAX);
                (1..=EACH).for_each(|latency| recorder.finish(OperationLevel::Step, done(1, latency)));
            })
        })
        .collect();
    let mut records = Vec::new();
    while writers.iter().any(|writer| !writer.is_finished()) {
        records.extend(reader.interval("run", 1));
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    records.extend(reader.interval("run", 2));
    assert!(records.iter().all(|record| record.class == "write"));
    assert_eq!(records.iter().map(|r| r.count).sum::<u64>(), THREADS * EACH);
    assert_eq!(records.iter().map(|r| r.bytes).sum::<u64>(), THREADS * EACH * 10);
    assert_eq!(records.iter().map(|r| r.sum_ns).sum::<u64>(), THREADS * EACH * (EACH + 1) / 2);
    assert_eq!(records.iter().filter_map(|r| r.max_ns).max(), Some(EACH));
    let mut buckets: Vec<_> = records.iter().flat_map(|r| &r.buckets).collect();
    buckets.sort_by_key(|bucket| bucket.index);
    let mut seen = 0;
    let median = buckets.into_iter().find(|bucket| {
        seen += bucket.count;
        seen >= THREADS * EACH / 2
    });
    let (low, high) = latency::range_of(median.unwrap().index);
    assert!((low..=high).contains(&(EACH / 2)), "{low}..={high}");
}

#[test]
fn an_interval_holds_only_what_ended_in_it() {
    let (board, mut reader) = board(1);
    let recorder = OperationRecorder::new(&board, 0, 1, u64::MAX);
    recorder.finish(OperationLevel::Step, done(0, 5_000));
    assert_eq!(reader.interval("warmup", 100)[0].max_ns, Some(5_000));
    recorder.finish(OperationLevel::Step, done(0, 7));
    let records = reader.interval("run", 200);
    assert_eq!((records.len(), records[0].count, records[0].max_ns), (1, 1, Some(7)));
    assert_eq!((records[0].start_ns, records[0].end_ns, records[0].sum_ns), (100, 200, 7));
    assert_eq!(reader.interval("run", 300), []);
}

#[test]
fn bucket_counters_may_wrap_around() {
    let (board, mut reader) = board(1);
    let bucket = &board.buckets(0, 0)[7];
    bucket.store(u32::MAX - 1, std::sync::atomic::Ordering::Relaxed);
    let recorder = OperationRecorder::new(&board, 0, 1, u64::MAX);
    recorder.finish(OperationLevel::Step, done(0, 7));
    reader.interval("run", 1);
    (0..5).for_each(|_| recorder.finish(OperationLevel::Step, done(0, 7)));
    assert_eq!(reader.interval("run", 2)[0].count, 5);
}

#[test]
fn running_operations_are_seen_with_their_age_and_file() {
    let (board, mut reader) = board(2);
    let recorder = OperationRecorder::new(&board, 1, 77, SLOWER_THAN_NS);
    recorder.begin(OperationLevel::Round, 1, 500);
    recorder.begin(OperationLevel::Step, 0, 1_000);
    recorder.works_on(FileId::new(0, 0, 1234));
    let records = reader.interval("run", 3_000_000);
    assert_eq!((records[0].class.as_str(), records[0].count, records[0].stuck), ("read", 0, 1));
    assert_eq!(records[0].oldest_running_ns, Some(2_999_000));
    assert_eq!(records[1].oldest_running_ns, Some(2_999_500));
    let stuck = reader.stuck(3_000_000);
    assert_eq!((stuck[0].kind, stuck[0].tid, stuck[0].duration_ns), (OperationKind::Stuck, 77, 2_999_000));
    assert_eq!(stuck[0].path.as_deref(), Some("/d/stallscope-r/set/0001/234"));
    recorder.abandon(OperationLevel::Round);
    recorder.finish(OperationLevel::Step, done(0, 1));
    assert_eq!(reader.stuck(u64::MAX), []);
}

#[test]
fn slow_and_failed_operations_are_recorded_individually() {
    let (board, mut reader) = board(1);
    let recorder = OperationRecorder::new(&board, 0, 42, SLOWER_THAN_NS);
    recorder.finish(OperationLevel::Step, done(0, SLOWER_THAN_NS));
    recorder.finish(OperationLevel::Step, done(0, SLOWER_THAN_NS + 1));
    let failure =
        Some(IoFailure { errno: 28, file: Some(FileId::new(0, 0, 0)), offset_bytes: Some(4096), fault: None });
    recorder.finish(OperationLevel::Step, FinishedOperation { failure, bytes: 0, ..done(1, 3) });
    let (records, lost) = reader.drain_operations();
    assert_eq!((records.len(), lost), (2, 0));
    assert_eq!((records[0].kind, records[0].class.as_str(), records[0].bytes), (OperationKind::Slow, "read", Some(10)));
    assert_eq!((records[1].kind, records[1].errno, records[1].bytes), (OperationKind::Failed, Some(28), None));
    assert_eq!(records[1].path.as_deref(), Some("/d/stallscope-r/set/0000/000"));
    assert_eq!((records[1].offset_bytes, records[1].fault), (Some(4096), None));
    assert_eq!(reader.interval("run", 9).iter().map(|record| record.errors).sum::<u64>(), 1);
}

#[test]
fn operations_that_do_not_fit_into_the_ring_are_counted() {
    const THREADS: usize = 4;
    let (board, mut reader) = board(THREADS);
    let each = RING_CAPACITY;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let board = &board;
            scope.spawn(move || {
                let recorder = OperationRecorder::new(board, thread, thread as u32, 0);
                (0..each).for_each(|_| recorder.finish(OperationLevel::Step, done(0, 5)));
            });
        }
    });
    let (records, lost) = reader.drain_operations();
    assert_eq!((records.len(), lost), (RING_CAPACITY, (THREADS * each - RING_CAPACITY) as u64));
    OperationRecorder::new(&board, 0, 1, 0).finish(OperationLevel::Step, done(0, 5));
    let (records, lost) = reader.drain_rest();
    assert_eq!((records.len(), lost), (1, 0));
}

#[test]
fn every_slow_operation_is_drained_or_counted_while_writers_run() {
    const THREADS: u64 = 3;
    const EACH: u64 = 30_000;
    let (board, mut reader) = board(THREADS as usize);
    let (mut drained, mut lost) = (0, 0);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let board = &board;
                scope.spawn(move || {
                    let recorder = OperationRecorder::new(board, thread as usize, thread as u32, 0);
                    (0..EACH).for_each(|_| recorder.finish(OperationLevel::Step, done(0, 5)));
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            let (records, newly_lost) = reader.drain_operations();
            assert!(records.iter().all(|record| record.duration_ns == 5 && record.start_ns == 1));
            (drained, lost) = (drained + records.len() as u64, lost + newly_lost);
        }
    });
    let (records, newly_lost) = reader.drain_rest();
    assert_eq!(drained + lost + records.len() as u64 + newly_lost, THREADS * EACH);
}

#[test]
fn commands_states_and_messages_pass() {
    let (board, _) = board(1);
    assert_eq!((board.command(), board.state(), board.message()), (LoadCommand::Wait, ProcessState::Starting, None));
    board.give(LoadCommand::Phase { phase: 0, sequence: 7 });
    assert_eq!(
        (board.command(), board.is_stopping(), board.ended_phase()),
        (LoadCommand::Phase { phase: 0, sequence: 7 }, false, None)
    );
    board.end_phase(0);
    assert_eq!(board.ended_phase(), Some(0));
    board.give(LoadCommand::Stop);
    board.fail(&"ä".repeat(1000));
    assert!(board.is_stopping());
    assert_eq!((board.state(), board.message().unwrap().chars().next()), (ProcessState::Failed, Some('ä')));
}

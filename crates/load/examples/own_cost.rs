//! What the load's own cost of an operation is made of: `own_cost`, run by bench/randrw.sh. Each part is
//! repeated by itself; times are the thread's CPU time, so that a busy machine does not matter.

use std::hint::black_box;

use load::board::{Board, FinishedOperation, OperationLevel, OperationRecorder};
use load::data::FileId;
use load::facts::MachineFacts;
use load::plan::{Plan, PlanRequest};
use load::random::Random;
use load::{LoadError, catalogue, clock};
use rustix::time::{ClockId, clock_gettime};

const TIMES: u32 = 5_000_000;

fn main() -> Result<(), LoadError> {
    let recipe = catalogue::find("randrw")?;
    let facts = MachineFacts::gather(&recipe.name, &[std::env::temp_dir()], None)?;
    let plan = Plan::resolve(&recipe, &facts, &PlanRequest::default())?;
    let (_, board) = Board::create(plan.board_shape())?;
    let recorder = OperationRecorder::new(&board, 0, 1, u64::MAX);
    let mut random = Random::new(1, 0);
    let file = Some(FileId::new(0, 0, 0));
    show("a clock reading", |_| clock::now_ns());
    show("one random place", |_| random.below(65_536));
    show("the board: start, end, histogram", |number| {
        recorder.begin_at(OperationLevel::Step, 0, number, file, Some(number));
        let latency_ns = 1000 + number % 4096;
        let end_ns = number + latency_ns;
        recorder.finish(
            OperationLevel::Step,
            FinishedOperation { class: 0, start_ns: number, end_ns, bytes: 4096, file, failure: None },
        );
        end_ns
    });
    Ok(())
}

fn show(part: &str, mut act: impl FnMut(u64) -> u64) {
    let began_ns = thread_ns();
    for number in 0..u64::from(TIMES) {
        black_box(act(black_box(number)));
    }
    let each_ns = (thread_ns() - began_ns) as f64 / f64::from(TIMES);
    println!("  {part:34} {each_ns:5.1} ns");
}

fn thread_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

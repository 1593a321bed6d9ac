//! Whom a task waits for (`wait/awaits.h`) and what it remembers of channels (`channel/table.h`): the programs' own
//! code, compiled for user space, and asked with two fake tasks.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::LazyLock;

use model::stall::Awaits;
use model::system_call::{traits, traits_of};
use proptest::prelude::*;

/// Compiled once; removed when the test ends.
static PROGRAM: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/awaits");
    let includes = [
        format!("{sources}/fake"),
        concat!(env!("CARGO_MANIFEST_DIR"), "/src/bpf").to_owned(),
        env!("OUT_DIR").to_owned(),
    ];
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    compiler.args(["-O1", "-Werror=implicit-function-declaration", "-Wno-unknown-pragmas", "-D__TARGET_ARCH_x86"]);
    compiler.args(includes.map(|folder| format!("-I{folder}"))).arg(format!("{sources}/fake_tasks.c"));
    let output = compiler.arg("-o").arg(folder.path().join("fake_tasks")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
});

struct Fake {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Fake {
    fn start() -> Fake {
        let mut command = Command::new(PROGRAM.path().join("fake_tasks"));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (questions, answers) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        Fake { process, questions, answers }
    }

    fn ask(&mut self, numbers: &[u32]) -> Vec<u32> {
        let line: Vec<String> = numbers.iter().map(u32::to_string).collect();
        writeln!(self.questions, "{}", line.join(" ")).unwrap();
        self.questions.flush().unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.split_whitespace().map(|number| number.parse().unwrap()).collect()
    }

    fn awaits(&mut self, scene: &Scene) -> Option<Awaits> {
        let [answer] = self.ask(&scene.numbers())[..] else { panic!("{scene:?}") };
        (answer as usize).checked_sub(1).map(|at| Awaits::ALL[at])
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const INTERRUPTIBLE: u32 = 1;
const UNINTERRUPTIBLE: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum File {
    None,
    Regular,
    Pipe,
    Client,
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    Strangers,
    Child,
    SameProcess,
}

/// A task waits in a call, and another one wakes it in one of its own. Numbers of channels by use; words of a futex.
#[derive(Clone, Copy, Debug)]
struct Scene {
    call: &'static str,
    /// Empty: it runs in user mode, interrupted by a timer or the network.
    waker: &'static str,
    state: u32,
    file: File,
    waker_file: File,
    relation: Relation,
    exits: bool,
    asked: u32,
    answered: u32,
    owed: u32,
    waker_owed: u32,
    futex_command: u32,
    futex_value: u32,
    futex_now: u32,
    asked_queue: u32,
    waker_received_from: u32,
}

/// A task waits for what another one writes.
const READ: Scene = Scene {
    call: "read",
    waker: "write",
    state: INTERRUPTIBLE,
    file: File::Client,
    waker_file: File::Server,
    relation: Relation::Strangers,
    exits: false,
    asked: 0,
    answered: 0,
    owed: 0,
    waker_owed: 0,
    futex_command: 0,
    futex_value: 0,
    futex_now: 0,
    asked_queue: 0,
    waker_received_from: 0,
};

impl Scene {
    fn numbers(&self) -> [u32; 17] {
        let of_call = |name: &str| if name.is_empty() { 0 } else { traits_of(name).of(traits::WITH_OTHERS) };
        [
            0,
            of_call(self.call),
            of_call(self.waker),
            self.state,
            self.file as u32,
            self.waker_file as u32,
            self.relation as u32,
            u32::from(self.exits),
            self.asked,
            self.answered,
            self.owed,
            self.waker_owed,
            self.futex_command,
            self.futex_value,
            self.futex_now,
            self.asked_queue,
            self.waker_received_from,
        ]
    }

    fn has(&self, wanted: u32) -> bool {
        traits_of(self.call).has(wanted)
    }
}

#[test]
fn whom_a_task_waits_for() {
    const PI: u32 = 6;
    const PRIVATE: u32 = 128;
    let futex = Scene { call: "futex", waker: "futex", file: File::None, waker_file: File::None, ..READ };
    let child = Scene { call: "wait4", waker: "exit_group", file: File::None, exits: true, ..READ };
    let queue = Scene { call: "msgrcv", waker: "msgsnd", file: File::None, waker_file: File::None, ..READ };
    let mut fake = Fake::start();
    let mut check = |scene: Scene, expected: Option<Awaits>| assert_eq!(fake.awaits(&scene), expected, "{scene:?}");
    check(READ, Some(Awaits::Message));
    check(Scene { asked: 1, ..READ }, Some(Awaits::Answer));
    check(Scene { asked: 200, answered: 200, ..READ }, Some(Awaits::Answer));
    check(Scene { answered: 1, ..READ }, Some(Awaits::PartOfAnswer));
    check(Scene { asked: 1, state: UNINTERRUPTIBLE, ..READ }, None);
    check(Scene { file: File::Regular, ..READ }, None);
    check(Scene { waker: "", ..READ }, None);
    check(Scene { waker: "", asked: 1, ..READ }, Some(Awaits::Answer));
    // The client sends the rest of its request; something else is needed for the answer.
    check(Scene { owed: 1, waker_file: File::Client, ..READ }, Some(Awaits::Message));
    check(Scene { owed: 1, waker_file: File::Pipe, ..READ }, Some(Awaits::ForClient));
    check(Scene { call: "write", waker: "read", ..READ }, Some(Awaits::Room));
    check(Scene { call: "accept4", waker: "connect", ..READ }, Some(Awaits::Message));
    check(Scene { relation: Relation::Child, ..child }, Some(Awaits::Child));
    check(child, None);
    check(Scene { futex_command: PI, ..futex }, Some(Awaits::Lock));
    check(Scene { futex_command: PRIVATE, futex_value: 2, futex_now: 0, ..futex }, Some(Awaits::Lock));
    check(Scene { futex_command: PRIVATE, futex_value: 2, futex_now: 7, ..futex }, Some(Awaits::Work));
    check(Scene { futex_value: 0, ..futex }, Some(Awaits::Thread));
    check(Scene { futex_command: PRIVATE, owed: 1, ..futex }, Some(Awaits::ForClient));
    check(Scene { futex_command: PRIVATE, owed: 1, waker_owed: 1, ..futex }, Some(Awaits::Lock));
    check(queue, None);
    check(Scene { asked_queue: 8, ..queue }, None);
    check(Scene { asked_queue: 8, waker_received_from: 9, ..queue }, None);
    check(Scene { asked_queue: 8, waker_received_from: 8, ..queue }, Some(Awaits::Answer));
}

/// Calls of a task that waits, and of one that wakes it.
const CALLS: [&str; 12] = [
    "read",
    "recvfrom",
    "poll",
    "epoll_wait",
    "accept4",
    "write",
    "sendto",
    "futex",
    "semop",
    "msgsnd",
    "msgrcv",
    "wait4",
];
const WAKERS: [&str; 12] =
    ["", "read", "write", "sendto", "connect", "close", "exit_group", "futex", "semop", "msgsnd", "msgrcv", "kill"];

prop_compose! {
    fn scenes()(
        call in proptest::sample::select(&CALLS[..]),
        waker in proptest::sample::select(&WAKERS[..]),
        state in 1u32..=2,
        file in proptest::sample::select(vec![File::None, File::Regular, File::Pipe, File::Client, File::Server]),
        waker_file in proptest::sample::select(vec![File::None, File::Regular, File::Pipe, File::Client, File::Server]),
        relation in proptest::sample::select(vec![Relation::Strangers, Relation::Child, Relation::SameProcess]),
        (asked, answered, owed, waker_owed) in (0u32..12, 0u32..12, 0u32..12, 0u32..2),
        (futex_command, futex_value, futex_now) in (0u32..14, 0u32..4, 0u32..4),
        (asked_queue, waker_received_from) in (0u32..3, 0u32..3),
    ) -> Scene {
        let exits = waker == "exit_group";
        Scene {
            call, waker, state, file, waker_file, relation, exits, asked, answered, owed, waker_owed, futex_command,
                futex_value,
            futex_now, asked_queue, waker_received_from,
        }
    }
}

/// What an answer says of the scene that it is given to.
fn follows(scene: &Scene, awaits: Option<Awaits>) -> bool {
    match awaits {
        None => true,
        Some(_) if scene.state == UNINTERRUPTIBLE => false,
        Some(Awaits::Answer) if scene.has(traits::DEQUEUES) => {
            scene.asked_queue != 0 && scene.asked_queue == scene.waker_received_from
        }
        Some(Awaits::Answer) => scene.asked > 0,
        Some(Awaits::PartOfAnswer) => scene.answered > 0 && scene.asked == 0,
        Some(Awaits::AnswerOfChild) => scene.relation == Relation::Child,
        Some(Awaits::Room) => scene.has(traits::SENDS) || scene.has(traits::QUEUES),
        Some(Awaits::Child) => scene.exits && scene.relation != Relation::Strangers,
        Some(Awaits::ForClient) => scene.owed > 0,
        Some(Awaits::Work) => scene.has(traits::WAITS_FOR_THREAD),
        Some(Awaits::Thread) => scene.has(traits::WAITS_FOR_THREAD) || scene.has(traits::SEMAPHORE),
        Some(Awaits::Lock) => scene.has(traits::WAITS_FOR_THREAD) || scene.owed > 0,
        Some(Awaits::Message) => !scene.waker.is_empty() && (scene.asked == 0 || scene.has(traits::ACCEPTS)),
        Some(Awaits::Interrupt) => false,
    }
}

/// What happens to a channel, as `enum channel_event`.
const EVENTS: u32 = 6;
const ASKED: u32 = 1;
const ANSWERED: u32 = 2;
const MET: u32 = 4;
const OWED: u32 = 8;

fn uses_after(before: u32, event: u32) -> u32 {
    match event {
        0 => (before | ASKED) & !ANSWERED & !MET,
        1 if before & ASKED != 0 => (before | ANSWERED) & !ASKED & !MET,
        1 => before & !MET,
        2 => MET,
        3 => before | OWED,
        4 => before & !OWED,
        _ => 0,
    }
}

/// Each event's channel had these uses before it, and so many channels have each use after it.
fn expected(events: &[(u32, u32)]) -> Vec<u32> {
    let mut uses: HashMap<u32, u32> = HashMap::new();
    let mut expected = Vec::new();
    for (channel, event) in events {
        let known = uses.entry(*channel).or_default();
        expected.push(*known);
        *known = uses_after(*known, *event);
        expected.extend(
            [ASKED, ANSWERED, MET, OWED].map(|one| uses.values().filter(|known| *known & one != 0).count() as u32),
        );
    }
    expected
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

#[test]
fn an_answer_follows_from_what_the_tasks_did() {
    let mut fake = Fake::start();
    let mut runner = proptest::test_runner::TestRunner::new(config(3000));
    let fake = std::cell::RefCell::new(&mut fake);
    let check = |scene: Scene| {
        let awaits = fake.borrow_mut().awaits(&scene);
        prop_assert!(follows(&scene, awaits), "{:?}: {:?}", awaits, scene);
        // A part of another answer, however many there were, changes nothing.
        let more = Scene { answered: scene.answered + 100, ..scene };
        if awaits == Some(Awaits::Answer) {
            prop_assert_eq!(fake.borrow_mut().awaits(&more), awaits);
        }
        Ok(())
    };
    runner.run(&scenes(), check).unwrap();
}

#[test]
fn each_channel_is_remembered_whatever_their_number() {
    let mut fake = Fake::start();
    let mut runner = proptest::test_runner::TestRunner::new(config(200));
    let fake = std::cell::RefCell::new(&mut fake);
    let events = proptest::collection::vec((1u32..300, 0..EVENTS), 0..400);
    let check = |events: Vec<(u32, u32)>| {
        let flat = events.iter().flat_map(|(channel, event)| [*channel, *event]);
        let question: Vec<u32> = [1, events.len() as u32].into_iter().chain(flat).collect();
        prop_assert_eq!(fake.borrow_mut().ask(&question), expected(&events));
        Ok(())
    };
    runner.run(&events, check).unwrap();
}

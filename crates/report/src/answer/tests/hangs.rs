//! Programs that hang.

use explain::blame::{Explanation, OtherEnd, Sleep, Sleeps, TaskState};
use explain::whatif::Advice;
use model::detail::OtherEnd as End;

use super::built::{S, sleep, slow, task, time};
use crate::answer::{Answer, Line, Verdict};

fn end(name: &str, tid: u32, state: TaskState) -> OtherEnd {
    OtherEnd {
        task: task(name, tid),
        through: None,
        is_certain: true,
        unread_bytes: None,
        title: None,
        state: Some(state),
        call: None,
        on: None,
    }
}

fn hanging(sleep: Sleep) -> Explanation {
    let sleeps = Sleeps { count: 1, total_ns: sleep.duration_ns, longest: vec![sleep], ..Sleeps::default() };
    Explanation { slower_than_ns: S / 10, sleeps, ..Explanation::default() }
}

fn answer(ends: Vec<OtherEnd>) -> Answer {
    Answer::of(&hanging(Sleep { other_ends: ends, ..sleep("poll") }), &Advice::default())
}

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

#[test]
fn an_idle_transaction_is_to_be_ended() {
    let mut server = end("postgres", 8, TaskState::Asleep);
    server.through = Some(End::Tcp(model::detail::Progress::Open));
    let mut idle = end("postgres", 9, TaskState::Asleep);
    (idle.title, idle.is_certain) = (Some("postgres: bob shop [local] idle in transaction".to_owned()), false);
    idle.through = Some(End::ServerLock);
    let answer = answer(vec![server, idle]);
    assert_eq!(answer.verdict, Verdict::Asleep);
    let says = "psql has been blocked for at least 4.00 s probably by an idle transaction of PostgreSQL";
    assert_eq!(answer.headline.text(), says);
    assert_eq!(texts(&answer.who), ["psql/7 in poll, for at least 4.00 s, still blocked at the end"]);
    let why = [
        "psql/7 waits for postgres/8 (a TCP connection)",
        "postgres/8 probably waits for postgres/9 (a lock of its server)",
        "postgres/9 sleeps: \"postgres: bob shop [local] idle in transaction\"",
    ];
    assert_eq!(texts(&answer.why), why);
    assert_eq!(texts(&answer.fix.lines), ["end the idle transaction of postgres/9"]);
    assert_eq!(answer.fix.command.as_deref(), Some("psql -c 'select pg_terminate_backend(9)'"));
}

#[test]
fn the_state_of_the_other_end_says_what_helps() {
    let case = |state: TaskState, headline: &str, fix: &str, command: Option<&str>| {
        let answer = answer(vec![end("redis-server", 8, state)]);
        let begin = "psql has been blocked for at least 4.00 s by ";
        assert_eq!(answer.headline.text(), format!("{begin}{headline}"));
        assert_eq!((texts(&answer.fix.lines), answer.fix.command.as_deref()), (vec![fix.to_owned()], command));
    };
    let stopped = "Redis, which is stopped";
    case(TaskState::Stopped, stopped, "continue redis-server/8", Some("kill -CONT 8"));
    case(TaskState::Frozen, "Redis, which is frozen", "thaw the cgroup of redis-server/8", None);
    let traced = "Redis, which a debugger has stopped";
    case(TaskState::Traced, traced, "end or detach the debugger of redis-server/8", None);
    case(TaskState::Running, "Redis, which is running", "end or speed up what redis-server/8 does", None);
    case(TaskState::Asleep, "Redis", "look at what redis-server/8 does", None);
}

/// Others were slow in the same time.
#[test]
fn a_hang_comes_before_what_was_slow() {
    let mut explanation = hanging(Sleep { other_ends: vec![end("php", 8, TaskState::Stopped)], ..sleep("poll") });
    let slow = slow("read", &[time(explain::blame::Cause::Device, 9 * S)], Vec::new(), Vec::new());
    explanation = Explanation { sleeps: explanation.sleeps, ..slow };
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!(answer.headline.text(), "psql has been blocked for at least 4.00 s by php, which is stopped");
    let machine = answer.machine.expect("others were slow");
    assert_eq!(machine.headline.text(), "PostgreSQL's reads waited 9.00 s for the disk");
}

#[test]
fn a_sleep_that_ended_has_its_waker() {
    let ended = Sleep { unfinished: false, hangs: false, waker: Some(task("dd", 93)), ..sleep("semop") };
    let mut explanation = hanging(ended);
    explanation.command = Some(explain::blame::Part::default());
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!(answer.headline.text(), "psql slept 4.00 s in semop until dd woke it");
    assert_eq!(texts(&answer.blocker), ["dd/93"]);
}

#[test]
fn a_sleep_in_which_a_program_may_have_idled_is_no_headline() {
    let idle = Sleeps {
        idle_count: 2,
        idle_ns: 6 * S,
        idle_calls: vec!["epoll_wait".to_owned()],
        idle_throughout: 1,
        ..Sleeps::default()
    };
    let explanation = Explanation { slower_than_ns: S, sleeps: idle, ..Explanation::default() };
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!(answer.headline.text(), "Nothing took longer than 1.00 s");
    let says = "2 sleeps, 6.00 s in total, may have been idle (epoll_wait); 1 of them throughout the recording: a hang \
                looks the same";
    assert!(texts(&answer.who).contains(&says.to_owned()), "{:?}", texts(&answer.who));
}

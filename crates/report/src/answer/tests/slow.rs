//! Headlines and lines of slow operations.

use explain::blame::{Cause, Explanation, Holds, Link, Losses, STOPPED, VictimGroup};
use explain::waits::Behind;
use explain::whatif::{Advice, KnownLimit};
use model::block::DeviceNumber;
use model::wait_kind::WaitKind;

use super::built::{S, counted_again, culprit, group, link, of_command, slow, task, time};
use crate::answer::fix::Predicted;
use crate::answer::part::Part;
use crate::answer::reason::{ended, reason};
use crate::answer::{Answer, AnswerScope, Line, Verdict};

fn headline(explanation: &Explanation, advice: &Advice) -> String {
    Answer::of(explanation, advice).headline.text()
}

fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(Line::text).collect()
}

fn limited() -> Advice {
    let bytes_per_s = Some(6 << 20);
    let limit =
        KnownLimit { device: DeviceNumber::new(7, 0), reads: false, bytes_per_s, per_s: None, is_estimated: false };
    Advice { limits: vec![limit], ..Advice::default() }
}

fn behind(cause: Cause, end: Cause, share: f64) -> Behind {
    Behind { cause, end, time_ns: 0, share, tasks: Vec::new() }
}

#[test]
fn a_limit_that_a_neighbour_used_up() {
    let throttled = [time(Cause::IoThrottle, 33 * S)];
    let blocker = culprit(Cause::IoThrottle, "tar", 93, 33 * S);
    let mut explanation = slow("fdatasync", &throttled, vec![blocker], Vec::new());
    let says = "PostgreSQL's commits waited 33.0 s for the 6.00 MiB/s write limit of backup.service that tar used up";
    assert_eq!(headline(&explanation, &limited()), says);
    // What it let pass is not its rate.
    let mut estimated = limited();
    estimated.limits[0].is_estimated = true;
    let says = "PostgreSQL's commits waited 33.0 s for the write limit of backup.service that tar used up";
    assert_eq!(headline(&explanation, &estimated), says);
    // Without a rate: the limit is on reads, or both.
    let says = "PostgreSQL's commits waited 33.0 s for the I/O limit of backup.service that tar used up";
    assert_eq!(headline(&explanation, &Advice::default()), says);
    // Names that have no room are left out, the least important first.
    explanation.culprits[0].cgroup = Some(format!("/{}.service", "x".repeat(70)));
    let says = "PostgreSQL's commits waited 33.0 s for the 6.00 MiB/s write limit that tar used up";
    assert_eq!(headline(&explanation, &limited()), says);
    // It is another cgroup whose memory was filled.
    explanation.culprits[0].evicts = true;
    let says = "PostgreSQL's commits waited 33.0 s for the 6.00 MiB/s write limit on loop0 that tar used up";
    assert_eq!(headline(&explanation, &limited()), says);
    explanation.culprits[0].evicts = false;
    // Its own fault.
    explanation.culprits[0].task = Some(task("postgres", 7));
    explanation.culprits[0].own_ns = 33 * S;
    let says = "PostgreSQL's commits waited 33.0 s for its own 6.00 MiB/s write limit on loop0";
    assert_eq!(headline(&explanation, &limited()), says);
}

/// A lock that is held because of a limit is one wait.
#[test]
fn a_lock_of_a_limited_holder_is_a_wait_for_the_limit() {
    let times = [time(Cause::Lock, 10 * S)];
    let chain = vec![link("postgres", 7, Cause::Lock, None), link("dd", 9, Cause::IoThrottle, Some(Holds::Exactly))];
    let mut explanation = slow("pwrite64", &times, vec![culprit(Cause::Lock, "dd", 9, 10 * S)], chain);
    explanation.stalls[0].chain[0].object = Some(WaitKind::FileInodeLock);
    let advice = Advice { behind: vec![behind(Cause::Lock, Cause::IoThrottle, 1.0)], ..limited() };
    let answer = Answer::of(&explanation, &advice);
    let says = "PostgreSQL's writes waited 10.0 s for a lock held by dd, which waited for the 6.00 MiB/s write limit";
    assert_eq!(answer.headline.text(), says);
    assert_eq!(answer.cause, Some(Cause::IoThrottle));
    let why =
        ["postgres/7 waited 1.00 s: inode lock of a file", "held by dd/9, which waited 1.00 s: cgroup I/O throttling"];
    assert_eq!(texts(&answer.why), why);
}

#[test]
fn details_of_a_root_blocker_share_their_brackets() {
    let mut blocker = culprit(Cause::Device, "java", 93, 9 * S);
    (blocker.role, blocker.started_by) = (Some("zookeeper".to_owned()), Some("sh/7".to_owned()));
    blocker.cgroup = None;
    let mut explanation = slow("fsync", &[time(Cause::Device, 9 * S)], vec![blocker], Vec::new());
    let says = |explanation: &Explanation| texts(&Answer::of(explanation, &Advice::default()).blocker);
    assert_eq!(says(&explanation), ["java/93 (zookeeper, started by sh/7): 100 %"]);
    // A role that is the program's name, and its own fault.
    explanation.culprits[0].role = Some("java".to_owned());
    (explanation.culprits[0].started_by, explanation.culprits[0].own_ns) = (None, 9 * S);
    assert_eq!(says(&explanation), ["java/93 itself: 100 %"]);
}

#[test]
fn a_share_that_is_all_of_a_cause_is_not_repeated() {
    let times = [time(Cause::DirectReclaim, 8 * S), time(Cause::Stopped, 2 * S)];
    let explanation = slow("read", &times, Vec::new(), Vec::new());
    let of = |behind| Advice { behind, ..Advice::default() };
    let says = |advice: &Advice| texts(&Answer::of(&explanation, advice).why)[0].clone();
    let whole = of(vec![behind(Cause::DirectReclaim, Cause::Device, 0.8)]);
    assert_eq!(says(&whole), "80 % device (behind direct reclaim), 20 % stopped task");
    let lock = of(vec![behind(Cause::DirectReclaim, Cause::Device, 0.4)]);
    assert_eq!(says(&lock), "40 % device (behind direct reclaim), 40 % direct reclaim, 20 % stopped task");
}

#[test]
fn a_prediction_without_an_absent_program_is_of_the_others() {
    let predicted = Predicted {
        recorded_ns: 14 * S,
        total_ns: 3 * S,
        still_slow: 5,
        at_best: false,
        of_short_waits: false,
        of_others: true,
    };
    assert_eq!(predicted.line().text(), "predicted: 3.00 s instead of 14.0 s of the others; 5 operations still slow");
    let gone = Predicted { total_ns: 0, still_slow: 0, of_others: false, ..predicted };
    assert_eq!(gone.line().text(), "predicted: none of the 14.0 s would be left");
}

#[test]
fn the_parts_of_a_cause_add_up_over_what_is_behind_it() {
    let times = [time(Cause::IoThrottle, 6 * S), time(Cause::Lock, 4 * S)];
    let explanation = slow("pwrite64", &times, Vec::new(), Vec::new());
    let advice = Advice { behind: vec![behind(Cause::Lock, Cause::IoThrottle, 0.4)], ..Advice::default() };
    let says = "PostgreSQL's writes waited 10.0 s for the I/O limit";
    assert_eq!(headline(&explanation, &advice), says, "and not 60 % of it");
}

#[test]
fn what_had_not_ended_is_blocked_for_at_least_as_long() {
    let mut explanation = slow("pwrite64", &[time(Cause::Frozen, 4 * S)], Vec::new(), Vec::new());
    explanation.stalls[0].finished = false;
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!(answer.headline.text(), "PostgreSQL has been blocked for at least 4.00 s by a frozen file system");
    let who = "pwrite64 by postgres/7 of .../000000010000000000000001, at least 4.00 s (still blocked at the end)";
    assert_eq!(texts(&answer.who), [who]);
    assert_eq!(texts(&answer.fix.lines), ["thaw the file system"]);
}

#[test]
fn a_task_that_was_stopped_did_not_wait() {
    let mut blocker = culprit(Cause::Stopped, "strace", 9, 2 * S);
    blocker.cgroup = None;
    let explanation = slow(STOPPED, &[time(Cause::Stopped, 2 * S)], vec![blocker], Vec::new());
    assert_eq!(headline(&explanation, &Advice::default()), "PostgreSQL was stopped for 2.00 s by strace");
    assert_eq!(texts(&Answer::of(&explanation, &Advice::default()).who), ["a stop of postgres/7, 2.00 s"]);
}

/// Never "The cause: 35 %".
#[test]
fn what_is_mostly_unexplained_says_so_first() {
    let times = [time(Cause::Unexplained, 13 * S), time(Cause::Journal, 7 * S)];
    let explanation = slow("fdatasync", &times, Vec::new(), Vec::new());
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!((answer.verdict, answer.sure_first), (Verdict::Unexplained, true));
    let says = "65 % of 20.0 s that PostgreSQL took is unexplained; 35 % waited for the journal";
    assert_eq!(answer.headline.text(), says);
    assert!(texts(&answer.sure)[0].starts_with("35 % explained"), "{:?}", answer.sure);
    // What remains is no reason to change something.
    assert_eq!(answer.fix.lines, []);
}

#[test]
fn a_part_of_the_time_has_its_share() {
    let times = [time(Cause::Device, 7 * S), time(Cause::CpuWait, 3 * S)];
    let blocker = culprit(Cause::Device, "tar", 93, 7 * S);
    let answer = Answer::of(&slow("read", &times, vec![blocker], Vec::new()), &Advice::default());
    let says = "PostgreSQL's reads waited 10.0 s, 70 % of it for the disk loop0, busy with tar";
    assert_eq!(answer.headline.text(), says);
    assert_eq!(texts(&answer.why), ["70 % device, 30 % run-queue wait"]);
    assert_eq!(texts(&answer.blocker), ["tar/93 in backup.service: 70 %"]);
}

#[test]
fn the_command_is_the_scope_and_the_machine_has_a_heading() {
    let answer = Answer::of(
        &of_command(slow("read", &[time(Cause::Device, 7 * S)], Vec::new(), Vec::new())),
        &Advice::default(),
    );
    assert_eq!(answer.scope, AnswerScope::Command);
    assert!(answer.headline.text().contains(" waited 7.00 s "), "{}", answer.headline.text());
    let machine = answer.machine.expect("others were slow");
    assert_eq!(machine.scope, AnswerScope::Machine);
    assert_eq!(machine.headline.text(), "PostgreSQL and tar waited 14.0 s for the disk");
}

/// `record -- sleep 10`: it woke late once, and is not what was asked about.
#[test]
fn a_command_that_only_slept_is_not_the_scope() {
    let mut explanation = of_command(slow("read", &[time(Cause::Device, 7 * S)], Vec::new(), Vec::new()));
    let command = explanation.command.as_mut().expect("it has one");
    command.causes = vec![time(Cause::CpuWait, S)];
    (command.wall_ns, command.classes[0].class) = (S, "clock_nanosleep".to_owned());
    (command.classes[0].wall_ns, command.classes[0].causes) = (S, command.causes.clone());
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!((answer.scope, answer.machine), (AnswerScope::Machine, None));
    assert_eq!(texts(&answer.who).last().map(String::as_str), Some("the recorded command only slept"));
}

/// A client waits for as long as its server does.
#[test]
fn the_wait_of_a_client_and_of_its_server_is_said_once() {
    let mut explanation = slow("fdatasync", &[counted_again(Cause::Device, 9 * S, 4 * S)], Vec::new(), Vec::new());
    let server = VictimGroup { again_ns: 4 * S, again_within_ns: 4 * S, ..group("postgres", 7, 4 * S, None) };
    explanation.processes = vec![group("psql", 6, 5 * S, None), server];
    explanation.slow_operations = 2;
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!(answer.headline.text(), "psql's syncs waited 5.00 s for the disk");
    let says =
        "2 operations took at least 100 ms, 9.00 s in total (4.00 s of it in processes that the others waited for); ";
    assert!(texts(&answer.who)[0].starts_with(says), "{:?}", answer.who);
}

/// Of 10 s that a client waited, its server was at the disk for 5.
#[test]
fn the_share_of_a_cause_counts_each_wait_once() {
    let causes = [counted_again(Cause::Device, 10 * S, 5 * S), time(Cause::Lock, 5 * S)];
    let explanation = slow("fdatasync", &causes, Vec::new(), Vec::new());
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!(answer.headline.text(), "PostgreSQL's commits waited 10.0 s, 50 % of it for the disk");
    assert_eq!(texts(&answer.why)[0], "50 % device, 50 % lock");
}

/// Its holder waits for another session of the same server, which idles, and whose transaction has to end.
#[test]
fn advice_names_who_can_release_the_lock() {
    let advice = |chain: Vec<Link>| {
        let explanation = slow("poll", &[time(Cause::Lock, 9 * S)], Vec::new(), chain);
        let part = Part::all(&explanation);
        let ended = ended(&part, None);
        reason(&part, &ended).and_then(|reason| reason.releaser().map(ToString::to_string))
    };
    let (exactly, other_end) = (Some(Holds::Exactly), Some(Holds::OtherEnd));
    let client = link("psql", 6, Cause::Lock, None);
    let server = link("postgres", 7, Cause::Lock, None);
    for (chain, expected) in [
        // The server waits in its client's place.
        (vec![client.clone(), server.clone(), link("postgres", 8, Cause::Peer, exactly)], "postgres/8"),
        (
            vec![
                client.clone(),
                link("postgres", 7, Cause::Lock, other_end),
                link("postgres", 8, Cause::Peer, other_end),
            ],
            "postgres/8",
        ),
        // The holder waits for a lock itself.
        (
            vec![server.clone(), link("postgres", 8, Cause::Lock, exactly), link("dd", 9, Cause::Device, exactly)],
            "dd/9",
        ),
        (
            vec![
                server.clone(),
                link("postgres", 8, Cause::Unexplained, exactly),
                link("postgres", 9, Cause::Peer, None),
                link("php", 10, Cause::Peer, None),
            ],
            "postgres/9",
        ),
        // Not who ended the sleep of another program.
        (vec![server, link("flock", 8, Cause::Unexplained, exactly), link("sleep", 9, Cause::Peer, None)], "flock/8"),
    ] {
        assert_eq!(advice(chain).as_deref(), Some(expected));
    }
}

#[test]
fn many_programs_are_counted() {
    let mut explanation = slow("read", &[time(Cause::Device, 9 * S)], Vec::new(), Vec::new());
    explanation.processes = vec![group("a", 1, 3 * S, None), group("b", 2, 3 * S, None), group("c", 3, 3 * S, None)];
    assert_eq!(headline(&explanation, &Advice::default()), "3 programs waited 9.00 s for the disk");
}

#[test]
fn an_incomplete_recording_is_said() {
    let mut explanation = slow("read", &[time(Cause::Device, 9 * S)], Vec::new(), Vec::new());
    explanation.losses = Losses { lost: vec![("slow requests".to_owned(), 3)], ..Losses::default() };
    let sure = texts(&Answer::of(&explanation, &Advice::default()).sure);
    assert_eq!(sure, ["100 % explained: 0 % traced; the recording is incomplete"]);
}

#[test]
fn a_quiet_run_has_its_next_command() {
    let explanation = Explanation {
        slower_than_ns: S / 10,
        trace: slow("read", &[], Vec::new(), Vec::new()).trace,
        operations: Some(12_345),
        slowest: Some(("read".to_owned(), 34_000_000)),
        ..Explanation::default()
    };
    let answer = Answer::of(&explanation, &Advice::default());
    assert_eq!(
        (answer.verdict, answer.headline.text()),
        (Verdict::Quiet, "Nothing took longer than 100 ms".to_owned())
    );
    assert_eq!(texts(&answer.who), ["12,345 operations of the load; the slowest, read, took 34.0 ms"]);
}

//! Sentences of documents.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{add, findings, text};
use crate::style::Style;

fn document(slow: u64, wall_ns: u64, throttled: f64) -> Value {
    let ns = |share: f64| (wall_ns as f64 * share) as u64;
    let cause = |name: &str, share: f64| {
        json!({"cause": name, "time_ns": ns(share), "share": share, "operations": slow,
               "evidence": {"event": ns(share), "stack": 0, "correlation": 0, "none": 0}})
    };
    let mut document = json!({
        "slower_than_ns": 100_000_000, "slow_operations": slow, "wall_ns": wall_ns, "operations": null, "command": null,
        "causes": [cause("io_throttle", throttled), cause("lock", 1.0 - throttled)],
        "classes": [{"operation": "pwrite64", "operations": slow, "wall_ns": wall_ns, "causes": []}],
        "culprits": [{"task": "dd/2010", "cgroup": "/batch7", "device": "7,0", "file_system": "ext4 on /mnt/a",
                      "cause": "io_throttle", "time_ns": ns(throttled)}],
        "stalls": [{"operation": "pwrite64", "task": "dd/2010", "duration_ns": wall_ns / slow.max(1)}],
        "short_waits": {"matter": slow % 2 == 1 && slow > 12, "count": slow * 9, "time_ns": wall_ns, "share": throttled, "longest_ns": wall_ns / 7,
                        "recorded_individually": slow - slow / 2, "causes": [cause("journal", throttled), cause("device", 0.01)]},
        "losses": {"lost": {}, "tables": [], "damaged_rows": 0, "damaged_parts": 0, "unknown_requests": 0},
        "what_if": {"choices": [{
            "title": "raise the cgroup's write limit on the disk fourfold", "at_most": false, "saved_share": 0.7,
            "predicted": {"total_ns": {"value": ns(0.3)}, "slow_operations": {"value": slow / 4},
                          "recorded": {"total_ns": wall_ns}}}]},
    });
    add(&mut document);
    document
}

#[test]
fn a_colleague_would_say_it_so() {
    let text = text(&findings(&document(12, 3_000_000_000, 0.8)), Style::PLAIN);
    insta::assert_snapshot!(text);
}

#[test]
fn one_operation_is_singular() {
    let sentences = findings(&document(1, 3_000_000_000, 0.8));
    assert_eq!(sentences[0].text, "1 operation took at least 100 ms: pwrite64 by dd/2010, 3.00 s.");
}

#[test]
fn without_slow_operations_there_is_nothing_to_say() {
    assert_eq!(findings(&document(0, 0, 0.0)), []);
}

#[test]
fn what_a_command_slept_instead_is_said() {
    let mut document = document(0, 0, 0.0);
    document["command"] = json!({"operations": 0});
    let idle = json!({"count": 2, "total_ns": 6_000_000_000_u64, "calls": ["epoll_wait"], "throughout": 1});
    document["sleeps"] = json!({"count": 0, "longest": [], "idle": idle});
    let said = "Of the recorded command, 2 sleeps, 6.00 s in total, may have been idle (epoll_wait), 1 of them throughout the recording: one \
                that hangs looks the same.";
    assert_eq!(findings(&document)[0].text, said);
    let semop = json!({"duration_ns": 3_000_000_000_u64, "call": "semop", "throughout": true});
    document["sleeps"] = json!({"count": 1, "longest": [semop]});
    let said = "The recorded command had 1 sleep of at most 3.00 s in semop, throughout the recording.";
    assert_eq!(findings(&document)[0].text, said);
}

#[test]
fn the_other_end_of_a_sleep_is_said() {
    let mut document = document(0, 0, 0.0);
    let end = |task: &str, certain: bool, state: &str| json!({"task": task, "certain": certain, "state": state});
    let ends = [end("postgres/8", true, "asleep"), end("postgres/9", false, "asleep"), end("psql/7", true, "asleep")];
    let said = |document: &mut serde_json::Value, ends: &[serde_json::Value]| {
        let poll = json!({"duration_ns": 3_000_000_000_u64, "call": "poll", "throughout": true, "other_ends": ends});
        document["sleeps"] = json!({"count": 1, "longest": [poll]});
        findings(document).into_iter().map(|finding| finding.text).collect::<Vec<_>>()
    };
    let begin = "Programs that were there before had 1 sleep of at most 3.00 s in poll, throughout the recording, for postgres/8";
    let help = |task: &str| {
        format!(
            "What would help cannot be predicted: look at what {task} does, which the longest of these sleeps is probably for."
        )
    };
    assert_eq!(
        said(&mut document, &ends),
        [format!("{begin}, behind that perhaps for postgres/9."), help("postgres/9")]
    );
    assert_eq!(
        said(&mut document, &[end("postgres/8", true, "stopped")]),
        [
            format!("{begin}, which is stopped."),
            "What would help: continue postgres/8 (SIGCONT), which the longest of these sleeps is probably for."
                .to_owned()
        ]
    );
    let mut idle = ends.clone();
    idle[1]["activity"] = json!("idle_in_transaction");
    let expected =
        "What would help: end the idle transaction of postgres/9, which the longest of these sleeps is probably for.";
    assert_eq!(said(&mut document, &idle)[1], expected);
    idle[1]["activity"] = json!("executes");
    let expected = "What would help: cancel or speed up the statement of postgres/9, which the longest of these sleeps is probably for.";
    assert_eq!(said(&mut document, &idle)[1], expected);
    let expected = "What would help: end or speed up what redis/8 does (it is running), which the longest of these sleeps is probably for.";
    assert_eq!(said(&mut document, &[end("redis/8", true, "running")])[1], expected);
    let mut dependency = end("sleep/8", true, "asleep");
    dependency["on_type"] = json!("timer");
    let expected = "What would help: end or shorten the sleep on its own timer of sleep/8, which the longest of these sleeps is probably for.";
    assert_eq!(said(&mut document, &[dependency])[1], expected);
    let mut session = ends;
    (session[1]["task"], session[1]["through_type"]) = (json!("mariadb/9"), json!("server_lock"));
    let expected = "What would help: end what mariadb/9 has open at its server (a transaction, a lock), which the longest of these sleeps is probably for.";
    assert_eq!(said(&mut document, &session)[1], expected);
    let open = json!({"duration_ns": 3_000_000_000_u64, "call": "openat", "waits_for": "the FIFO /a"});
    document["sleeps"] = json!({"count": 1, "longest": [open]});
    let text = findings(&document).remove(0).text;
    assert!(text.ends_with("of at most 3.00 s in openat, for the FIFO /a."), "{text}");
}

/// Others were slow meanwhile.
#[test]
fn a_task_that_hangs_comes_first() {
    let mut document = document(4, 9_000_000_000, 0.8);
    let end = json!({"task": "php-fpm/8", "certain": true, "state": "stopped"});
    let mut poll = json!({"duration_ns": 10_000_000_000_u64, "call": "poll", "throughout": true, "other_ends": [end]});
    (poll["hangs"], poll["task"], poll["unfinished"]) = (json!(true), json!("python3/7"), json!(true));
    document["sleeps"] = json!({"count": 1, "longest": [poll]});
    let texts: Vec<String> = findings(&document).into_iter().map(|finding| finding.text).collect();
    let said = "python3/7 has slept in poll for more than 10.0 s, throughout the recording, for php-fpm/8, which is \
                stopped; what would help: continue php-fpm/8 (SIGCONT), which the longest of these sleeps is probably for.";
    assert_eq!(texts[0], said);
    assert!(texts[1].starts_with("4 operations took at least 100 ms") && texts.len() <= 5, "{texts:?}");
}

#[test]
fn shorter_waits_are_a_finding_of_their_own() {
    let mut document = document(0, 0, 0.0);
    document["short_waits"] = json!({
        "matter": true, "count": 5000, "time_ns": 41_200_000_000_u64, "share": 0.98, "recorded_individually": 4990,
        "longest_ns": 98_000_000, "causes": [{"cause": "journal", "share": 0.96}, {"cause": "device", "share": 0.04}],
    });
    let sentences = findings(&document);
    assert_eq!(sentences.len(), 2);
    assert_eq!(
        sentences[0].text,
        "5,000 shorter waits of at most 98.0 ms cost the recorded command 41.2 s, 98 % of its non-idle time: 96 % journal."
    );
    let without_figure =
        "What would help against the shorter waits cannot be predicted: make fewer changes of metadata";
    assert!(sentences[1].text.starts_with(without_figure), "{}", sentences[1].text);
    document["what_if"]["of_short_waits"] = json!(true);
    assert!(findings(&document)[1].text.starts_with("What would help against the shorter waits: raise the cgroup's"));
    document["short_waits"]["causes"] = json!([{"cause": "journal", "share": 0.4}, {"cause": "device", "share": 0.4}]);
    document["what_if"] = json!({"choices": []});
    let lower = "A recording with a lower --slower-than predicts what would help.";
    assert_eq!(findings(&document)[1].text, lower);
}

/// dd uses the disk that the holder of the lock waits for: it holds none.
#[test]
fn a_task_that_can_hold_a_lock_for_a_shorter_time_is_its_holder() {
    let mut document = document(2, 3_000_000_000, 0.8);
    let link = |task: &str, holds: Value| json!({"task": task, "holds_lock": holds, "time_ns": 900});
    let chain = [link("python3/7", Value::Null), link("md5sum/8", json!("yes")), link("md5sum/8", Value::Null)];
    document["stalls"] = json!([{"operation": "flock", "task": "python3/7", "duration_ns": 900, "chain": chain}]);
    document["culprits"] = json!([{"cause": "lock", "task": "dd/9", "time_ns": 900}]);
    document["what_if"]["choices"][0]["change"] = json!({"edge": "lock"});
    let text = findings(&document).pop().map(|sentence| sentence.text).unwrap_or_default();
    assert!(text.contains(" (md5sum/8)"), "{text}");
}

/// Others' slow operations come after what the command lost.
#[test]
fn shorter_waits_of_the_command_come_before_what_others_waited_for() {
    let mut document = document(2, 3_000_000_000, 0.8);
    document["command"] = json!({"operations": 0, "wall_ns": 0});
    document["short_waits"] = json!({
        "matter": true, "count": 864, "time_ns": 7_530_000_000_u64, "share": 0.73, "recorded_individually": 817,
        "longest_ns": 36_000_000, "causes": [{"cause": "cpu_wait", "share": 1.0}],
        "culprits": [{"cause": "cpu_wait", "task": "cc1plus/9", "tasks": 1, "cgroup": "/build", "time_ns": 6_000_000_000_u64}],
    });
    let texts: Vec<String> = findings(&document).into_iter().map(|sentence| sentence.text).collect();
    let begin = "; 864 shorter waits of at most 36.0 ms cost the recorded command 7.53 s, 73 % of its non-idle time: 100 % run-queue wait.";
    assert!(
        texts[0].starts_with("No operation of the recorded command took ") && texts[0].ends_with(begin),
        "{texts:?}"
    );
    assert_eq!(texts[1], "The largest root blocker is cc1plus/9 of /build: it cost 6.00 s (run-queue wait).");
    assert!(texts[2].starts_with("Of other programs, 2 operations took at least "), "{texts:?}");
    assert!(texts.len() <= 5);
}

/// Where the effect of no change is known, it is said what to do, and that there is no figure.
#[test]
fn advice_is_not_missing_where_the_cause_is_known() {
    let last = |document: &Value| findings(document).pop().map(|sentence| sentence.text);
    let mut document = document(2, 3_000_000_000, 0.8);
    document["what_if"] = json!({"choices": []});
    let said = "What would help cannot be predicted: raise the limit of the cgroup, or of one above it.";
    assert_eq!(last(&document).as_deref(), Some(said));
    document["causes"] = json!([{"cause": "unexplained", "share": 0.8}, {"cause": "lock", "share": 0.2}]);
    add(&mut document);
    assert!(!last(&document).is_some_and(|text| text.contains("would help")), "little is known");
}

#[test]
fn what_ended_a_sleep_is_what_to_look_at() {
    let said = |sleeps: Value| {
        let mut document = document(0, 0, 0.0);
        document["sleeps"] = sleeps;
        findings(&document).pop().expect("advice").text
    };
    let sleep = |more: Value| {
        let mut longest = json!({"duration_ns": 3_000_000_000_u64, "call": "futex"});
        longest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"count": 1, "longest": [longest]})
    };
    assert!(said(sleep(json!({"waker": "dd/93"}))).contains("look at what dd/93 did in the meantime"));
    assert!(said(sleep(json!({"call": "clock_nanosleep"}))).contains("its own timer ended it"));
    assert!(said(sleep(json!({}))).contains("no task of this machine ended it"));
    let idle = json!({"count": 2, "total_ns": 6_000_000_000_u64, "calls": ["recvfrom"], "throughout": 0});
    let said = said(json!({"count": 0, "longest": [], "idle": idle}));
    assert!(said.starts_with("If it was not idle there: find out who should have answered"), "{said}");
}

/// One sleep of 5 s, and shorter waits of 0.2 s.
#[test]
fn advice_is_for_what_took_longer() {
    let help = |sleeps_ns: u64| {
        let mut document = document(0, 0, 0.0);
        document["command"] = json!({"operations": 0, "wall_ns": 0});
        let longest = json!({"duration_ns": sleeps_ns, "call": "recvfrom", "waker": "redis/9"});
        document["sleeps"] = json!({"count": 1, "total_ns": sleeps_ns, "longest": [longest]});
        document["short_waits"] = json!({
            "matter": true, "count": 286, "time_ns": 232_000_000_u64, "share": 0.4, "recorded_individually": 24,
            "longest_ns": 9_000_000, "causes": [{"cause": "cpu_wait", "share": 0.9}], "culprits": [],
        });
        findings(&document).pop().expect("advice").text
    };
    assert!(help(5_000_000_000).contains("look at what redis/9 did"), "{}", help(5_000_000_000));
    assert!(help(150_000_000).contains("against the shorter waits"), "{}", help(150_000_000));
}

/// A change of a program names it.
#[test]
fn the_program_to_change_is_named() {
    let mut document = document(12, 3_000_000_000, 0.4);
    document["culprits"] = json!([
        {"task": "dd/2010", "cause": "io_throttle", "time_ns": 1_000_000_000},
        {"task": "tar/9", "cause": "lock", "time_ns": 1_500_000_000}, {"task": "cp/8", "cause": "lock", "time_ns": 1},
    ]);
    document["what_if"]["choices"][0]["change"] = json!({"edge": "lock"});
    let said = findings(&document).pop().expect("advice").text;
    assert!(said.contains("fourfold (tar/9); predicted"), "{said}");
    document["what_if"]["choices"][0]["change"] = json!({"edge": "scheduler_queue"});
    document["culprits"][1]["cause"] = json!("scheduler_queue");
    document["what_if"]["choices"][0]["remedies"] = json!([{"changes": {"apply": "ionice -c 3 -p PID"}}]);
    let said = findings(&document).pop().expect("advice").text;
    assert!(said.contains("fourfold (tar/9); predicted"), "{said}");
    document["what_if"]["choices"][0]["change"] = json!({"edge": "cpu"});
    let tasks = json!([{"task": "postgres/7", "time_ns": 1_500_000_000}]);
    document["behind"] = json!([{"cause": "lock", "end": "cpu_wait", "share": 0.6, "time_ns": 1, "tasks": tasks}]);
    let said = findings(&document).pop().expect("advice").text;
    assert!(said.contains("fourfold (postgres/7); predicted"), "{said}");
}

/// The remedy of eight slow operations is none of 2,800 shorter waits that cost seven times as much.
#[test]
fn a_remedy_is_not_said_to_help_against_shorter_waits() {
    let with_short = |time_ns: u64| {
        let mut document = document(12, 3_000_000_000, 0.8);
        document["short_waits"]["matter"] = json!(true);
        document["short_waits"]["time_ns"] = json!(time_ns);
        findings(&document).last().expect("what would help").text.contains("the shorter waits, which cost more")
    };
    assert!(with_short(20_000_000_000));
    assert!(!with_short(2_000_000_000));
}

#[test]
fn a_loss_is_said() {
    let mut document = document(2, 3_000_000_000, 1.0);
    document["losses"]["lost"]["slow requests"] = json!(12);
    add(&mut document);
    assert!(findings(&document)[3].text.ends_with("; the recording is incomplete."));
}

/// What is said of the causes, with this behind the lock.
fn with_behind(behind: Value) -> String {
    let mut document = document(12, 3_000_000_000, 0.4);
    document["behind"] = json!([behind]);
    findings(&document)[1].text.clone()
}

#[test]
fn what_is_behind_a_cause_is_named_where_it_is_most_of_it() {
    let task = json!([{"task": "dd/93", "time_ns": 1_500_000_000}]);
    let behind = |end: &str, share: f64, tasks: &Value| {
        with_behind(json!({"cause": "lock", "end": end, "share": share, "time_ns": 1_600_000_000, "tasks": tasks}))
    };
    let start = "The causes: 40 % cgroup I/O throttling, 60 % lock";
    assert_eq!(behind("device", 0.53, &task), format!("{start} (due to device of dd/93, 53 %)."));
    assert_eq!(behind("device", 0.53, &json!([])), format!("{start} (due to device, 53 %)."));
    assert_eq!(behind("lock", 0.53, &task), format!("{start} (dd/93)."));
    assert_eq!(behind("lock", 0.53, &json!([])), format!("{start}."));
    assert_eq!(behind("device", 0.2, &task), format!("{start}."));
}

/// What is said of the root blocker after a change of it.
fn of_blocker(throttled: f64, change: fn(&mut Value)) -> String {
    let mut document = document(12, 3_000_000_000, throttled);
    change(&mut document["culprits"][0]);
    findings(&document)[2].text.clone()
}

#[test]
fn the_root_blocker_is_named_with_all_its_tasks_and_only_if_it_matters() {
    let many = of_blocker(0.8, |culprit| culprit["tasks"] = json!(329));
    assert!(many.starts_with("The largest root blockers are 329 tasks such as dd/2010 of /batch7,"), "{many}");
    let unknown = of_blocker(0.8, |culprit| *culprit = json!({"cause": "lock", "time_ns": 2_400_000_000_u64}));
    assert_eq!(unknown, "The root blocker of 2.40 s (lock) is unknown.");
    let frozen = json!({"cause": "stopped", "time_ns": 2_400_000_000_u64, "cgroup": "/batch"});
    let mut of_frozen = document(12, 3_000_000_000, 0.8);
    of_frozen["culprits"][0] = frozen;
    let said = "The largest root blocker is the freezer of cgroup /batch: it cost 2.40 s (stopped task).";
    assert_eq!(findings(&of_frozen)[2].text, said);
    assert_eq!(of_blocker(0.04, |_| ()), "No root blocker is known.");
    let own = of_blocker(0.8, |culprit| culprit["own_ns"] = json!(2_300_000_000_u64));
    assert!(
        own.starts_with("The largest root blocker is dd/2010 of /batch7 itself, which used up the I/O limit"),
        "{own}"
    );
}

#[test]
fn a_task_that_holds_up_many_at_once_is_said_to() {
    let many = of_blocker(0.9, |culprit| culprit["at_once"] = json!(16));
    assert!(many.contains("), and held up 16 tasks at once."), "{many}");
}

#[test]
fn slow_operations_of_others_are_not_taken_for_those_of_the_command() {
    let mut document = document(2, 3_000_000_000, 1.0);
    document["command"] = json!({"operations": 0});
    let said = &findings(&document)[0].text;
    let others = "No operation of the recorded command took 100 ms. Of other programs, 2 operations did, 3.00 s in total; the longest,";
    assert!(said.starts_with(others), "{said}");
    document["sleeps"] =
        json!({"count": 1, "longest": [{"duration_ns": 2_000_000_000_u64, "call": "flock", "waker": "dd/7"}]});
    let said = &findings(&document)[0].text;
    let slept = "No operation of the recorded command took 100 ms, but it had 1 sleep of at most 2.00 s in flock, woken by dd/7. Of other \
                 programs, 2 operations did,";
    assert!(said.starts_with(slept), "{said}");
    let help = findings(&document).pop().unwrap().text;
    assert!(help.starts_with("What would help these other programs: raise"), "{help}");
    // A receive that ran into its timeout; a parent that waited for its child.
    let mut idle = |calls: &[&str]| {
        let idle = json!({"count": 2, "total_ns": 2_400_000_000_u64, "calls": calls});
        document["sleeps"] = json!({"count": 0, "longest": [], "idle": idle});
        findings(&document)[0].text.clone()
    };
    let said = idle(&["poll", "wait4"]);
    assert!(said.contains(" took 100 ms; 2 sleeps, 2.40 s in total, may have been idle (poll). Of"), "{said}");
    assert!(!idle(&["wait4"]).contains("idle"));
}

/// A client and the server that it follows count both, though one waits for the other.
#[test]
fn the_time_of_a_command_is_given_by_process() {
    let mut document = document(19, 3_000_000_000, 1.0);
    document["command"] = json!({"operations": 19, "wall_ns": 3_000_000_000_u64});
    let process = |name: &str, pid: u32, wall_ns: u64, neighbour: bool| json!({"process": name, "pid": pid, "wall_ns": wall_ns, "neighbour": neighbour});
    let rows =
        [("dd", 7, 9_000_000_000, true), ("psql", 8, 1_000_000_000, false), ("postgres", 1009, 2_000_000_000, false)];
    document["processes"] = rows.map(|(name, pid, wall_ns, neighbour)| process(name, pid, wall_ns, neighbour)).into();
    let said = &findings(&document)[0].text;
    assert!(said.contains(", 3.00 s in total (2.00 s by postgres/1009, 1.00 s by psql/8)"), "{said}");
    // The time of a client includes that of the server that is followed, as far as it waits for it.
    let mut followed = document.clone();
    followed["followed"] = json!(["postgres"]);
    let said = &findings(&followed)[0].text;
    let expected = "19 operations of the recorded command and of what --follow names (postgres) took at least 100 ms: 2.00 s by postgres/1009, \
                    1.00 s by psql/8.";
    assert_eq!(said, expected);
    // Several processes of one name are one row, without a number.
    followed["processes"][1]["pid"] = Value::Null;
    let said = &findings(&followed)[0].text;
    assert!(said.ends_with(", 3.00 s in total, in which one may wait for another."), "{said}");
    document["processes"][1]["wall_ns"] = json!(10_000_000);
    let said = &findings(&document)[0].text;
    assert!(said.contains(", 3.00 s in total") && !said.contains("(2.00 s"), "{said}");
}

#[test]
fn a_stop_is_not_by_the_task_that_was_stopped() {
    let mut document = document(1, 3_000_000_000, 1.0);
    document["stalls"][0]["operation"] = json!("stopped");
    let said = &findings(&document)[0].text;
    assert!(said.contains(": a stop of dd/"), "{said}");
}

#[test]
fn the_longest_operation_of_a_load_is_named_whatever_its_threads_are_called() {
    let mut document = document(2, 3_000_000_000, 1.0);
    document["command"] = json!({"operations": 1, "wall_ns": 1_000_000_000, "causes": [], "culprits": []});
    document["stalls"] = json!([
        {"operation": "fsync", "task": "dd/9", "duration_ns": 2_000_000_000, "neighbour": true},
        {"operation": "read", "task": "worker/7", "duration_ns": 1_000_000_000, "neighbour": false},
    ]);
    assert!(findings(&document)[0].text.ends_with(": read by worker/7, 1.00 s."), "{:?}", findings(&document));
}

proptest! {
    /// Every number in a sentence, and every name, is a value of the document.
    #[test]
    fn every_number_is_in_the_document(slow in 1_u64..1_000_000, wall_ns in 1_u64..10_u64.pow(15), throttled in 0.0..=1.0) {
        let document = document(slow, wall_ns, throttled);
        let sentences = findings(&document);
        prop_assert!((4..=5).contains(&sentences.len()));
        for sentence in &sentences {
            let mut rest = sentence.text.clone();
            for fact in &sentence.facts {
                prop_assert_eq!(Some(fact.text.clone()), fact.of(&document));
                let (before, after) = rest.split_once(&fact.text).expect("facts are in order");
                prop_assert!(!before.contains(|c: char| c.is_ascii_digit()), "{before}");
                rest = after.to_owned();
            }
            prop_assert!(!rest.contains(|c: char| c.is_ascii_digit()), "{rest}");
        }
        prop_assert!(text(&sentences, Style::PLAIN).lines().all(|line| line.chars().count() <= 80));
    }
}

/// A disk that is read again and again because of a memory limit: what helps the disk for certain comes first, the limit second.
#[test]
fn a_memory_limit_that_evicts_what_is_read_again_is_said_too() {
    let help = |saved_share: f64| {
        let mut document = document(12, 3_000_000_000, 0.8);
        let mut raised = document["what_if"]["choices"][0].clone();
        raised["title"] = "raise the memory limit fourfold".into();
        raised["change"] = json!({"edge": "refault"});
        (raised["at_most"], raised["saved_share"]) = (true.into(), saved_share.into());
        document["what_if"]["choices"].as_array_mut().unwrap().push(raised);
        findings(&document).pop().unwrap().text
    };
    let text = help(0.3);
    assert!(
        text.starts_with("What would help: raise the cgroup's write limit on the disk fourfold; predicted: "),
        "{text}"
    );
    assert!(text.ends_with("; or raise the memory limit fourfold."), "{text}");
    assert!(!help(0.2).contains("memory limit"));
}

/// The order is that of the advice; what is too small for a finding is passed over.
#[test]
fn the_first_choice_that_saves_enough_is_named() {
    let is_first = |first: f64, second: f64| {
        let mut document = document(12, 3_000_000_000, 0.8);
        document["what_if"]["choices"][0]["saved_share"] = second.into();
        let mut bound = document["what_if"]["choices"][0].clone();
        (bound["title"], bound["at_most"], bound["saved_share"]) =
            ("a larger journal".into(), true.into(), first.into());
        document["what_if"]["choices"].as_array_mut().unwrap().insert(0, bound);
        findings(&document).pop().unwrap().text.starts_with("What would help: a larger journal; predicted, at best: ")
    };
    assert!(is_first(0.9, 0.06));
    assert!(is_first(0.3, 0.9), "the advice has the order");
    assert!(!is_first(0.04, 0.06));
}

use proptest::prelude::*;

use crate::{Dump, Reader, advice, analyze};

fn read(text: &str) -> Dump {
    let mut reader = Reader::default();
    // As a program reads them, with their ends.
    text.split_inclusive('\n').for_each(|line| reader.line(line));
    reader.finish()
}

#[test]
fn a_report_of_a_hung_task() {
    let dump = read(
        "[ 1.5] INFO: task jbd2/sda-8:103 blocked for more than 120 seconds.\n\
         [ 1.5]       Not tainted 5.10.76 #1\n\
         [ 1.5] task:jbd2/sda-8      state:D stack:    0 pid:  103 ppid:     2 flags:0x00004000\n\
         [ 1.5] Call Trace:\n\
         [ 1.5]  __schedule+0x1/0x2\n\
         [ 1.5]  ? a_guess+0x1/0x2\n\
         [ 1.5]  schedule+0x1/0x2\n\
         [ 1.5]  jbd2_journal_commit_transaction+0x1/0x2 [jbd2]\n\
         [ 1.6] sd 0:0:0:0: [sda] tag#99 task abort on host 0\n",
    );
    assert_eq!(dump.kernel.as_deref(), Some("5.10.76"));
    let [task] = &dump.tasks[..] else { panic!("{dump:?}") };
    assert_eq!((task.title(), task.state, task.blocked_s), ("jbd2/sda-8/103".into(), Some('D'), Some(120)));
    assert_eq!(task.frames, ["__schedule", "schedule", "jbd2_journal_commit_transaction"]);
    assert_eq!(dump.signs[0].of, "requests that timed out");
}

/// Each holds the same stack: of a journal, and of a console on which another CPU printed within a line.
#[test]
fn a_stack_is_whole_whatever_carries_it() {
    let plain = "INFO: task nfsd:17206 blocked for more than 120 seconds.\n\
                 nfsd            D    0 17206      2 0x00000000\nCall Trace:\n \
                 schedule+0x30/0x80\n schedule_preempt_disabled+0x9/0x10\n mutex_lock+0x12/0x30\n\
                 \x20btrfs_file_write_iter+0x6a/0x4a0 [btrfs]\n";
    let journal: String =
        plain.lines().map(|line| format!("{{\"PRIORITY\":\"3\",\"MESSAGE\":\"{line}\"}}\n")).collect();
    let console: String = plain.lines().map(|line| format!("[ 1038.300119] {line}\n")).collect();
    let console = console.replace("schedule_preempt", "sched[ 1043.444164] serial8250: too much work\nule_preempt");
    for text in [plain, &journal, &console] {
        let dump = read(text);
        let [task] = &dump.tasks[..] else { panic!("{dump:?}") };
        let expected = ["schedule", "schedule_preempt_disabled", "mutex_lock", "btrfs_file_write_iter"];
        assert_eq!((task.title(), &task.frames[..]), ("nfsd/17206".into(), &expected.map(str::to_owned)[..]), "{text}");
    }
}

/// A log has both functions of the lock that freezing takes, a recorded stack none of them.
#[test]
fn the_caller_of_a_lock_says_what_it_protects() {
    let root = |caller: &str| {
        let text = format!(
            "task:a state:D stack:0 pid:1 ppid:1\n schedule+0x1/0x2\n percpu_rwsem_wait+0x1/0x2\n \
             __percpu_down_read+0x1/0x2\n {caller}+0x1/0x2\n ksys_write+0x1/0x2\n"
        );
        let analysis = analyze(&read(&text));
        (analysis.roots[0].class.name(), analysis.roots[0].what.clone())
    };
    assert_eq!(root("vfs_write"), ("halted", "thaw of the file system".to_owned()));
    assert_eq!(root("cpus_read_lock"), ("lock", "system-wide lock".to_owned()));
}

#[test]
fn files_of_proc_and_crash() {
    let dump = read(
        "==> /proc/12/stack <==\n[<0>] folio_wait_bit_common+0x1/0x2\n[<0>] filemap_read+0x1/0x2\n\n==> /proc/13/stack \
         <==\n[<0>] \
         request_wait_answer+0x1/0x2 [fuse]\n\nPID: 14  TASK: ffff88  CPU: 3   COMMAND: \"dd\"\n #0 [ffff88] \
         __schedule at \
         ffffffff81\n #1 [ffff88] io_schedule at ffffffff81\n #2 [ffff88] blkdev_issue_flush at ffffffff81\n",
    );
    let tids: Vec<Option<u32>> = dump.tasks.iter().map(|task| task.tid).collect();
    assert_eq!(tids, [Some(12), Some(13), Some(14)]);
    assert_eq!(dump.tasks[2].frames, ["__schedule", "io_schedule", "blkdev_issue_flush"]);
}

/// Files of /proc say no state: the kernel's threads sleep in their loops, and those of programs for each other.
#[test]
fn idle_threads_of_unknown_state_are_not_blocked() {
    let dump = read(
        "==> /proc/36/stack <==\n[<0>] kcompactd+0x3d1/0x440\n[<0>] kthread+0xf8/0x220\n\
         [<0>] ret_from_fork+0x1/0x2\n==> /proc/37/stack <==\n[<0>] futex_do_wait+0x1/0x2\n[<0>] __futex_wait+0x1/0x2\n\
         [<0>] do_futex+0x1/0x2\n==> /proc/38/stack <==\n[<0>] compact_zone+0x1/0x2\n[<0>] kcompactd+0x3d1/0x440\n\
         [<0>] kthread+0xf8/0x220\n",
    );
    let blocked: Vec<Option<u32>> = analyze(&dump).blocked.iter().map(|blocked| dump.tasks[blocked.task].tid).collect();
    assert_eq!(blocked, [Some(38)]);
}

#[test]
fn lockdep_says_who_holds_what_a_task_waits_for() {
    let dump = read(
        "INFO: task a:1 blocked for more than 120 seconds.\n mutex_lock+0x1/0x2\n path_openat+0x1/0x2\nINFO: task b:2 \
         blocked for more \
         than 120 seconds.\n io_schedule+0x1/0x2\n submit_bio_wait+0x1/0x2\n\nShowing all locks held in the system:\n1 \
         lock held by a/1:\n \
         #0: ffff88aa (&dir){+.+.}-{3:3}, at: path_openat+0x1/0x2\n2 locks held by b/2:\n #0: ffff88bb \
         (&x){+.+.}-{3:3}, at: x+0x1/0x2\n #1: \
         ffff88aa (&dir){+.+.}-{3:3}, at: y+0x1/0x2\n",
    );
    assert_eq!(dump.holders.len(), 1);
    assert_eq!((dump.holders[0].waiter, dump.holders[0].holder, dump.holders[0].lock.as_str()), (1, 2, "&dir"));
    let analysis = analyze(&dump);
    assert_eq!((analysis.roots[0].class.name(), analysis.roots[0].behind), ("device", 1));
}

/// The last report of a task counts.
#[test]
fn a_task_that_is_reported_again() {
    let report = |seconds: u32| {
        format!("INFO: task a:1 blocked for more than {seconds} seconds.\n schedule+0x1/0x2\n f{seconds}+0x1/0x2\n")
    };
    let dump = read(&(report(120) + &report(241)));
    let [task] = &dump.tasks[..] else { panic!("{dump:?}") };
    assert_eq!((task.reports, task.blocked_s, task.frames[1].as_str()), (2, Some(241), "f241"));
}

/// Pieces of lines, from which hostile dumps are made.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("INFO: task a:1 blocked for more than 120 seconds.".to_owned()),
        Just("task:b state:D stack:0 pid:2 ppid:1".to_owned()),
        Just("2 locks held by a/1:".to_owned()),
        Just(" #0: ffff (&x){+}-{3:3}, at: f+0x1/0x2".to_owned()),
        Just("INFO: task a:1 is blocked on a mutex likely owned by task b:2.".to_owned()),
        Just("INFO: task b:2 is blocked on a mutex likely owned by task a:1.".to_owned()),
        Just(" mutex_lock+0x1/0x2".to_owned()),
        Just("[<1>] (a) from [<2>] (b+0x1/0x2)".to_owned()),
        Just("PID: 99999999999 COMMAND:".to_owned()),
        "\\PC{0,40}",
        "[\\[\\]<>:;,.# 0-9a-fx+/()D]{0,60}",
    ]
}

proptest! {
    /// Whatever a dump holds, there is an answer: no panic, no endless chain.
    #[test]
    fn any_lines_have_an_answer(lines in prop::collection::vec((piece(), piece()), 0..60)) {
        let text: String = lines.iter().map(|(one, other)| format!("{one}{other}\n{one}\n{other}\n")).collect();
        let dump = read(&text);
        let analysis = analyze(&dump);
        let _ = advice(&dump, &analysis);
        let counted: usize = analysis.groups.iter().map(|group| group.members.len()).sum();
        prop_assert_eq!(counted, analysis.blocked.len());
        let of_roots: usize = analysis.roots.iter().map(|root| root.tasks.len() + root.behind).sum();
        prop_assert_eq!(of_roots, analysis.blocked.len());
    }
}

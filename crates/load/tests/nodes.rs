//! Ranks on several nodes, each with its board: here two nodes of this machine, whose conductors meet in memory.

mod running;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use load::catalogue::find;
use load::clock;
use load::conductor::{Conductor, Follower, Launch, LoadEvent, Others, PartEnd};
use load::plan::RankPlacement;
use running::{RunReport, executable, plan};

const NODES: usize = 2;
/// Ranks of each node.
const RANKS: [[u64; 2]; NODES] = [[0, 2], [1, 3]];

#[derive(Default)]
struct Meeting {
    ready: HashMap<u32, Vec<usize>>,
    start_ns: HashMap<u32, u64>,
    ended: HashMap<u32, HashMap<usize, PartEnd>>,
    failure: Option<(usize, String)>,
}

struct Node {
    number: usize,
    meeting: Arc<Mutex<Meeting>>,
}

impl Others for Node {
    fn start_ns(&mut self, sequence: u32) -> Option<u64> {
        let mut meeting = self.meeting.lock().unwrap();
        let ready = meeting.ready.entry(sequence).or_default();
        if !ready.contains(&self.number) {
            ready.push(self.number);
        }
        if ready.len() < NODES {
            return None;
        }
        Some(*meeting.start_ns.entry(sequence).or_insert_with(|| clock::now_ns() + 20_000_000))
    }

    fn end(&mut self, sequence: u32, here: &PartEnd) -> Option<PartEnd> {
        let mut meeting = self.meeting.lock().unwrap();
        let ended = meeting.ended.entry(sequence).or_default();
        ended.insert(self.number, here.clone());
        (ended.len() == NODES).then(|| ended[&(1 - self.number)].clone())
    }

    fn fail(&mut self, why: &str) {
        self.meeting.lock().unwrap().failure.get_or_insert((self.number, why.to_owned()));
    }

    fn failure(&mut self) -> Option<String> {
        let failure = self.meeting.lock().unwrap().failure.clone();
        failure.filter(|(number, _)| *number != self.number).map(|(_, why)| why)
    }
}

struct Nodes {
    conductors: Vec<Conductor>,
    followers: Vec<Follower>,
}

fn start(directories: [&Path; NODES], settings: &[(&str, &str)]) -> Nodes {
    let whole = plan(&find("ior").unwrap(), directories[0], settings);
    let launch = Launch { executable: executable(), arguments: vec!["__load".into()], cgroup_procs: Vec::new() };
    let meeting = Arc::new(Mutex::new(Meeting::default()));
    let mut nodes = Nodes { conductors: Vec::new(), followers: Vec::new() };
    for (number, here) in RANKS.iter().enumerate() {
        let mut plan = whole.clone();
        plan.data_directories = vec![directories[number].join("stallscope-ior")];
        let placement = |own| RankPlacement { ranks: 4, here: here.to_vec(), own };
        plan.placement = Some(placement(here[0]));
        let others = Node { number, meeting: Arc::clone(&meeting) };
        let conductor = Conductor::start_among(plan.clone(), &launch, Some(Box::new(others))).unwrap();
        let board: OwnedFd = conductor.board().try_clone_to_owned().unwrap();
        plan.placement = Some(placement(here[1]));
        nodes.followers.push(Follower::start(&plan, &launch, &board).unwrap());
        nodes.conductors.push(conductor);
    }
    nodes
}

/// Drives all to their end; one report for each node.
fn finish(mut nodes: Nodes) -> Vec<RunReport> {
    let deadline = clock::now_ns() + 60_000_000_000;
    let mut reports = [RunReport::default(), RunReport::default()];
    while reports.iter().any(|report| report.end.is_none()) {
        assert!(clock::now_ns() < deadline, "the load does not end");
        for (report, conductor) in reports.iter_mut().zip(&mut nodes.conductors) {
            report.poll(conductor);
        }
        nodes.followers.iter_mut().for_each(|follower| _ = follower.has_ended());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(nodes.followers.iter_mut().all(|follower| (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        follower.has_ended()
    })));
    reports.into()
}

const SETTINGS: [(&str, &str); 4] = [("ranks", "4"), ("transfer", "1k"), ("block", "4k"), ("segments", "5")];

#[test]
fn ranks_of_two_nodes_verify_what_the_others_wrote() {
    for shared in ["false", "true"] {
        let folder = tempfile::tempdir().unwrap();
        let more = [("check_write", "true"), ("check_read", "true"), ("reorder", "true"), ("file_per_process", shared)];
        let reports = finish(start([folder.path(); NODES], &[&SETTINGS[..], &more, &[("repetitions", "2")]].concat()));
        for (report, here) in reports.iter().zip(RANKS) {
            assert_eq!((&report.end, report.errors()), (&Some(LoadEvent::Finished), 0));
            for (phase, class) in [("write", "write"), ("check-write", "check"), ("check-read", "check")] {
                assert_eq!(report.count(phase, class), 2 * 2 * 4 * 5, "{phase}");
            }
            let members = &report.job_threads.iter().find(|(phase, _)| phase == "write").unwrap().1;
            assert_eq!(members.iter().map(|member| member.ordinal).collect::<Vec<_>>(), here);
        }
        let starts =
            |report: &RunReport| report.job_threads.iter().map(|(_, members)| members[0].start_ns).collect::<Vec<_>>();
        let (first, second) = (starts(&reports[0]), starts(&reports[1]));
        assert!(second.iter().all(|start_ns| first.contains(start_ns)), "common starts: {first:?} {second:?}");
    }
}

#[test]
fn a_reader_knows_what_ranks_of_other_nodes_wrote_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("ranks", "4"), ("transfer", "4k"), ("block", "1g"), ("stonewall", "300ms")];
    let more = [("write", "true"), ("read", "true"), ("reorder", "true"), ("file_per_process", "true")];
    let reports = finish(start([folder.path(); NODES], &[&settings[..], &more].concat()));
    let items = |phase: &str| {
        let of_phase = reports.iter().flat_map(|report| &report.job_threads).filter(|(name, _)| name == phase);
        let mut items: Vec<(u64, u64)> =
            of_phase.flat_map(|(_, members)| members.iter().map(|m| (m.ordinal, m.items))).collect();
        items.sort_unstable();
        items.into_iter().map(|(_, items)| items).collect::<Vec<_>>()
    };
    let (written, read) = (items("write"), items("read"));
    assert_eq!((written.len(), read.len()), (4, 4));
    // Rank n reads what rank n + 1 wrote, which is on the other node.
    for (rank, read) in read.iter().enumerate() {
        assert!(*read > 0 && *read <= written[(rank + 1) % 4], "rank {rank}: {written:?} {read:?}");
    }
    assert_eq!(reports.iter().map(RunReport::errors).sum::<u64>(), 0);
}

#[test]
fn a_killed_rank_ends_the_load_of_all_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("ranks", "4"), ("transfer", "4k"), ("block", "1g"), ("stonewall", "60s"), ("write", "true")];
    let mut nodes = start([folder.path(); NODES], &settings);
    let mut reports = [RunReport::default(), RunReport::default()];
    let deadline = clock::now_ns() + 60_000_000_000;
    while reports.iter().any(|report| !report.phases.contains(&"write".to_owned())) {
        assert!(clock::now_ns() < deadline, "no rank writes");
        reports.iter_mut().zip(&mut nodes.conductors).for_each(|(report, conductor)| report.poll(conductor));
        std::thread::sleep(Duration::from_millis(2));
    }
    nodes.followers[1].kill();
    let began = clock::now_ns();
    for report in finish(nodes) {
        let Some(LoadEvent::Died { message, .. }) = report.end else { panic!("{:?}", report.end) };
        assert!(message.contains("rank 3") && message.contains("signal 9"), "{message}");
    }
    assert!(clock::now_ns() - began < 10_000_000_000);
}

#[test]
fn directories_that_nodes_do_not_share_are_an_error() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directories: [PathBuf; NODES] = [first.path().to_owned(), second.path().to_owned()];
    for report in finish(start([&directories[0], &directories[1]], &SETTINGS)) {
        let Some(LoadEvent::Died { message, .. }) = report.end else { panic!("{:?}", report.end) };
        assert!(message.contains("share the file system"), "{message}");
    }
}

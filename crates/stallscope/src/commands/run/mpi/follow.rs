//! A rank that is not its node's leader: runs its load process on the leader's board.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Instant;

use load::conductor::{Follower, Launch};
use load::plan::Plan;

use super::leaving::leave_alone;
use super::link::Link;
use super::message::Message;
use super::patience::{LEAVE_PATIENCE, LOST_PATIENCE, POLL, SETUP_PATIENCE, SHORT_PATIENCE};
use super::ranks::{Ranks, is_gone};
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;

/// Runs the rank until rank 0 lets it go.
pub(super) fn follow(plan: &Plan, mut link: Link, ranks: &Ranks, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let leader = ranks.leader();
    let board = link.wait(interrupt, SETUP_PATIENCE, |from, message| match message {
        Message::Board { pid, descriptor, cgroup_procs } if from == leader => {
            Some(Some((format!("/proc/{pid}/fd/{descriptor}"), cgroup_procs.clone())))
        }
        Message::Leave | Message::Alone => Some(None),
        _ => None,
    });
    let Some(board) = board else { return Ok(Exit::Interrupted) };
    let Some((path, cgroup_procs)) = board else {
        link.send(0, &Message::Gone);
        return Ok(Exit::Done);
    };
    let opened = File::options().read(true).write(true).open(&path).map_err(|error| error.to_string());
    let launch = launch(cgroup_procs);
    let started =
        opened.and_then(|file| Follower::start(plan, &launch, &OwnedFd::from(file)).map_err(|error| error.to_string()));
    match started {
        Ok(mut follower) => attend(&mut follower, ranks.leader_pid(), interrupt),
        Err(why) => link.send(leader, &Message::Failed { why: format!("rank {}: {why}", link.rank()) }),
    }
    link.send(0, &Message::Gone);
    wait_to_leave(link, ranks, interrupt)
}

/// Waits for rank 0's message, while the leader lives.
fn wait_to_leave(mut link: Link, ranks: &Ranks, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let began = Instant::now();
    loop {
        // The leader may end just before rank 0's message arrives.
        let is_lost = is_gone(ranks.leader_pid());
        let left = link.wait(interrupt, LOST_PATIENCE, |_, message| match message {
            Message::Leave => Some(true),
            Message::Alone => Some(false),
            _ => None,
        });
        match left {
            Some(true) => return Ok(Exit::Done),
            None if interrupt.requests() > 0 => link.abort(Exit::Interrupted.code()),
            None if !is_lost && began.elapsed() < LEAVE_PATIENCE => {}
            _ => leave_alone(),
        }
    }
}

/// Waits for the end of a rank's load process. Without its leader the load cannot go on.
fn attend(follower: &mut Follower, leader: u32, interrupt: &Interrupt) {
    let mut ending: Option<Instant> = None;
    while !follower.has_ended() {
        if interrupt.requests() > 0 || is_gone(leader) {
            // Usually the launcher ended all ranks, and the leader ends the load.
            let since = *ending.get_or_insert_with(Instant::now);
            if since.elapsed() > SHORT_PATIENCE {
                follower.stop("ended by a signal, or its node's first rank has ended");
            }
            if since.elapsed() > 2 * SHORT_PATIENCE {
                return follower.kill();
            }
        }
        std::thread::sleep(POLL);
    }
}

fn launch(cgroup_procs: Vec<PathBuf>) -> Launch {
    Launch { executable: PathBuf::from("/proc/self/exe"), arguments: vec!["__load".into()], cgroup_procs }
}

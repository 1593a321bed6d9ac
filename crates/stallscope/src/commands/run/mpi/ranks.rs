//! Which ranks there are, and on which nodes.

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

use load::plan::RankPlacement;
use model::set::plain;

/// All ranks.
#[derive(Debug, Clone)]
pub(super) struct Ranks {
    own: i32,
    /// The leader of each rank's node.
    leader_of: Vec<i32>,
    /// Process id of each rank, on its node.
    pids: Vec<u32>,
    names: Vec<String>,
    /// The leaders, ascending; the first is rank 0.
    pub(super) leaders: Vec<i32>,
}

/// Longest name of a node.
const NAME_BYTES: usize = 64;

impl Ranks {
    /// Asks all ranks. Collective.
    pub(super) fn gather(world: &SimpleCommunicator) -> Ranks {
        let node = world.split_shared(world.rank());
        let mut leader = [world.rank()];
        mpi::traits::Root::broadcast_into(&node.process_at_rank(0), &mut leader[..]);
        let ranks = world.size() as usize;
        let mut numbers = vec![0u32; 2 * ranks];
        world.all_gather_into(&[leader[0] as u32, std::process::id()][..], &mut numbers[..]);
        let name = mpi::environment::processor_name().unwrap_or_default();
        let mut own_name = [0u8; NAME_BYTES];
        own_name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
        let mut names = vec![0u8; NAME_BYTES * ranks];
        world.all_gather_into(&own_name[..], &mut names[..]);
        let leader_of: Vec<i32> = numbers.chunks(2).map(|pair| pair[0] as i32).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        let mut leaders = leader_of.clone();
        leaders.sort_unstable();
        leaders.dedup();
        let pids = numbers.chunks(2).map(|pair| pair[1]).collect();
        Ranks { own: world.rank(), leader_of, pids, names: names.chunks(NAME_BYTES).map(text).collect(), leaders }
    }

    pub(super) fn leader(&self) -> i32 {
        self.leader_of[self.own as usize]
    }

    /// The process of the leader of this node.
    pub(super) fn leader_pid(&self) -> u32 {
        self.pids[self.leader() as usize]
    }

    pub(super) fn is_leader(&self) -> bool {
        self.leader() == self.own
    }

    /// The ranks of this node.
    pub(super) fn here(&self) -> impl Iterator<Item = i32> {
        (0..self.leader_of.len() as i32).filter(|rank| self.leader_of[*rank as usize] == self.leader())
    }

    /// The part of this rank.
    pub(super) fn placement(&self) -> RankPlacement {
        let here = self.here().map(|rank| rank as u64).collect();
        RankPlacement { ranks: self.leader_of.len() as u64, here, own: self.own as u64 }
    }

    /// The ranks of a leader's node.
    pub(super) fn of(&self, leader: i32) -> impl Iterator<Item = i32> {
        (0..self.leader_of.len() as i32).filter(move |rank| self.leader_of[*rank as usize] == leader)
    }

    /// The host of a leader.
    pub(super) fn host(&self, leader: i32) -> &str {
        &self.names[leader as usize]
    }

    /// The name of a leader's node, a plain one; one that another node has too gets the leader's rank.
    pub(super) fn node_name(&self, leader: i32) -> String {
        let name = plain(&self.names[leader as usize]);
        let same = self.leaders.iter().filter(|other| plain(&self.names[**other as usize]) == name).count();
        if same > 1 { format!("{name}-{leader}") } else { name }
    }

    /// A rank of this node whose process is gone, and its process id.
    pub(super) fn lost(&self) -> Option<(i32, u32)> {
        self.here().map(|rank| (rank, self.pids[rank as usize])).find(|(_, pid)| is_gone(*pid))
    }
}

/// Whether a process has ended, also if nobody has waited for it yet.
pub(super) fn is_gone(pid: u32) -> bool {
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { return true };
    let stat = model::name::text(&stat);
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X']))
}

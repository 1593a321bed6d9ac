//! The leaders of the nodes, as one of them sees them ([`Others`]). All meet at rank 0.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use load::conductor::{Others, PartEnd};

use super::clock::{NodeClock, Offset};
use super::figures::NodeRows;
use super::link::Link;
use super::message::Message;
use super::ranks::Ranks;
use crate::ui::screen;

/// Time from the last node's message to the common start: the start must reach all nodes before.
const COUNTDOWN_NS: u64 = 10_000_000;
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// A node without a sign of life is given up after this time.
const SILENCE: Duration = Duration::from_secs(4);
/// Interval at which a leader that waits looks for a message.
const LOOK: Duration = Duration::from_millis(2);
const LOOK_FOR_PROCESSES_EVERY: Duration = Duration::from_millis(100);

/// The state of the leaders.
pub(super) struct Leaders {
    pub(super) link: Link,
    pub(super) ranks: Ranks,
    clock: NodeClock,
    /// The clocks of other nodes, as rank 0 knows them by their leaders.
    clocks: BTreeMap<i32, NodeClock>,
    ready: BTreeMap<u32, BTreeSet<i32>>,
    ended: BTreeMap<u32, BTreeMap<i32, PartEnd>>,
    starts: BTreeMap<u32, u64>,
    all_ended: BTreeMap<u32, PartEnd>,
    /// What this node has said.
    said_ready: Option<u32>,
    said_ended: Option<u32>,
    failure: Option<String>,
    /// The failure that rank 0 has shown.
    said: Option<String>,
    /// Whether the load of this node or of another one has failed.
    has_failed: bool,
    /// Leaders that were given up.
    silent: BTreeSet<i32>,
    /// Rank 0 answers for the measurement of the clock.
    is_served: bool,
    /// When a leader whose load runs was last heard of.
    heard: BTreeMap<i32, Instant>,
    last_alive: Option<Instant>,
    last_look: Option<Instant>,
    last_watch: Option<Instant>,
    pub(super) gone: BTreeSet<i32>,
    pub(super) may_leave: bool,
    /// What other leaders' figures are made of.
    pub(super) figures: BTreeMap<i32, NodeRows>,
}

impl Leaders {
    pub(super) fn new(link: Link, ranks: Ranks, clock: NodeClock) -> Leaders {
        Leaders {
            link,
            ranks,
            clock,
            clocks: BTreeMap::new(),
            ready: BTreeMap::new(),
            ended: BTreeMap::new(),
            starts: BTreeMap::new(),
            all_ended: BTreeMap::new(),
            said_ready: None,
            said_ended: None,
            failure: None,
            said: None,
            has_failed: false,
            silent: BTreeSet::new(),
            is_served: false,
            heard: BTreeMap::new(),
            last_alive: None,
            last_look: None,
            last_watch: None,
            gone: BTreeSet::new(),
            may_leave: false,
            figures: BTreeMap::new(),
        }
    }

    fn is_first(&self) -> bool {
        self.link.rank() == 0
    }

    /// Takes what has arrived.
    pub(super) fn listen(&mut self) {
        while let Some((from, message)) = self.link.receive() {
            if let Some(heard) = self.heard.get_mut(&from) {
                *heard = Instant::now();
            }
            self.take(from, message);
        }
    }

    fn take(&mut self, from: i32, message: Message) {
        match message {
            Message::Ready { sequence } => self.is_ready(from, sequence),
            Message::Start { sequence, start_ns } => {
                self.starts.insert(sequence, start_ns.wrapping_add_signed(self.clock.begin.offset_ns));
            }
            Message::Ended { sequence, end } => self.has_ended(from, sequence, end),
            Message::AllEnded { sequence, end } => {
                let end = moved(&end, self.clock.begin.offset_ns);
                self.all_ended.insert(sequence, end);
            }
            Message::Failed { why } => self.fails(Some(from), why),
            Message::Alive => _ = self.heard.insert(from, Instant::now()),
            Message::Over => _ = self.heard.remove(&from),
            Message::Gone => {
                self.heard.remove(&from);
                self.gone.insert(from);
            }
            Message::Leave => self.may_leave = true,
            Message::Measure if self.is_first() => {
                self.link.send(from, &Message::Measure);
                self.link.serve_clock(from);
            }
            Message::Measure => self.is_served = true,
            Message::Clock { clock } => _ = self.clocks.insert(from, clock),
            Message::Figures { rows } => _ = self.figures.insert(from, *rows),
            Message::Plan { .. } | Message::Board { .. } | Message::Alone => {}
        }
    }

    fn is_ready(&mut self, node: i32, sequence: u32) {
        let ready = self.ready.entry(sequence).or_default();
        ready.insert(node);
        if ready.len() == self.ranks.leaders.len() {
            let start_ns = load::clock::now_ns() + COUNTDOWN_NS;
            self.starts.insert(sequence, start_ns);
            self.say_to_leaders(None, &Message::Start { sequence, start_ns });
        }
    }

    fn has_ended(&mut self, node: i32, sequence: u32, end: PartEnd) {
        let ended = self.ended.entry(sequence).or_default();
        ended.insert(node, end);
        if ended.len() == self.ranks.leaders.len() {
            let mut all = PartEnd::default();
            for end in ended.values() {
                all.is_full |= end.is_full;
                all.shares.extend_from_slice(&end.shares);
            }
            self.say_to_leaders(None, &Message::AllEnded { sequence, end: all.clone() });
            self.all_ended.insert(sequence, all);
            self.ended.remove(&sequence);
        }
    }

    /// A failure of this node or of another one, which all must know.
    fn fails(&mut self, from: Option<i32>, why: String) {
        // The launcher may end this process before its run has ended.
        if self.is_first() && self.said.is_none() {
            screen::error(&why);
            self.said = Some(why.clone());
        }
        self.has_failed = true;
        let message = Message::Failed { why: why.clone() };
        if self.is_first() {
            self.say_to_leaders(from, &message);
        } else if from.is_none() {
            self.link.send(0, &message);
        }
        if from.is_some() {
            self.failure.get_or_insert(why);
        }
    }

    fn say_to_leaders(&self, but: Option<i32>, message: &Message) {
        let others = self.ranks.leaders.iter().filter(|leader| **leader != 0 && Some(**leader) != but);
        others.for_each(|leader| self.link.send(*leader, message));
    }

    /// Sends a sign of life, and looks for nodes that send none and for processes of this node that are gone.
    fn watch(&mut self) {
        let is_due = |last: Option<Instant>, interval| last.is_none_or(|last: Instant| last.elapsed() >= interval);
        if self.ranks.leaders.len() > 1 && is_due(self.last_alive, ALIVE_EVERY) {
            self.last_alive = Some(Instant::now());
            match self.is_first() {
                true => self.say_to_leaders(None, &Message::Alive),
                false => self.link.send(0, &Message::Alive),
            }
        }
        // Held up itself, this process has not listened: what the others sent meanwhile may still be on its way.
        if self.last_watch.replace(Instant::now()).is_some_and(|last| last.elapsed() > ALIVE_EVERY) {
            self.heard.values_mut().for_each(|heard| *heard = Instant::now());
        }
        let silent = self.heard.iter().find(|(_, heard)| heard.elapsed() > SILENCE).map(|(leader, _)| *leader);
        if let Some(leader) = silent {
            self.heard.remove(&leader);
            self.silent.insert(leader);
            let (node, why) = (self.ranks.node_name(leader), silence());
            self.fails(Some(leader), format!("node {node} {why}"));
        }
        if is_due(self.last_look, LOOK_FOR_PROCESSES_EVERY) {
            self.last_look = Some(Instant::now());
            if let Some((rank, pid)) = self.ranks.lost().filter(|(rank, _)| !self.gone.contains(rank)) {
                let why = format!("rank {rank} (process {pid}) was killed");
                self.failure.get_or_insert_with(|| why.clone());
                self.fails(None, why);
                self.gone.insert(rank);
            }
        }
    }

    /// The failure that was shown.
    pub(super) fn said(&self) -> Option<&str> {
        self.said.as_deref()
    }

    /// Whether the load of some node has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether rank 0, or another node for rank 0, was given up, or a rank of this node has been killed: they will not
    /// answer.
    pub(super) fn is_broken(&self) -> bool {
        !self.silent.is_empty() || self.ranks.lost().is_some()
    }

    /// Whether a node was given up.
    pub(super) fn has_lost_a_node(&self) -> bool {
        !self.silent.is_empty()
    }

    /// Why a leader's node was given up.
    pub(super) fn lost(&self, leader: i32) -> Option<String> {
        self.silent.contains(&leader).then(silence)
    }

    /// Measures the clock of this node again, once rank 0 answers. Another leader's part of the end.
    pub(super) fn measure_again(&mut self, patience: Duration) {
        let began = Instant::now();
        self.link.send(0, &Message::Measure);
        while !self.is_served && !self.may_leave && !self.has_failed && began.elapsed() < patience {
            std::thread::sleep(LOOK);
            self.listen();
        }
        if self.is_served {
            self.clock.end = self.link.measure_clock();
        }
        self.link.send(0, &Message::Clock { clock: self.clock });
    }

    /// Whether rank 0 knows the clocks of all other nodes.
    pub(super) fn knows_clocks(&self) -> bool {
        self.clocks.len() + 1 >= self.ranks.leaders.len()
    }

    /// The clock of a leader's node; that of rank 0 is its own.
    pub(super) fn clock(&self, leader: i32) -> Option<NodeClock> {
        let own = || NodeClock { begin: Offset::default(), end: Some(Offset::default()) };
        self.clocks.get(&leader).copied().or_else(|| (leader == 0).then(own))
    }

    /// The other nodes by name, and their clocks: as rank 0 knows them.
    pub(super) fn clocks(&self) -> Vec<(String, NodeClock)> {
        self.clocks.iter().map(|(leader, clock)| (self.ranks.node_name(*leader), *clock)).collect()
    }

    /// Tells the ranks of this node to end without the others.
    pub(super) fn end_alone(&self) {
        let own = self.link.rank();
        self.ranks.here().filter(|rank| *rank != own).for_each(|rank| self.link.send(rank, &Message::Alone));
    }

    /// The load of this node is over.
    pub(super) fn over(&mut self) {
        if !self.is_first() {
            self.link.send(0, &Message::Over);
        }
        self.heard.clear();
    }
}

fn silence() -> String {
    format!("has been silent for {} s", SILENCE.as_secs())
}

/// The leader's side of the leaders.
pub(super) struct Leader(pub(super) Rc<RefCell<Leaders>>);

impl Others for Leader {
    fn start_ns(&mut self, sequence: u32) -> Option<u64> {
        let mut leaders = self.0.borrow_mut();
        if leaders.said_ready != Some(sequence) {
            leaders.said_ready = Some(sequence);
            match leaders.is_first() {
                true => leaders.is_ready(0, sequence),
                false => leaders.link.send(0, &Message::Ready { sequence }),
            }
        }
        leaders.starts.get(&sequence).copied()
    }

    fn end(&mut self, sequence: u32, here: &PartEnd) -> Option<PartEnd> {
        let mut leaders = self.0.borrow_mut();
        if leaders.said_ended != Some(sequence) {
            leaders.said_ended = Some(sequence);
            let end = moved(here, -leaders.clock.begin.offset_ns);
            match leaders.is_first() {
                true => leaders.has_ended(0, sequence, end),
                false => leaders.link.send(0, &Message::Ended { sequence, end }),
            }
        }
        let all = leaders.all_ended.remove(&sequence)?;
        let own: BTreeSet<usize> = here.shares.iter().map(|(thread, _)| *thread).collect();
        let shares = all.shares.into_iter().filter(|(thread, _)| !own.contains(thread)).collect();
        Some(PartEnd { shares, ..all })
    }

    fn fail(&mut self, why: &str) {
        let mut leaders = self.0.borrow_mut();
        let node = leaders.ranks.node_name(leaders.link.rank());
        let why = if leaders.ranks.leaders.len() > 1 { format!("node {node}: {why}") } else { why.to_owned() };
        leaders.fails(None, why);
    }

    fn failure(&mut self) -> Option<String> {
        let mut leaders = self.0.borrow_mut();
        leaders.listen();
        leaders.watch();
        leaders.failure.clone()
    }
}

/// The same on a clock that is ahead by that much.
fn moved(end: &PartEnd, by_ns: i64) -> PartEnd {
    let mut end = end.clone();
    end.shares.iter_mut().for_each(|(_, share)| *share = share.moved(by_ns));
    end
}

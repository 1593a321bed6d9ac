//! Whose answers the operations await, and so whose work the user wants done.

use std::collections::{BTreeMap, BTreeSet};

use model::effect::Edge;

use crate::blame::Culprit;
use crate::thresholds::SMALL_PART;
use crate::waits::{Path, Waiting, Waits};

/// The processes whose work the operations need: those whose answers they await, servers of file systems too, and those
/// that these ask in turn. What else a server waits for, its disk or a lock, is used by processes that can be absent.
/// Processes of the recorded command are wanted anyway: another one of the same program need not be.
#[derive(Debug, Default)]
pub(super) struct Asked<'a> {
    names: BTreeSet<&'a str>,
    /// How long operations wait for what they do, ns, for some by name.
    awaited_ns: BTreeMap<&'a str, u64>,
    /// Process ids, and names with roles, where single processes are known.
    pids: BTreeSet<u32>,
    roles: BTreeSet<(&'a str, Option<&'a str>)>,
}

impl<'a> Asked<'a> {
    pub(super) fn of(waits: &'a Waits) -> Asked<'a> {
        let mut asked = Asked { names: waits.servers.iter().map(String::as_str).collect(), ..Asked::default() };
        for operation in &waits.operations {
            for (path, ns) in &operation.pieces {
                asked.add(waits, operation, &waits.paths[*path as usize], *ns * waits.stands_for);
            }
        }
        asked
    }

    fn add(&mut self, waits: &'a Waits, operation: &Waiting, path: &Path, ns: u64) {
        let process = |tid: u32| waits.tasks.get(&tid).map(String::as_str);
        let mut is_asked = process(path[0].tid) != process(operation.tid);
        if is_asked {
            self.add_process(waits, path[0].tid);
            self.add_time(waits, path[0].tid, ns);
        }
        for pair in path.windows(2) {
            let is_peer = Edge::Peer.changes(pair[0].cause);
            is_asked = Edge::Server.changes(pair[0].cause) || is_asked && is_peer;
            if is_asked {
                self.add_process(waits, pair[1].tid);
            }
            if is_asked || is_peer {
                self.add_time(waits, pair[1].tid, ns);
            }
        }
    }

    fn add_time(&mut self, waits: &'a Waits, tid: u32, ns: u64) {
        if let Some((name, _)) = waits.tasks.get(&tid).and_then(|process| process.rsplit_once('/')) {
            *self.awaited_ns.entry(name).or_default() += ns;
        }
    }

    fn add_process(&mut self, waits: &'a Waits, tid: u32) {
        let Some((name, pid)) = waits.tasks.get(&tid).and_then(|process| process.rsplit_once('/')) else { return };
        let pid = pid.parse().unwrap_or(tid);
        if !waits.command.contains(&pid) {
            self.names.insert(name);
            self.pids.insert(pid);
            self.roles.insert((name, waits.roles.get(&tid).map(String::as_str)));
        }
    }

    /// Whether the operations need it to work while they wait. Not where they wait for what it does for a small part of
    /// what it costs, like a manager that hears from a job whose writes keep others waiting.
    pub(super) fn is_needed(&self, culprit: &Culprit) -> bool {
        let awaited_ns = Asked::name(culprit).and_then(|name| self.awaited_ns.get(name));
        let is_awaited = awaited_ns.is_none_or(|ns| *ns >= culprit.time_ns / SMALL_PART);
        self.is_of_server(culprit) && is_awaited && self.duty(culprit).is_none()
    }

    /// What a process of a server does beside answering: its role, where nobody asks it and none that is asked has that
    /// role.
    pub(super) fn duty(&self, culprit: &Culprit) -> Option<String> {
        let task = culprit.task.as_ref().filter(|_| self.is_of_server(culprit))?;
        let (name, role) = (task.name.as_deref()?, culprit.role.as_deref()?);
        let is_known = self.roles.iter().any(|(known, _)| *known == name);
        let is_asked = self.pids.contains(&task.tid) || self.roles.contains(&(name, Some(role)));
        (is_known && !is_asked).then(|| role.to_owned())
    }

    fn is_of_server(&self, culprit: &Culprit) -> bool {
        Asked::name(culprit).is_some_and(|name| self.names.contains(name))
    }

    fn name(culprit: &Culprit) -> Option<&str> {
        culprit.task.as_ref()?.name.as_deref()
    }
}

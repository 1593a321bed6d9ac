//! Runs by machine. What makes machines differ is neither an effect nor noise, if both sides ran on each of them: they
//! are then compared within machines.

use std::collections::BTreeSet;

use super::figures::{Group, RunFigures};

/// Runs of both sides on one machine.
#[derive(Debug)]
pub(super) struct Block<'a> {
    /// Its name; `None` where it is unknown, or runs are not compared by machine.
    pub(super) machine: Option<&'a str>,
    pub(super) a: Vec<&'a RunFigures>,
    pub(super) b: Vec<&'a RunFigures>,
}

impl Block<'_> {
    pub(super) fn runs(&self) -> impl Iterator<Item = &RunFigures> {
        self.a.iter().chain(&self.b).copied()
    }
}

/// The runs of a comparison.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    /// Those that are compared with each other: of each machine, or all of them.
    pub(super) blocks: Vec<Block<'a>>,
    /// Machines with runs of one side alone, which are not compared.
    pub(super) one_sided: Vec<Block<'a>>,
}

/// Runs of one machine that were compared with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its host name; `unknown` for runs of tools that do not record it.
    pub name: String,
    /// Runs of A.
    pub a: usize,
    /// Runs of B.
    pub b: usize,
}

impl<'a> Blocks<'a> {
    /// By machine, if there are several and one has runs of both sides; else all in one.
    pub(super) fn of(a: &'a Group, b: &'a Group) -> Blocks<'a> {
        let mut machines: Vec<Block<'a>> = Vec::new();
        for (run, of_a) in a.runs.iter().map(|run| (run, true)).chain(b.runs.iter().map(|run| (run, false))) {
            let name = run.machine();
            let at = machines.iter().position(|block| block.machine == name).unwrap_or_else(|| {
                machines.push(Block { machine: name, a: Vec::new(), b: Vec::new() });
                machines.len() - 1
            });
            if of_a { machines[at].a.push(run) } else { machines[at].b.push(run) }
        }
        let is_on_both = |block: &Block<'_>| !block.a.is_empty() && !block.b.is_empty();
        if machines.len() > 1 && machines.iter().any(is_on_both) {
            let (blocks, one_sided) = machines.into_iter().partition(is_on_both);
            return Blocks { blocks, one_sided };
        }
        let all = Block { machine: None, a: a.runs.iter().collect(), b: b.runs.iter().collect() };
        Blocks { blocks: vec![all], one_sided: Vec::new() }
    }

    /// Whether runs are compared by machine.
    pub(super) fn are_machines(&self) -> bool {
        self.blocks.len() + self.one_sided.len() > 1
    }

    /// The machines, in order of their first run; empty if runs are not compared by machine.
    pub(super) fn machines(&self) -> Vec<Machine> {
        let machine = |block: &Block<'_>| Machine { name: block.name().to_owned(), a: block.a.len(), b: block.b.len() };
        if self.are_machines() { self.blocks.iter().map(machine).collect() } else { Vec::new() }
    }

    /// Conditions whose values are not the same on all machines, in the order of the runs' facts. The machine's name is
    /// not one.
    pub(super) fn differ_in(&'a self) -> Vec<String> {
        let facts = |block: &'a Block<'_>| block.runs().flat_map(|run| &run.facts);
        let differs = |what: &str| {
            let values_on = |block| -> BTreeSet<&str> {
                facts(block).filter(|fact| fact.what == what).map(|fact| fact.value.as_str()).collect()
            };
            let mut values = self.blocks.iter().map(values_on);
            let first = values.next();
            values.any(|values| Some(values) != first)
        };
        let mut seen = BTreeSet::new();
        let of_all = self.blocks.iter().flat_map(facts);
        let conditions = of_all.filter(|fact| fact.foreign_mount.is_none() && fact.what != MACHINE);
        let names = conditions.map(|fact| fact.what.as_str()).filter(|what| seen.insert(*what));
        names.filter(|what| differs(what)).map(str::to_owned).collect()
    }

    /// A value of the runs of A and of B, for each block; runs without it are left out.
    pub(super) fn values<T>(&self, value: impl Fn(&RunFigures) -> Option<T>) -> Vec<(Vec<T>, Vec<T>)> {
        let of = |runs: &[&RunFigures]| runs.iter().filter_map(|run| value(run)).collect::<Vec<T>>();
        self.blocks.iter().map(|block| (of(&block.a), of(&block.b))).collect()
    }
}

impl Block<'_> {
    pub(super) fn name(&self) -> &str {
        self.machine.unwrap_or("unknown")
    }
}

impl RunFigures {
    /// Host name of its machine; `None` where it is unknown.
    pub(super) fn machine(&self) -> Option<&str> {
        self.facts.iter().find(|fact| fact.what == MACHINE).map(|fact| fact.value.as_str())
    }
}

/// The condition that names the machine.
pub(super) const MACHINE: &str = "machine";

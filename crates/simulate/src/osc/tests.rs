//! Invariants that hold after every event, with any settings.

use std::collections::{HashMap, HashSet};

use model::stall::RequestRecord;
use proptest::prelude::*;

use super::MODEL;
use super::extent::State;
use super::parameters::TABLE;
use super::plan::{Plan, Trigger};
use super::simulation::{Due, Simulation};
use crate::observer::{Metric, Observer, Operation, Unobserved, Wait};
use crate::parameter::Settings;
use crate::policy::Outcome;

/// Keeps all reports as text, and checks that time never goes backward.
#[derive(Default)]
struct Notes {
    observed: Vec<String>,
    ended_ns: u64,
    sampled_ns: Option<u64>,
    metrics: usize,
    tids: HashSet<u32>,
    bytes: HashMap<&'static str, u64>,
}

impl Notes {
    fn ended(&mut self, tid: u32, start_ns: u64, end_ns: u64) {
        assert!(self.tids.contains(&tid), "{tid} was never reported");
        assert!(start_ns <= end_ns && end_ns >= self.ended_ns, "time went backward");
        self.ended_ns = end_ns;
    }
}

impl Observer for Notes {
    fn task(&mut self, tid: u32, _name: &str) {
        assert!(tid != 0 && self.tids.insert(tid), "{tid} was reported twice");
    }
    fn phase(&mut self, name: &str, _measured: bool, at_ns: u64) {
        self.observed.push(format!("{name} {at_ns}"));
    }
    fn operation(&mut self, operation: Operation) {
        self.ended(operation.tid, operation.start_ns, operation.end_ns);
        *self.bytes.entry(operation.class).or_default() += operation.bytes;
        self.observed.push(format!("{operation:?}"));
    }
    fn wait(&mut self, wait: &Wait) {
        self.ended(wait.tid, wait.start_ns, wait.end_ns);
        self.observed.push(format!("{wait:?}"));
    }
    fn request(&mut self, _request: &RequestRecord) {}
    fn metrics(&mut self, metrics: &'static [Metric]) {
        self.metrics = metrics.len();
    }
    fn sample(&mut self, at_ns: u64, values: &[Option<i64>]) {
        assert!(self.sampled_ns.is_none_or(|before_ns| before_ns < at_ns) && values.len() == self.metrics);
        self.sampled_ns = Some(at_ns);
        self.observed.push(format!("{at_ns} {values:?}"));
    }
    fn sample_every_ns(&self) -> u64 {
        1_000_000_000
    }
    fn slow_ns(&self) -> u64 {
        0
    }
}

/// Writers, clients and files small enough for a debug build, in unusual proportions.
fn settings() -> impl Strategy<Value = Settings> {
    let workload = (1_u64..7, 1_u64..4, 1_u64..4, 0_u64..3, 1_u64..5, any::<bool>(), any::<bool>());
    let client = (4_u64..80, 1_u64..4, 0_u64..300, 0_u64..300, 1_u64..200);
    let words = (any::<bool>(), any::<bool>(), any::<bool>(), 0_u64..2);
    (workload, client, words).prop_map(|(workload, client, words)| {
        let (writers, clients, stripes, transfer, segments, shared, fsync) = workload;
        let (rpc_pages, in_flight, dirty, grant, commit) = client;
        let (heed, group, waits, timeout) = words;
        let size = |pages: u64| format!("{}", pages * 4096);
        let transfer = [24, 64, 100][transfer as usize];
        let values = [
            ("writers", (writers * clients).to_string()),
            ("clients", clients.to_string()),
            ("stripes", stripes.to_string()),
            ("stripe_size", size(64)),
            ("transfer", size(transfer)),
            ("block", size(transfer * 3)),
            ("segments", segments.to_string()),
            ("layout", if shared { "shared" } else { "each" }.to_owned()),
            ("fsync", if fsync { "yes" } else { "no" }.to_owned()),
            ("rpc_pages", rpc_pages.to_string()),
            ("rpcs_in_flight", in_flight.to_string()),
            ("dirty_limit", size(dirty)),
            ("grant", size(grant)),
            ("commit_pages", commit.to_string()),
            ("cache_waiters", if heed { "heed" } else { "ignore" }.to_owned()),
            ("locks", if group { "group" } else { "extent" }.to_owned()),
            ("writeback", if waits { "5s" } else { "0s" }.to_owned()),
            ("cache_timeout", format!("{}s", timeout * 600)),
            ("raid_stripe", size(16)),
        ];
        let mut settings = Settings::new(TABLE);
        for (name, value) in values {
            settings.set(name, &value).unwrap_or_else(|why| panic!("{why}"));
        }
        settings
    })
}

const TRIGGERS: [Trigger; 3] = [Trigger::Old, Trigger::Full, Trigger::Both];

/// Checks that limits are kept and that the lists agree with the extents.
fn check(simulation: &Simulation<'_>) {
    let plan = &simulation.plan;
    let mut cached = vec![0; simulation.oscs.len()];
    for (id, object) in simulation.objects.iter().enumerate() {
        let mut pending = 0;
        let mut free_from = 0;
        for (first, extent) in &object.tree {
            let extent = &simulation.extents[*extent];
            assert!(extent.object == id && extent.first == *first && extent.pages > 0);
            assert!(*first >= free_from, "extents overlap");
            assert!(extent.pages <= plan.rpc_pages && extent.last() <= extent.max_end);
            free_from = extent.last() + 1;
            cached[object.osc] += extent.pages;
            pending += if extent.state == State::Cache { extent.pages } else { 0 };
        }
        let urgent = object.urgent.iter().map(|extent| &simulation.extents[*extent]);
        pending += urgent.filter(|extent| extent.state == State::Sync).map(|extent| extent.pages).sum::<u64>();
        assert_eq!(pending, object.pending_pages);
        for extent in &object.full {
            assert_eq!(simulation.extents[*extent].pages, plan.rpc_pages);
        }
    }
    // A task that was woken with its page already charged has not added it to an extent yet.
    for writer in &simulation.writers {
        if let super::writer::Activity::Cache { entered: true, .. } = writer.activity {
            cached[simulation.objects[writer.object].osc] += 1;
        }
    }
    for (osc, cached) in simulation.oscs.iter().zip(cached) {
        assert!(osc.dirty_pages <= plan.dirty_limit_pages && osc.in_flight <= plan.rpcs_in_flight + 1);
        assert_eq!(osc.dirty_pages, cached);
        assert_eq!(osc.grant_pages + osc.dirty_pages, plan.grant_pages, "grant was lost or created");
    }
}

fn run(policy: &str, settings: &Settings, seed: u64) -> (Outcome, Notes) {
    let mut notes = Notes::default();
    let outcome = (MODEL.run)(policy, settings, seed, &mut notes).unwrap();
    (outcome, notes)
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    outcome.figures.iter().find(|figure| figure.name == name).and_then(|figure| figure.value).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn limits_are_kept_and_each_page_is_written_once(settings in settings(), trigger in 0_usize..3, seed in 0_u64..4) {
        let plan = Plan::new(&settings).unwrap();
        let mut observer = Unobserved;
        let mut simulation = Simulation::new(plan.clone(), TRIGGERS[trigger], seed, &mut observer);
        let mut written = HashSet::new();
        simulation.begin();
        let mut before_ns = 0;
        while let Some(due) = simulation.next_due() {
            prop_assert!(simulation.agenda.now_ns() >= before_ns);
            before_ns = simulation.agenda.now_ns();
            if let Due::Replied(rpc) = due {
                for extent in &simulation.rpcs[rpc].extents {
                    let extent = &simulation.extents[*extent];
                    let resource = simulation.objects[extent.object].resource;
                    for page in extent.first..=extent.last() {
                        prop_assert!(written.insert((resource, page)), "page {} of {} twice", page, resource);
                    }
                }
            }
            simulation.happen(due);
            check(&simulation);
        }
        let left: u64 = simulation.oscs.iter().map(|osc| osc.dirty_pages).sum();
        let dirtied = simulation.account.dirtied_pages;
        prop_assert_eq!(written.len() as u64 + left, dirtied);
        prop_assert_eq!(simulation.account.written_pages, written.len() as u64);
        let hang = simulation.hang();
        prop_assert_eq!(hang.is_none(), dirtied == plan.total_pages() && simulation.writers_left == 0);
        // With waiters heeded, or with a timer, nothing hangs.
        if plan.heed_waiters || plan.writeback_ns > 0 || plan.cache_timeout_ns > 0 {
            prop_assert!(hang.is_none(), "{hang:?}");
        }
        if plan.writeback_ns > 0 || plan.fsync {
            prop_assert!(left == 0 || hang.is_some());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_run_and_all_bytes_are_reported(settings in settings(), trigger in 0_usize..3) {
        let policy = MODEL.policies[trigger].name;
        let (outcome, notes) = run(policy, &settings, 7);
        let (again, noted_again) = run(policy, &settings, 7);
        prop_assert_eq!(&outcome, &again);
        prop_assert_eq!(&notes.observed, &noted_again.observed);
        let (other, _) = run(policy, &settings, 8);
        prop_assert_ne!(outcome.ended_ns, other.ended_ns);
        if outcome.hang.is_none() {
            let total = Plan::new(&settings).unwrap().total_pages() * 4096;
            let left = figure(&outcome, "dirty_left_pages") as u64 * 4096;
            // Nothing may have been enough for an RPC.
            let sent = notes.bytes.get("rpc").copied().unwrap_or_default();
            prop_assert_eq!((notes.bytes["write"], sent + left), (total, total));
        }
        let rpcs: u64 = outcome.histograms[0].rows.iter().map(|row| row.1).sum();
        prop_assert_eq!(rpcs, figure(&outcome, "rpcs") as u64);
    }
}

#[test]
fn contradictory_settings_are_refused() {
    let refused = |name: &str, value: &str, why: &str| {
        let mut settings = Settings::new(TABLE);
        settings.set(name, value).unwrap();
        let error = Plan::new(&settings).unwrap_err().to_string();
        assert!(error.contains(why), "{name} = {value}: {error}");
    };
    refused("writers", "0", "from 1");
    refused("clients", "9", "as many writers");
    refused("transfer", "5000", "a multiple of 4k");
    refused("transfer", "0", "not 0");
    refused("transfer", "3m", "block is not a multiple");
    refused("ost_rate", "0", "nothing would ever be written");
}

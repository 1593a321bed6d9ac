//! Ranks that a launcher started, over MPI (docs/MPI.md).

mod clock;
mod environment;
mod figures;
mod follow;
mod leaders;
mod leaving;
mod link;
mod message;
mod patience;
mod ranks;
mod set;

use std::cell::RefCell;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use explain::blame::Scope;
use explain::summary::Summary;
use load::conductor::{Conductor, Launch, Others};
use load::plan::Plan;

use self::clock::NodeClock;
use self::figures::NodeRows;
use self::follow::follow;
use self::leaders::{Leader, Leaders};
use self::leaving::{leave_alone, leave_mpi, leave_without_first};
use self::link::Link;
use self::message::Message;
use self::patience::{
    END_PATIENCE, FAILED_PATIENCE, LAUNCHER_PATIENCE, LEAVE_PATIENCE, LOST_PATIENCE, POLL, REMOVAL_PATIENCE,
    SETUP_PATIENCE, SHORT_PATIENCE,
};
use self::ranks::Ranks;
use self::set::RunOfSet;
use super::other_ranks::{AllNodes, OtherRanks};
use super::performance::{Outcome, Performance, check, plan, show_plan};
use super::showing::Showing;
use crate::commands::run::request::RunRequest;
use crate::reading::form::Format;
use crate::reading::{explained_set, explanation};
use crate::recording::watchdog::Watchdog;
use crate::recording::{machine, run_directory};
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::{self, Screen};

/// Runs the part of this rank.
pub(super) fn run(request: RunRequest) -> Result<Exit, Failure> {
    environment::complete();
    let interrupt = Interrupt::install()?;
    let universe = environment::universe()?;
    let world = universe.world();
    let ranks = Ranks::gather(&world);
    let link = Link::new(world);
    if link.rank() != 0 {
        let done = other(request, link, ranks, &interrupt);
        leave_mpi(universe, &done, &interrupt);
        return done;
    }
    let output = request.args.recording.output.clone();
    let only_figures = output.json || request.args.format == Format::Native;
    let screen = Screen::new(output.json, output.quiet);
    let done = first(request, link, ranks, &interrupt, &screen);
    leave_mpi(universe, &done.as_ref().map(|(outcome, _)| outcome.exit), &interrupt);
    let (outcome, set) = done?;
    if let Some(directory) = outcome.directory.as_ref().filter(|_| !only_figures)
        && !set.is_some_and(|set| explained_set::print_brief(&set, &screen))
    {
        explanation::print_brief(directory, Scope::default(), outcome.exit == Exit::Interrupted, &screen);
    }
    Ok(outcome.exit)
}

/// Rank 0: plans, leads its node, shows the figures and lets the others go. With the directory of the set.
fn first(
    mut request: RunRequest,
    link: Link,
    ranks: Ranks,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<(Outcome, Option<PathBuf>), Failure> {
    let planned = plan_for_all(&mut request, &link, &ranks, screen);
    let (mut plan, out) = match planned {
        Ok(Planned::Run(planned)) => *planned,
        Ok(Planned::Shown(exit)) => {
            say_to_all(&link, &Message::Leave);
            return Ok((Outcome { exit, directory: None }, None));
        }
        Err(failure) => {
            say_to_all(&link, &Message::Leave);
            return Err(failure);
        }
    };
    hand_out(&link, &ranks, &plan, &out);
    plan.placement = Some(ranks.placement());
    let set = set_of(&request, out.as_ref())?;
    let directory = set.as_ref().map(|set| set.directory.clone());
    let leading = Leading::new(link, ranks, NodeClock::default(), set);
    let done = leading.begin_set(interrupt).and_then(|()| leading.perform(request, plan, out, interrupt, screen));
    let done = leading.end_set(done, screen);
    leading.let_go(&done.as_ref().err().map(ToString::to_string));
    let done = done.map_err(|failure| failure.unless_said(leading.leaders.borrow().said()));
    leading.end_all(&done, interrupt);
    for (name, clock) in leading.leaders.borrow().clocks() {
        screen.remark(&clock.sentence(&name));
    }
    done.map(|outcome| (outcome, directory))
}

/// Gives the plan to all ranks, and the clock to the leaders.
fn hand_out(link: &Link, ranks: &Ranks, plan: &Plan, out: &Option<PathBuf>) {
    let word = Message::Plan { plan: Box::new(plan.clone()), out: out.clone() };
    (1..link.ranks()).for_each(|rank| link.hand(rank, &word));
    let mut others = ranks.leaders.iter().filter(|leader| **leader != 0);
    if let Some(deaf) = others.find(|leader| !link.serve_clock(**leader)) {
        screen::error(&format!("node {} does not answer", ranks.node_name(*deaf)));
        link.abort(Exit::Machine.code());
    }
}

/// What rank 0 planned; `Shown`: only a plan was asked for.
enum Planned {
    Run(Box<(Plan, Option<PathBuf>)>),
    Shown(Exit),
}

fn plan_for_all(request: &mut RunRequest, link: &Link, ranks: &Ranks, screen: &Screen) -> Result<Planned, Failure> {
    let variable = request.recipe.ranks.clone().unwrap_or_default();
    let started = link.ranks().to_string();
    if let Some(given) = request.given(&variable).filter(|given| *given != started) {
        return Err(Failure::usage(format_args!(
            "{variable}: {given} were requested, but the launcher started {started}"
        )));
    }
    if request.args.verify_after_crash {
        return Err(Failure::usage("--verify-after-crash is done by one process, without a launcher"));
    }
    request.set(&variable, &started);
    Showing::new(request)?;
    let plan = plan(request)?;
    if request.args.plan {
        return show_plan(&plan, request, screen).map(|outcome| Planned::Shown(outcome.exit));
    }
    check(&plan, screen)?;
    let out = match ranks.leaders.len() {
        1 => None,
        _ => {
            let out = request.args.recording.out.as_deref();
            let chosen = run_directory::choose(out, &request.recipe.name, &plan.directories)?;
            chosen.remark.iter().for_each(|remark| screen.remark(remark));
            RunOfSet::refuse_used(&chosen.directory)?;
            Some(std::path::absolute(chosen.directory).map_err(Failure::machine)?)
        }
    };
    Ok(Planned::Run(Box::new((plan, out))))
}

fn say_to_all(link: &Link, word: &Message) {
    (1..link.ranks()).for_each(|rank| link.send(rank, word));
}

/// Another rank: leads its node, or joins its leader's load. Rank 0 speaks for it.
fn other(request: RunRequest, mut link: Link, ranks: Ranks, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let word = link.wait(interrupt, SETUP_PATIENCE, |_, word| match word {
        Message::Plan { plan, out } => Some(Some((plan.clone(), out.clone()))),
        Message::Leave => Some(None),
        _ => None,
    });
    let Some(word) = word else { return Ok(Exit::Interrupted) };
    let Some((mut plan, out)) = word else { return Ok(Exit::Done) };
    plan.placement = Some(ranks.placement());
    if !ranks.is_leader() {
        return follow(&plan, link, &ranks, interrupt);
    }
    let Some(begin) = link.measure_clock() else { leave_without_first(&ranks.node_name(link.rank())) };
    let clock = NodeClock { begin, end: None };
    link.send(0, &Message::Clock { clock });
    let leading = Leading::new(link, ranks, clock, set_of(&request, out.as_ref())?);
    let screen = Screen::new(false, true);
    let done = leading.perform(request, *plan, out, interrupt, &screen);
    if let Err(failure) = &done {
        leading.report(failure);
    }
    leading.leave(interrupt);
    // The launcher ends all ranks when it sees an exit code: only rank 0 has one, which it ends with after it has said
    // why.
    Ok(done.map_or(Exit::Done, |outcome| if outcome.exit == Exit::Interrupted { outcome.exit } else { Exit::Done }))
}

/// The set of a run on several nodes.
fn set_of(request: &RunRequest, out: Option<&PathBuf>) -> Result<Option<RunOfSet>, Failure> {
    let (workload, started_wall_ns) = (request.recipe.name.clone(), record::clock::now().wall_ns);
    let sharing = request.args.recording.sharing.sharing()?;
    Ok(out.map(|directory| RunOfSet { directory: directory.clone(), sharing, workload, started_wall_ns }))
}

/// The leader of a node.
struct Leading {
    leaders: Rc<RefCell<Leaders>>,
    set: Option<RunOfSet>,
}

impl Leading {
    fn new(link: Link, ranks: Ranks, clock: NodeClock, set: Option<RunOfSet>) -> Leading {
        Leading { leaders: Rc::new(RefCell::new(Leaders::new(link, ranks, clock))), set }
    }

    /// Describes the set once the clocks of all nodes are known. Rank 0's part.
    fn begin_set(&self, interrupt: &Interrupt) -> Result<(), Failure> {
        let Some(set) = &self.set else { return Ok(()) };
        let began = Instant::now();
        let mut leaders = self.leaders.borrow_mut();
        while !leaders.knows_clocks() && began.elapsed() < END_PATIENCE && interrupt.requests() == 0 {
            leaders.listen();
            std::thread::sleep(POLL);
        }
        set.write(&leaders, false)
    }

    /// The same at the end.
    fn end_set(&self, done: Result<Outcome, Failure>, screen: &Screen) -> Result<Outcome, Failure> {
        let Some(set) = &self.set else { return done };
        let written = set.write(&self.leaders.borrow(), true);
        match (done, written) {
            (Ok(_), Err(failure)) => Err(failure),
            (Err(failure), Err(also)) => {
                screen.warning(&also.to_string());
                Err(failure)
            }
            (done, Ok(())) => done,
        }
    }

    fn perform(
        &self,
        mut request: RunRequest,
        plan: Plan,
        out: Option<PathBuf>,
        interrupt: &Interrupt,
        screen: &Screen,
    ) -> Result<Outcome, Failure> {
        if let Some(out) = out {
            let leaders = self.leaders.borrow();
            let name = leaders.ranks.node_name(leaders.link.rank());
            request.args.recording.out = Some(out.join(format!("node-{name}")));
        }
        let showing = Showing::new(&request)?;
        let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
        // The launcher leaves a killed rank's node no time.
        let watchdog = Watchdog::start(REMOVAL_PATIENCE)?;
        let done = Performance { request, showing, screen, interrupt, register: &register, other_ranks: Some(self) }
            .perform(plan);
        watchdog.dismiss();
        done
    }

    /// Rank 0 ends: all may leave. A failure that the others do not know ends their loads.
    fn let_go(&self, failure: &Option<String>) {
        let leaders = self.leaders.borrow();
        if let Some(why) = failure {
            let others = leaders.ranks.leaders.iter().filter(|leader| **leader != 0);
            others.for_each(|leader| leaders.link.send(*leader, &Message::Failed { why: why.clone() }));
        }
        say_to_all(&leaders.link, &Message::Leave);
    }

    /// Rank 0 ends those that do not answer: they would hold MPI's end up.
    fn end_all(&self, done: &Result<Outcome, Failure>, interrupt: &Interrupt) {
        if self.wait_until_all_are_gone() {
            return;
        }
        let exit = match done {
            Ok(outcome) => outcome.exit,
            Err(failure) => {
                screen::failure(failure);
                failure.exit
            }
        };
        self.abort(exit, interrupt)
    }

    /// Waits for the others' last word. `false`: some are lost.
    fn wait_until_all_are_gone(&self) -> bool {
        let began = Instant::now();
        let mut leaders = self.leaders.borrow_mut();
        loop {
            leaders.listen();
            let (all, is_broken) = (leaders.gone.len() as i32 >= leaders.link.ranks() - 1, leaders.is_broken());
            let patience = if is_broken { LOST_PATIENCE } else { FAILED_PATIENCE };
            if all || began.elapsed() > patience {
                return all && !is_broken;
            }
            std::thread::sleep(POLL);
        }
    }

    /// Ends all ranks, some of which do not answer.
    fn abort(&self, exit: Exit, interrupt: &Interrupt) -> ! {
        let began = Instant::now();
        let leaders = self.leaders.borrow();
        while leaders.has_lost_a_node() && began.elapsed() < LAUNCHER_PATIENCE {
            if interrupt.requests() > 0 {
                std::process::exit(exit.code().into());
            }
            std::thread::sleep(POLL);
        }
        leaders.link.abort(exit.code())
    }

    /// Tells rank 0, which shows it.
    fn report(&self, failure: &Failure) {
        let leaders = self.leaders.borrow();
        let why = format!("node {}: {failure}", leaders.ranks.node_name(leaders.link.rank()));
        leaders.link.send(0, &Message::Failed { why });
        leaders.link.send(0, &Message::Gone);
    }

    /// Waits until rank 0 lets this rank go.
    fn leave(&self, interrupt: &Interrupt) {
        let began = Instant::now();
        loop {
            let mut leaders = self.leaders.borrow_mut();
            leaders.listen();
            let patience = match leaders.has_failed() {
                // A rank's end is something that the launcher's daemon would send.
                _ if leaders.has_lost_a_node() => LAUNCHER_PATIENCE,
                _ if leaders.is_broken() => LOST_PATIENCE,
                true => FAILED_PATIENCE,
                false => LEAVE_PATIENCE,
            };
            if leaders.may_leave {
                return;
            }
            let is_interrupted = interrupt.requests() > 0;
            if is_interrupted && !leaders.has_lost_a_node() {
                leaders.link.abort(Exit::Interrupted.code());
            }
            if is_interrupted || began.elapsed() > patience {
                leaders.end_alone();
                leave_alone();
            }
            drop(leaders);
            std::thread::sleep(POLL);
        }
    }
}

impl OtherRanks for Leading {
    fn others(&self) -> Box<dyn Others> {
        Box::new(Leader(Rc::clone(&self.leaders)))
    }

    fn join(&self, conductor: &Conductor, launch: &Launch) {
        let leaders = self.leaders.borrow();
        let descriptor = conductor.board().as_raw_fd();
        let board = Message::Board { pid: std::process::id(), descriptor, cgroup_procs: launch.cgroup_procs.clone() };
        let own = leaders.link.rank();
        leaders.ranks.here().filter(|rank| *rank != own).for_each(|rank| leaders.link.send(rank, &board));
    }

    fn figures_of_all(&self, summary: &Summary, directory: &Path) -> Option<AllNodes> {
        let set = self.set.as_ref()?;
        let mut leaders = self.leaders.borrow_mut();
        if leaders.link.rank() == 0 {
            return Some(set.figures(&mut leaders, summary));
        }
        let rows = NodeRows::of(directory, summary).map(Box::new);
        rows.into_iter().for_each(|rows| leaders.link.send(0, &Message::Figures { rows }));
        None
    }

    fn wait_for_all(&self) {
        let mut leaders = self.leaders.borrow_mut();
        leaders.over();
        if leaders.link.rank() != 0 {
            if !leaders.has_failed() {
                leaders.measure_again(END_PATIENCE);
            }
            return leaders.link.send(0, &Message::Gone);
        }
        let all = leaders.link.ranks() - 1;
        let patience = if leaders.has_failed() { SHORT_PATIENCE } else { END_PATIENCE };
        let began = Instant::now();
        while (leaders.gone.len() as i32) < all && began.elapsed() < patience {
            std::thread::sleep(POLL);
            leaders.listen();
        }
    }

    fn shows(&self) -> bool {
        self.leaders.borrow().link.rank() == 0
    }
}

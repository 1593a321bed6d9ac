//! Ranks that a launcher started, over MPI (docs/MPI.md).

mod link;
mod meeting;
mod ranks;
mod word;

use std::cell::RefCell;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use explain::blame::Scope;
use load::conductor::{Conductor, Follower, Launch, Others};
use load::plan::Plan;

use self::link::{Link, Offset, lost};
use self::meeting::{Leader, Meeting};
use self::ranks::Ranks;
use self::word::Word;
use super::company::Company;
use super::performance::{Outcome, Performance, check, plan, show_plan};
use super::showing::Showing;
use crate::commands::run::request::RunRequest;
use crate::reading::explanation;
use crate::reading::form::Format;
use crate::recording::{machine, run_directory};
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Memory for messages that are on their way.
const BUFFER_BYTES: usize = 8 << 20;
/// Time for rank 0 to plan, and for a leader to set up its recording.
const SETUP_PATIENCE: Duration = Duration::from_secs(120);
/// Time for the load processes of all ranks to exit.
const END_PATIENCE: Duration = Duration::from_secs(8);
/// The same after a failure or an interrupt: the launcher kills all soon.
const SHORT_PATIENCE: Duration = Duration::from_millis(500);
/// Time for rank 0 to let the others leave.
const LEAVE_PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);

/// Runs the part of this rank.
pub(super) fn run(request: RunRequest) -> Result<Exit, Failure> {
    let interrupt = Interrupt::install()?;
    let initialized = ::mpi::initialize_with_threading(::mpi::Threading::Funneled);
    let (mut universe, _) = initialized.ok_or_else(|| Failure::machine("cannot initialize MPI"))?;
    universe.set_buffer_size(BUFFER_BYTES);
    let world = universe.world();
    let ranks = Ranks::gather(&world);
    let link = Link::new(world);
    if link.rank() == 0 { first(request, link, ranks, &interrupt) } else { other(request, link, ranks, &interrupt) }
}

/// Rank 0: plans, leads its node, shows the figures and lets the others go.
fn first(mut request: RunRequest, link: Link, ranks: Ranks, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let output = request.args.recording.output.clone();
    let only_figures = output.json || request.args.format == Format::Native;
    let screen = Screen::new(output.json, output.quiet);
    let planned = plan_for_all(&mut request, &link, &ranks, &screen);
    let (mut plan, out) = match planned {
        Ok(Planned::Run(planned)) => *planned,
        Ok(Planned::Shown(exit)) => {
            say_to_all(&link, &Word::Leave);
            return Ok(exit);
        }
        Err(failure) => {
            say_to_all(&link, &Word::Leave);
            return Err(failure);
        }
    };
    (1..link.ranks()).for_each(|rank| link.hand(rank, &Word::Plan { plan: Box::new(plan.clone()), out: out.clone() }));
    ranks.leaders.iter().filter(|leader| **leader != 0).for_each(|leader| link.serve_clock(*leader));
    plan.part = Some(ranks.part());
    let leading = Leading::new(link, ranks, Offset::default());
    let done = leading.perform(request, plan, out, interrupt, &screen);
    let exit = match &done {
        Ok(outcome) => outcome.exit,
        Err(failure) => failure.exit,
    };
    if let (Ok(outcome), false) = (&done, only_figures)
        && let Some(directory) = &outcome.directory
    {
        explanation::print_brief(directory, Scope::default(), exit == Exit::Interrupted, &screen);
    }
    leading.let_go(&done.as_ref().err().map(ToString::to_string));
    if !leading.are_all_gone() {
        // A rank that does not answer would hold MPI's end up.
        if let Err(failure) = &done {
            crate::ui::screen::error(&failure.to_string());
        }
        leading.meeting.borrow().link.abort(exit.code());
    }
    done.map(|outcome| outcome.exit)
}

/// What rank 0 planned.
enum Planned {
    Run(Box<(Plan, Option<PathBuf>)>),
    /// Only a plan was asked for.
    Shown(Exit),
}

fn plan_for_all(request: &mut RunRequest, link: &Link, ranks: &Ranks, screen: &Screen) -> Result<Planned, Failure> {
    let variable = request.recipe.ranks.clone().unwrap_or_default();
    let started = link.ranks().to_string();
    if let Some(given) = request.given(&variable).filter(|given| *given != started) {
        return Err(Failure::usage(format_args!(
            "{variable}: {given} were asked for, and the launcher started {started}"
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
            Some(std::path::absolute(chosen.directory).map_err(Failure::machine)?)
        }
    };
    Ok(Planned::Run(Box::new((plan, out))))
}

fn say_to_all(link: &Link, word: &Word) {
    (1..link.ranks()).for_each(|rank| link.send(rank, word));
}

/// Another rank: leads its node, or joins its leader's load. Rank 0 speaks for it.
fn other(request: RunRequest, mut link: Link, ranks: Ranks, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let word = link.wait(interrupt, SETUP_PATIENCE, |_, word| match word {
        Word::Plan { plan, out } => Some(Some((plan.clone(), out.clone()))),
        Word::Leave => Some(None),
        _ => None,
    });
    let Some(word) = word else { return Ok(Exit::Interrupted) };
    let Some((mut plan, out)) = word else { return Ok(Exit::Done) };
    plan.part = Some(ranks.part());
    if !ranks.is_leader() {
        return follow(&plan, link, &ranks, interrupt);
    }
    let offset = link.measure_clock();
    let leading = Leading::new(link, ranks, offset);
    let screen = Screen::new(false, true);
    let done = leading.perform(request, *plan, out, interrupt, &screen);
    let exit = match done {
        Ok(outcome) => outcome.exit,
        Err(failure) => {
            leading.report(&failure);
            failure.exit
        }
    };
    leading.leave(interrupt);
    Ok(exit)
}

/// A rank that is not its node's leader.
fn follow(plan: &Plan, mut link: Link, ranks: &Ranks, interrupt: &Interrupt) -> Result<Exit, Failure> {
    let leader = ranks.leader();
    let board = link.wait(interrupt, SETUP_PATIENCE, |from, word| match word {
        Word::Board { pid, descriptor, cgroup_procs } if from == leader => {
            Some(Some((format!("/proc/{pid}/fd/{descriptor}"), cgroup_procs.clone())))
        }
        Word::Leave => Some(None),
        _ => None,
    });
    let Some(board) = board else { return Ok(Exit::Interrupted) };
    let Some((path, cgroup_procs)) = board else { return Ok(Exit::Done) };
    let opened = File::options().read(true).write(true).open(&path).map_err(|error| error.to_string());
    let launch = launch(cgroup_procs);
    let started =
        opened.and_then(|file| Follower::start(plan, &launch, &OwnedFd::from(file)).map_err(|error| error.to_string()));
    match started {
        Ok(mut follower) => attend(&mut follower, interrupt),
        Err(why) => link.send(leader, &Word::Failed { why: format!("rank {}: {why}", link.rank()) }),
    }
    link.send(0, &Word::Gone);
    let left = link.wait(interrupt, LEAVE_PATIENCE, |_, word| matches!(word, Word::Leave).then_some(()));
    match left {
        Some(()) => Ok(Exit::Done),
        None if interrupt.requests() > 0 => link.abort(Exit::Interrupted.code()),
        None => Err(lost("at the end")),
    }
}

/// Waits for the end of a rank's load process.
fn attend(follower: &mut Follower, interrupt: &Interrupt) {
    let mut interrupted: Option<Instant> = None;
    while !follower.has_ended() {
        if interrupt.requests() > 0 {
            // Usually the launcher ended all ranks, and the leader ends the load.
            let since = *interrupted.get_or_insert_with(Instant::now);
            if since.elapsed() > SHORT_PATIENCE {
                follower.stop("ended by a signal");
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

/// The leader of a node.
struct Leading {
    meeting: Rc<RefCell<Meeting>>,
}

impl Leading {
    fn new(link: Link, ranks: Ranks, offset: Offset) -> Leading {
        Leading { meeting: Rc::new(RefCell::new(Meeting::new(link, ranks, offset))) }
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
            let meeting = self.meeting.borrow();
            let name = meeting.ranks.node_name(meeting.link.rank());
            request.args.recording.out = Some(out.join(format!("node-{name}")));
        }
        let showing = Showing::new(&request)?;
        let register = machine::register(|remark| screen.remark(remark)).map_err(Failure::machine)?;
        Performance { request, showing, screen, interrupt, register: &register, company: Some(self) }.perform(plan)
    }

    /// Rank 0 ends: all may leave. A failure that the others do not know ends their loads.
    fn let_go(&self, failure: &Option<String>) {
        let meeting = self.meeting.borrow();
        if let Some(why) = failure {
            let others = meeting.ranks.leaders.iter().filter(|leader| **leader != 0);
            others.for_each(|leader| meeting.link.send(*leader, &Word::Failed { why: why.clone() }));
        }
        say_to_all(&meeting.link, &Word::Leave);
    }

    fn are_all_gone(&self) -> bool {
        let mut meeting = self.meeting.borrow_mut();
        meeting.listen();
        meeting.gone.len() as i32 >= meeting.link.ranks() - 1 && meeting.ranks.lost().is_none()
    }

    /// Tells rank 0, which shows it.
    fn report(&self, failure: &Failure) {
        let meeting = self.meeting.borrow();
        let why = format!("node {}: {failure}", meeting.ranks.node_name(meeting.link.rank()));
        meeting.link.send(0, &Word::Failed { why });
        meeting.link.send(0, &Word::Gone);
    }

    /// Waits until rank 0 lets this rank go.
    fn leave(&self, interrupt: &Interrupt) {
        let began = Instant::now();
        while !self.meeting.borrow().may_leave {
            if interrupt.requests() > 0 || began.elapsed() > LEAVE_PATIENCE {
                self.meeting.borrow().link.abort(Exit::Interrupted.code());
            }
            std::thread::sleep(POLL);
            self.meeting.borrow_mut().listen();
        }
    }
}

impl Company for Leading {
    fn others(&self) -> Box<dyn Others> {
        Box::new(Leader(Rc::clone(&self.meeting)))
    }

    fn join(&self, conductor: &Conductor, launch: &Launch) {
        let meeting = self.meeting.borrow();
        let descriptor = conductor.board().as_raw_fd();
        let board = Word::Board { pid: std::process::id(), descriptor, cgroup_procs: launch.cgroup_procs.clone() };
        let own = meeting.link.rank();
        meeting.ranks.here().filter(|rank| *rank != own).for_each(|rank| meeting.link.send(rank, &board));
    }

    fn wait_for_all(&self) {
        let mut meeting = self.meeting.borrow_mut();
        meeting.over();
        if meeting.link.rank() != 0 {
            return meeting.link.send(0, &Word::Gone);
        }
        let all = meeting.link.ranks() - 1;
        let patience = if meeting.has_failed() { SHORT_PATIENCE } else { END_PATIENCE };
        let began = Instant::now();
        while (meeting.gone.len() as i32) < all && began.elapsed() < patience {
            std::thread::sleep(POLL);
            meeting.listen();
        }
    }

    fn shows(&self) -> bool {
        self.meeting.borrow().link.rank() == 0
    }
}

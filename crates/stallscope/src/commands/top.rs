//! `top`: stalls in the terminal, live or at any moment of a run.

mod answers;
pub mod args;
mod live;
mod metrics;
mod snapshot_source;
mod stored;
mod terminal;

use std::time::{Duration, Instant};

use explain::snapshot::Snapshot;
use model::quantity::Nanoseconds;
use model::time::Moment;
use report::answer::Answer;
use report::style::{Style, printable};
use top::{Extent, Key, Mode, Request, Scene, View};

use self::answers::Answers;
use self::args::{TopArgs, When};
use self::live::Live;
use self::snapshot_source::SnapshotSource;
use self::stored::Stored;
use self::terminal::Terminal;
use crate::ui::failure::{Exit, Failure};
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Poll interval for signals.
const POLL: Duration = Duration::from_millis(100);

/// Shows stalls until the user quits.
pub fn top(args: &TopArgs) -> Result<Exit, Failure> {
    let screen = Screen::new(args.json, false);
    if args.run.is_some() && args.slower_than.is_some() {
        return Err(Failure::usage(
            "--slower-than sets what top records live; a stored RUN has the threshold that it was recorded with",
        ));
    }
    let mut stored = args.run.as_deref().map(|run| Stored::open(run, &args.scope)).transpose()?;
    if let Some(stored) = &mut stored {
        refuse_beyond_the_end(args.at, stored.refresh()?)?;
    }
    if !args.once && !terminal::is_available() {
        let run = args.run.as_ref().map_or_else(|| "RUN".to_owned(), |run| run.display().to_string());
        return Err(Failure::usage(format_args!(
            "top needs a terminal: 'top --once' prints one window, 'show {run}' and 'explain {run}' a whole run"
        )));
    }
    let interrupt = Interrupt::install()?;
    let mut source: Box<dyn SnapshotSource> = match stored {
        Some(stored) => Box::new(stored),
        None => Box::new(Live::start(args, &screen)?),
    };
    if args.once {
        return once(args, source.as_mut(), &interrupt, &screen);
    }
    watch(args, source.as_mut(), &interrupt, screen.style())
}

/// A moment after the run's end would show the end, as if nothing more had been asked for.
fn refuse_beyond_the_end(at: When, extent: Extent) -> Result<(), Failure> {
    let lasted_ns = extent.last_ns.saturating_sub(extent.first_ns);
    match at {
        When::After(ns) if ns > lasted_ns => Err(Failure::usage(format_args!(
            "--at {}: the run lasts {}{}",
            Nanoseconds(ns),
            Nanoseconds(lasted_ns),
            if extent.live { " so far" } else { "" }
        ))),
        _ => Ok(()),
    }
}

/// The initial view.
fn view(args: &TopArgs, extent: Extent) -> View {
    let mut view = View::new(args.window);
    view.filter.clone_from(&args.filter);
    view.mode = match args.at {
        When::End => Mode::Follow,
        When::Start => Mode::Held(extent.first_ns.saturating_add(args.window).min(extent.last_ns)),
        When::After(ns) => Mode::Held(extent.first_ns.saturating_add(ns).min(extent.last_ns)),
    };
    view
}

/// Without a run: records for one window.
fn fill_window(args: &TopArgs, interrupt: &Interrupt, screen: &Screen) {
    let until = Instant::now() + Duration::from_nanos(args.window);
    while args.run.is_none() && Instant::now() < until && interrupt.requests() == 0 {
        screen.doing(format!("recording for {}", Nanoseconds(args.window)));
        std::thread::sleep(POLL);
    }
    screen.rest();
}

fn once(
    args: &TopArgs,
    source: &mut dyn SnapshotSource,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Result<Exit, Failure> {
    fill_window(args, interrupt, screen);
    let extent = source.refresh()?;
    let window = view(args, extent).window(extent);
    let snapshot = source.snapshot(window);
    let integrity = source.integrity();
    if let Some(remark) = source.remark() {
        screen.remark(&remark);
    }
    let (answer, advice) = Answers::new().of(source.description(), &snapshot);
    if args.json {
        let run = args.run.as_ref().map(|run| run.display().to_string());
        let mut value = report::snapshot::json(run.as_deref(), &snapshot);
        value["answer"] = answer.json();
        value["what_if"] = report::json::what_if(&advice);
        screen.json(&integrity.added(value));
    } else {
        let since = Nanoseconds(window.to_ns.saturating_sub(source.started().monotonic_ns));
        let title = format!(
            "{}: the {} before {} ({since} after the start)",
            printable(&source.title()),
            Nanoseconds(args.window),
            clock(source.started(), window.to_ns)
        );
        let style = screen.style();
        let text = report::snapshot::text(&title, &snapshot, &answer, &args.filter, style);
        screen.result(&(integrity.banner(style) + &text));
    }
    Ok(if interrupt.requests() > 0 { Exit::Interrupted } else { integrity.exit() })
}

/// Time of day in UTC, like the names of run directories.
fn clock(started: Moment, at_ns: u64) -> String {
    let wall_ns = i128::from(started.wall_ns) + i128::from(at_ns) - i128::from(started.monotonic_ns);
    jiff::Timestamp::from_nanosecond(wall_ns).map_or_else(|_| "-".to_owned(), |at| at.strftime("%H:%M:%SZ").to_string())
}

fn watch(
    args: &TopArgs,
    source: &mut dyn SnapshotSource,
    interrupt: &Interrupt,
    style: Style,
) -> Result<Exit, Failure> {
    let every = Duration::from_nanos(args.interval);
    let mut extent = source.refresh()?;
    let mut view = view(args, extent);
    let mut terminal = Terminal::enter()?;
    let answers = Answers::new();
    let mut snapshot = source.snapshot(view.window(extent));
    let (mut answer, _) = answers.of(source.description(), &snapshot);
    let mut refreshed = Instant::now();
    loop {
        let rows = draw(&mut terminal, source, (extent, &view, &snapshot, &answer), style)?;
        let Some(key) = next_key(&mut terminal, interrupt, refreshed + every)? else {
            return Ok(Exit::Interrupted);
        };
        match key.map(|key| (key, view.key(key, extent, rows))) {
            Some((Key::Interrupt, _)) => return Ok(Exit::Interrupted),
            Some((_, Request::Quit)) => return Ok(Exit::Done),
            Some((_, Request::Nothing)) => continue,
            Some((_, Request::Redraw)) => {}
            None => {
                let passed = refreshed.elapsed();
                refreshed = Instant::now();
                extent = source.refresh()?;
                view.pass(passed.as_nanos() as u64, extent);
            }
        }
        let window = view.window(extent);
        // A paused window does not change, but a growing run may add to it.
        if window != snapshot.window || (key.is_none() && extent.live) {
            snapshot = source.snapshot(window);
            (answer, _) = answers.of(source.description(), &snapshot);
        }
    }
}

/// Draws the screen. Returns the number of rows of the selected table.
fn draw(
    terminal: &mut Terminal,
    source: &dyn SnapshotSource,
    (extent, view, snapshot, answer): (Extent, &View, &Snapshot, &Answer),
    style: Style,
) -> Result<usize, Failure> {
    let (title, started, remark) = (source.title(), source.started(), source.remark());
    let scene = Scene {
        title: &title,
        started_ns: started.monotonic_ns,
        clock: &clock(started, snapshot.window.to_ns),
        extent,
        view,
        snapshot,
        answer,
        remark: remark.as_deref(),
        style,
    };
    terminal.draw(&scene)?;
    Ok(scene.rows())
}

/// The next key until `due`, `Some(None)` if there is none; `None` on an interrupt.
fn next_key(terminal: &mut Terminal, interrupt: &Interrupt, due: Instant) -> Result<Option<Option<Key>>, Failure> {
    loop {
        if interrupt.requests() > 0 {
            return Ok(None);
        }
        let left = due.saturating_duration_since(Instant::now());
        let key = terminal.key(left.min(POLL))?;
        if key.is_some() || left.is_zero() {
            return Ok(Some(key));
        }
    }
}

//! Leading a load from its start to its end, whatever comes in between.

use std::time::{Duration, Instant};

use load::conductor::{Conductor, LoadEvent};
use model::event::Ending;

use super::live::Live;
use super::patience::{CALM_PATIENCE, POLL};
use crate::recording::session::Session;
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// After the first Ctrl-C the load has this long to end by itself; then it is killed.
const STOP_PATIENCE: Duration = Duration::from_millis(700);
/// A killed load is gone at once, or is stuck in the kernel and cannot be waited for.
const KILL_PATIENCE: Duration = Duration::from_millis(200);

/// The load is asked to end, or has done all that it should.
struct Stop {
    ending: Ending,
    since: Instant,
    patience: Duration,
}

impl Stop {
    fn new(ending: Ending, patience: Duration) -> Stop {
        Stop { ending, since: Instant::now(), patience }
    }
}

/// Leads the load through its phases, writes down what it does, and shows it, until it is gone or cannot be waited for.
/// How it ended, and what the load said about that where it was not as planned.
pub fn drive(
    conductor: &mut Conductor,
    session: &mut Session,
    interrupt: &Interrupt,
    screen: &Screen,
) -> (Ending, Option<String>) {
    let mut live = Live::new(session.description.clone(), conductor.plan());
    let mut stop: Option<Stop> = None;
    loop {
        for event in conductor.poll(load::clock::now_ns()) {
            let ended = match &event {
                LoadEvent::Finished => Some(None),
                LoadEvent::Died { message, .. } => Some(Some(message.clone())),
                _ => None,
            };
            live.take(event, &session.recorder, screen);
            if let Some(complaint) = ended {
                return (how_it_ended(&live, stop.as_ref(), complaint.as_ref()), complaint);
            }
        }
        if let Some(now) = reason_to_stop(conductor, stop.as_ref(), session, interrupt, screen) {
            conductor.stop();
            stop = Some(now);
        }
        if let Some(stop) = &stop {
            let patience = if interrupt.requests() > 1 { Duration::ZERO } else { stop.patience };
            if stop.since.elapsed() > patience {
                conductor.kill();
            }
            if stop.since.elapsed() > patience + KILL_PATIENCE {
                let complaint = conductor.complaint();
                return (how_it_ended(&live, Some(stop), complaint.as_ref()), complaint);
            }
        }
        live.show_progress(conductor, session, screen);
        let due_in = conductor.next_due_ns().map(|due_ns| due_ns.saturating_sub(load::clock::now_ns()));
        std::thread::sleep(due_in.map_or(POLL / 10, |ns| Duration::from_nanos(ns).min(POLL)));
    }
}

/// A stop that was asked for is the reason of the end; a load that complains ended by itself.
fn how_it_ended(live: &Live, stop: Option<&Stop>, complaint: Option<&String>) -> Ending {
    match (stop.map(|stop| stop.ending), complaint) {
        (None | Some(Ending::Done), Some(_)) => live.death(),
        (None | Some(Ending::Done), None) => Ending::Done,
        (Some(ending), _) => ending,
    }
}

/// A new reason to stop. An interrupt counts also while a load that is done takes its time to go.
fn reason_to_stop(
    conductor: &Conductor,
    stop: Option<&Stop>,
    session: &mut Session,
    interrupt: &Interrupt,
    screen: &Screen,
) -> Option<Stop> {
    match stop.map(|stop| stop.ending) {
        None | Some(Ending::Done) if interrupt.requests() > 0 => Some(Stop::new(Ending::Interrupted, STOP_PATIENCE)),
        None if session.archive_is_full(screen) => Some(Stop::new(Ending::ArchiveFull, STOP_PATIENCE)),
        None if conductor.is_ending() => Some(Stop::new(Ending::Done, CALM_PATIENCE)),
        _ => None,
    }
}

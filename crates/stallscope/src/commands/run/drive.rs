//! Driving a load from start to end.

use std::time::{Duration, Instant};

use load::conductor::{Conductor, LoadEvent};
use model::event::Ending;

use super::live::Live;
use super::patience::{CALM_PATIENCE, POLL};
use crate::recording::session::Session;
use crate::ui::interrupt::Interrupt;
use crate::ui::screen::Screen;

/// Time that the load has to end after the first Ctrl-C; then it is killed.
const STOP_PATIENCE: Duration = Duration::from_millis(700);
/// A killed load exits at once, or is stuck in the kernel and is not waited for.
const KILL_PATIENCE: Duration = Duration::from_millis(200);

/// The load was asked to end, or has finished.
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

/// Drives the load through its phases, records and shows its progress, until it has exited or is left behind. Returns
/// how it ended, and the load's error message, if any.
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
            live.take(event, session, screen);
            if let Some(complaint) = ended {
                return (ending_of(&live, stop.as_ref(), complaint.as_ref()), complaint);
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
                let complaint = conductor.failure_message();
                return (ending_of(&live, Some(stop), complaint.as_ref()), complaint);
            }
        }
        live.show_progress(conductor, session, screen);
        let due_in = conductor.next_due_ns().map(|due_ns| due_ns.saturating_sub(load::clock::now_ns()));
        std::thread::sleep(due_in.map_or(POLL / 10, |ns| Duration::from_nanos(ns).min(POLL)));
    }
}

/// A requested stop is the reason for the end; otherwise a load with an error died.
fn ending_of(live: &Live, stop: Option<&Stop>, complaint: Option<&String>) -> Ending {
    match (stop.map(|stop| stop.ending), complaint) {
        (None | Some(Ending::Done), Some(_)) => live.death(),
        (None | Some(Ending::Done), None) => Ending::Done,
        (Some(ending), _) => ending,
    }
}

/// A new reason to stop. An interrupt also counts while a finished load exits.
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

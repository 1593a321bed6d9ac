//! The slowest operation now, and why: a line while a run or a recording goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use explain::blame::Scope;
use explain::live::Bounds;
use explain::snapshot::Window;
use model::operation::OperationRecord;
use model::run::RunDescription;
use report::snapshot::SlowestNow;

use super::shared_live::SharedLive;
use super::tap::Tap;
use crate::ui::screen::Screen;

/// Time that the line covers.
const WINDOW_NS: u64 = 10_000_000_000;
/// What is kept for it: it is a line of a recording whose own cost matters.
const BOUNDS: Bounds = Bounds { time_ns: 6 * WINDOW_NS, bytes: 8 << 20 };
/// Time between two looks at the rows while the line says something.
const EVERY: Duration = Duration::from_secs(1);
/// And while it does not: the first stall is to be named at once.
const EVERY_BEFORE: Duration = Duration::from_millis(100);
/// Looking takes at most this fraction of the time.
const RESTS: u32 = 20;
/// And before there is something to say: one long look must not hide the first stall for seconds.
const RESTS_BEFORE: u32 = 5;
/// Where nobody sees the line, an operation is named in a message that is this many times as slow as the one before:
/// their number grows with the logarithm of the slowest.
const SLOWER: u64 = 2;

/// Finds the slowest operation of the last seconds.
pub struct Slowest {
    live: Arc<SharedLive>,
    scope: Scope,
    due: Instant,
    line: String,
    is_live: bool,
    /// How slow the operation of the last message was.
    reported_ns: u64,
    /// Whether one of the recorded command was.
    has_reported_own: bool,
}

impl Slowest {
    /// `None` where nothing is to be said: it costs memory and time.
    pub fn new(screen: &Screen, slow_ns: u64) -> Option<Slowest> {
        let live = Arc::new(SharedLive::new(slow_ns, BOUNDS));
        let (due, is_live) = (Instant::now(), screen.is_live());
        (!screen.is_quiet()).then(|| Slowest {
            live,
            scope: Scope::default(),
            due,
            line: String::new(),
            is_live,
            reported_ns: 0,
            has_reported_own: false,
        })
    }

    /// From now on only operations in that scope count.
    pub fn within(&mut self, scope: &Scope) {
        self.scope = scope.clone();
    }

    /// What has to see the rows.
    pub fn tap(&self) -> Arc<dyn Tap> {
        self.live.clone()
    }

    /// Adds operations of a load.
    pub fn operations(&self, records: &[OperationRecord]) {
        self.live.operations(records);
    }

    /// The line, with a line break before it; empty where nothing was slow. Without a terminal it is a message, when
    /// the first is seen and when one is much slower.
    pub fn report(&mut self, run: &RunDescription, now_ns: u64, screen: &Screen) -> &str {
        if Instant::now() >= self.due {
            let began = Instant::now();
            let window = Window { from_ns: now_ns.saturating_sub(WINDOW_NS), to_ns: now_ns };
            let is_slow = self.live.has_slow_since(window.from_ns);
            let snapshot = is_slow.then(|| self.live.look(run, &self.scope, window).snapshot);
            let slowest = snapshot.and_then(|snapshot| report::snapshot::slowest(&snapshot));
            let (every, rests) = if slowest.is_some() { (EVERY, RESTS) } else { (EVERY_BEFORE, RESTS_BEFORE) };
            self.line = slowest.map_or_else(String::new, |slowest| self.shown(&slowest, screen));
            self.due = Instant::now() + every.max(began.elapsed() * rests);
        }
        &self.line
    }

    /// What the line has of it.
    fn shown(&mut self, slowest: &SlowestNow, screen: &Screen) -> String {
        if self.is_live {
            return format!("\n  {}", slowest.text);
        }
        let is_first_own = slowest.is_own && !self.has_reported_own;
        if self.reported_ns == 0 || is_first_own || slowest.lasts_ns / SLOWER >= self.reported_ns {
            self.reported_ns = slowest.lasts_ns.max(1);
            self.has_reported_own |= slowest.is_own;
            screen.news(&slowest.text);
        }
        String::new()
    }
}

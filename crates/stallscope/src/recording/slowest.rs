//! The slowest operation now, and why: a line while a run or a recording goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use explain::blame::Scope;
use explain::glance::Window;
use model::operation::OperationRecord;
use model::run::RunDescription;

use super::recent_history::RecentHistory;
use super::tap::Tap;
use crate::ui::screen::Screen;

/// Time that the line covers.
const WINDOW_NS: u64 = 10_000_000_000;
/// Rows of each kind that are kept for it.
const ROWS: usize = 10_000;
/// Time between two looks at the rows.
const EVERY: Duration = Duration::from_secs(1);
/// Looking takes at most this fraction of the time.
const RESTS: u32 = 20;

/// Finds the slowest operation of the last seconds.
pub struct Slowest {
    history: Arc<RecentHistory>,
    due: Instant,
    line: String,
}

impl Slowest {
    /// `None` where nobody sees the line: it costs memory and time.
    pub fn new(screen: &Screen) -> Option<Slowest> {
        let history = Arc::new(RecentHistory::bounded(ROWS));
        screen.is_live().then(|| Slowest { history, due: Instant::now(), line: String::new() })
    }

    /// What has to see the rows.
    pub fn tap(&self) -> Arc<dyn Tap> {
        self.history.clone()
    }

    /// Adds operations of a load.
    pub fn operations(&self, records: &[OperationRecord]) {
        self.history.operations(records);
    }

    /// The line, with a line break before it; empty where nothing was slow.
    pub fn line(&mut self, run: &RunDescription, now_ns: u64) -> &str {
        if Instant::now() >= self.due {
            let began = Instant::now();
            let window = Window { from_ns: now_ns.saturating_sub(WINDOW_NS), to_ns: now_ns };
            let is_slow = self.history.has_stalls_since(window.from_ns);
            let glance = is_slow.then(|| self.history.glance(run, &Scope::default(), window));
            let words = glance.and_then(|glance| report::glance::slowest(&glance));
            self.line = words.map_or_else(String::new, |words| format!("\n  {words}"));
            self.due = Instant::now() + EVERY.max(began.elapsed() * RESTS);
        }
        &self.line
    }
}

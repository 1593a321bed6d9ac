//! The view: time window, panel, order, filter. Only keys change it.

use explain::snapshot::Window;
use report::snapshot::Panel;

use crate::key::Key;

const SECOND_NS: u64 = 1_000_000_000;
/// Window lengths.
const WINDOWS_S: [u64; 9] = [1, 2, 5, 10, 30, 60, 300, 900, 3600];

/// The time that the run covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Begin, on the monotonic clock.
    pub first_ns: u64,
    /// End.
    pub last_ns: u64,
    /// Whether it still grows.
    pub live: bool,
}

/// Which moment is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The latest moment.
    Follow,
    /// This moment, on the monotonic clock.
    Held(u64),
    /// Playback, now at this moment.
    Playing(u64),
}

/// What a key requests of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Nothing.
    Nothing,
    /// Redraw the screen.
    Redraw,
    /// End the program.
    Quit,
}

/// The state of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// The moment shown.
    pub mode: Mode,
    /// Length of the window that ends there.
    pub window_ns: u64,
    /// The panel that keys work on.
    pub panel: Panel,
    /// The selected row among those shown.
    pub row: usize,
    /// Order of each panel's rows: an index into [`Panel::orders`].
    pub orders: [usize; Panel::ALL.len()],
    /// Rows that do not contain this are hidden.
    pub filter: String,
    /// The filter is being typed.
    pub typing: bool,
    /// The row is shown in full, from this line on.
    pub details: Option<usize>,
    /// Help is shown.
    pub help: bool,
}

impl View {
    /// Follows the end, with a window of this length.
    pub fn new(window_ns: u64) -> View {
        View {
            mode: Mode::Follow,
            window_ns: window_ns.max(1),
            panel: Panel::Stuck,
            row: 0,
            orders: [0; Panel::ALL.len()],
            filter: String::new(),
            typing: false,
            details: None,
            help: false,
        }
    }

    /// The time that is shown.
    pub fn window(&self, extent: Extent) -> Window {
        let to_ns = match self.mode {
            Mode::Follow => extent.last_ns,
            Mode::Held(at_ns) | Mode::Playing(at_ns) => at_ns.clamp(extent.first_ns, extent.last_ns),
        };
        Window { from_ns: to_ns.saturating_sub(self.window_ns), to_ns }
    }

    /// Order of a panel's rows.
    pub fn order(&self, panel: Panel) -> usize {
        self.orders[panel as usize]
    }

    /// Advances playback by the elapsed time.
    pub fn pass(&mut self, ns: u64, extent: Extent) {
        if let Mode::Playing(at_ns) = self.mode {
            let to_ns = at_ns.saturating_add(ns);
            self.mode = match to_ns >= extent.last_ns {
                true if extent.live => Mode::Follow,
                true => Mode::Held(extent.last_ns),
                false => Mode::Playing(to_ns),
            };
        }
    }

    /// Handles a key; `rows` is the number of rows in the panel.
    pub fn key(&mut self, key: Key, extent: Extent, rows: usize) -> Request {
        if key == Key::Interrupt {
            return Request::Quit;
        }
        if self.typing {
            return self.type_filter(key);
        }
        if self.help {
            self.help = false;
            return Request::Redraw;
        }
        if let Some(line) = self.details
            && let Some(request) = self.in_details(key, line)
        {
            return request;
        }
        match key {
            Key::Char('q') => return Request::Quit,
            Key::Char('?' | 'h') => self.help = true,
            Key::Char(' ') => self.pause(extent),
            Key::Char('+' | '=') => self.widen(true),
            Key::Char('-') => self.widen(false),
            Key::Char('s') => self.next_order(),
            Key::Char('/') => self.typing = true,
            Key::Escape => self.filter.clear(),
            Key::Tab => self.turn_to(1),
            Key::BackTab => self.turn_to(Panel::ALL.len() - 1),
            Key::Up | Key::Char('k') => self.row = self.row.min(rows).saturating_sub(1),
            Key::Down | Key::Char('j') => self.row = (self.row + 1).min(rows.saturating_sub(1)),
            Key::Enter if rows > 0 => self.open_details(extent, rows),
            Key::Left | Key::Right | Key::PageUp | Key::PageDown | Key::Home | Key::End => self.step(key, extent),
            _ => return Request::Nothing,
        }
        Request::Redraw
    }

    fn next_order(&mut self) {
        let order = &mut self.orders[self.panel as usize];
        *order = (*order + 1) % self.panel.orders().len();
        self.row = 0;
    }

    fn open_details(&mut self, extent: Extent, rows: usize) {
        self.row = self.row.min(rows - 1);
        self.details = Some(0);
        // The text must not change while it is read.
        self.mode = Mode::Held(self.window(extent).to_ns);
    }

    fn in_details(&mut self, key: Key, line: usize) -> Option<Request> {
        match key {
            Key::Up | Key::Char('k') => self.details = Some(line.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.details = Some(line + 1),
            Key::Enter | Key::Escape | Key::Backspace | Key::Char('q') => self.details = None,
            _ => {
                self.details = None;
                return None;
            }
        }
        Some(Request::Redraw)
    }

    fn type_filter(&mut self, key: Key) -> Request {
        match key {
            Key::Char(character) => self.filter.push(character),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.typing = false,
            Key::Escape => {
                self.typing = false;
                self.filter.clear();
            }
            _ => return Request::Nothing,
        }
        self.row = 0;
        Request::Redraw
    }

    fn pause(&mut self, extent: Extent) {
        let at_ns = self.window(extent).to_ns;
        self.mode = match self.mode {
            Mode::Follow | Mode::Playing(_) => Mode::Held(at_ns),
            Mode::Held(_) if at_ns < extent.last_ns => Mode::Playing(at_ns),
            Mode::Held(_) if extent.live => Mode::Follow,
            Mode::Held(_) => Mode::Playing(extent.first_ns),
        };
    }

    fn widen(&mut self, wider: bool) {
        let mut all = WINDOWS_S.into_iter().map(|seconds| seconds * SECOND_NS);
        let other = |ns: &u64| if wider { *ns > self.window_ns } else { *ns < self.window_ns };
        let found = if wider { all.find(other) } else { all.rfind(other) };
        self.window_ns = found.unwrap_or(self.window_ns);
    }

    fn turn_to(&mut self, by: usize) {
        let at = (self.panel as usize + by) % Panel::ALL.len();
        (self.panel, self.row) = (Panel::ALL[at], 0);
    }

    fn step(&mut self, key: Key, extent: Extent) {
        let at_ns = self.window(extent).to_ns;
        let wide_ns = self.window_ns;
        let to_ns = match key {
            Key::Left => at_ns.saturating_sub(SECOND_NS),
            Key::Right => at_ns.saturating_add(SECOND_NS),
            Key::PageUp => at_ns.saturating_sub(wide_ns),
            Key::PageDown => at_ns.saturating_add(wide_ns),
            Key::Home => extent.first_ns.saturating_add(wide_ns),
            _ => u64::MAX,
        };
        self.mode = match to_ns >= extent.last_ns {
            true if extent.live && key != Key::Home => Mode::Follow,
            true => Mode::Held(extent.last_ns),
            false => Mode::Held(to_ns.max(extent.first_ns)),
        };
    }
}

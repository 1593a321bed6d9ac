//! The screen: a title line, a memory line, the answer, six tables, and a line of keys.

use explain::snapshot::Snapshot;
use model::quantity::Nanoseconds;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style as Paint};
use ratatui_core::text::{Line, Span};
use report::answer::Answer;
use report::snapshot::{Panel, Table, details, memory_line, table};
use report::style::{Style, printable};

use crate::columns::{line, widths};
use crate::view::{Extent, Mode, View};

/// The smallest usable screen.
const LEAST: (u16, u16) = (40, 10);

const HELP: [&str; 17] = [
    "space          pause, resume",
    "left, right    one second back, forward",
    "PgUp, PgDn     one window back, forward",
    "Home, End      start, end (a live run is followed)",
    "+, -           longer, shorter window",
    "Tab, S-Tab     next, previous table",
    "up, down       select a row",
    "Enter          details: a stall's chain, a stuck task's stack",
    "s              change the sort order",
    "/              filter by task, cgroup, device, cause, file; Esc clears it",
    "q, Ctrl-C      quit",
    "",
    "Times cover the window: of a longer stall, only the part within it counts.",
    "'> 3 s' did not end within the window. STUCK NOW is as of the window's end.",
    "More: stallscope explain RUN, and docs/TOP.md.",
    "",
    "press any key to return",
];

/// The content of the screen.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// Name of the run or the machine.
    pub title: &'a str,
    /// When the run began, on the monotonic clock.
    pub started_ns: u64,
    /// Wall-clock time of the moment.
    pub clock: &'a str,
    /// The time that the run covers.
    pub extent: Extent,
    /// The current view.
    pub view: &'a View,
    /// The moment's data.
    pub snapshot: &'a Snapshot,
    /// Why it was slow.
    pub answer: &'a Answer,
    /// A remark in the bottom line.
    pub remark: Option<&'a str>,
    /// Capabilities of the terminal.
    pub style: Style,
}

/// A panel's table, sorted and filtered by the view.
fn table_of(scene: &Scene<'_>, panel: Panel) -> Table {
    table(panel, scene.snapshot, scene.view.order(panel), &scene.view.filter, scene.style)
}

impl Scene<'_> {
    /// Number of rows in the panel that keys work on.
    pub fn rows(&self) -> usize {
        table_of(self, self.view.panel).rows.len()
    }
}

/// Draws the screen.
pub fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let words = format!("{}x{} is too small", area.width, area.height);
        buffer.set_stringn(area.x, area.y, words, usize::from(area.width), Paint::new());
        return;
    }
    let bottom = area.y + area.height - 1;
    put(buffer, area, area.y, &headline(scene, usize::from(area.width)));
    put(buffer, area, area.y + 1, &Line::raw(memory_line(&scene.snapshot.memory)));
    put(buffer, area, bottom, &footer(scene));
    let inside = Rect { y: area.y + 2, height: area.height - 3, ..area };
    if scene.view.help {
        lines(buffer, inside, HELP.iter().map(|text| (*text).to_owned()), 0);
    } else if let Some(from) = scene.view.details {
        let row = table_of(scene, scene.view.panel).rows.get(scene.view.row).map(|row| row.index);
        let plain = Style { color: false, ..scene.style };
        let all = row.map_or_else(Vec::new, |index| details(scene.view.panel, index, scene.snapshot, plain));
        let from = from.min(all.len().saturating_sub(usize::from(inside.height)));
        lines(buffer, inside, all.into_iter(), from);
    } else {
        let below = answer(scene, inside, buffer);
        panels(scene, below, buffer);
    }
}

/// The answer, in at most a third of the area: its headline, and the lines that have room. Returns what is left of it.
fn answer(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) -> Rect {
    let room = usize::from(area.height) / 3;
    let style = Style { width: usize::from(area.width), ..scene.style };
    let all = report::answer::lines(scene.answer, style, room);
    for (y, text) in (area.y..).zip(&all) {
        put(buffer, area, y, &Line::raw(text.clone()));
    }
    let taken = all.len() as u16;
    Rect { y: area.y + taken, height: area.height - taken, ..area }
}

fn put(buffer: &mut Buffer, area: Rect, y: u16, line: &Line<'_>) {
    buffer.set_line(area.x, y, line, area.width);
}

fn lines(buffer: &mut Buffer, area: Rect, texts: impl Iterator<Item = String>, from: usize) {
    for (y, text) in (area.y + 1..area.y + area.height).zip(texts.skip(from)) {
        put(buffer, area, y, &Line::raw(format!("  {text}")));
    }
}

fn headline(scene: &Scene<'_>, width: usize) -> Line<'static> {
    let window = scene.snapshot.window;
    let (word, color) = match (scene.view.mode, scene.extent.live) {
        (Mode::Follow, true) => ("LIVE", Color::Green),
        (Mode::Follow, false) => ("END", Color::Yellow),
        (Mode::Held(_), _) => ("PAUSED", Color::Yellow),
        (Mode::Playing(_), _) => ("PLAYING", Color::Cyan),
    };
    let since = |ns: u64| Nanoseconds(ns.saturating_sub(scene.started_ns) / 10_000_000 * 10_000_000);
    let phase = scene.snapshot.phase.as_ref().map_or_else(String::new, |phase| format!(" ({})", printable(phase)));
    let times = format!(
        "{}  {} of {}{phase}, last {}  ",
        scene.clock,
        since(window.to_ns),
        since(scene.extent.last_ns),
        Nanoseconds(scene.view.window_ns)
    );
    let paint = if scene.style.color { Paint::new().fg(color) } else { Paint::new() }.add_modifier(Modifier::REVERSED);
    let word = format!(" {word} ");
    let room = width.saturating_sub(times.chars().count() + word.len() + 1);
    // If it does not fit, show the path's end.
    let title = printable(scene.title);
    let title: String = title.chars().skip(title.chars().count().saturating_sub(room)).collect();
    let blank = " ".repeat(room - title.chars().count() + 1);
    Line::from(vec![
        Span::styled(title, Paint::new().add_modifier(Modifier::BOLD)),
        Span::raw(blank),
        Span::raw(times),
        Span::styled(word, paint),
    ])
}

fn footer(scene: &Scene<'_>) -> Line<'static> {
    let view = scene.view;
    if view.typing {
        return Line::raw(format!("filter: {}_   Enter keeps it, Esc clears it", printable(&view.filter)));
    }
    let filter = match view.filter.as_str() {
        "" => String::new(),
        filter => format!("   only '{}'", printable(filter)),
    };
    if let Some(remark) = scene.remark.filter(|_| view.details.is_none() && !view.help) {
        let paint = if scene.style.color { Paint::new().fg(Color::Yellow) } else { Paint::new() };
        return Line::from(vec![Span::raw("? help "), Span::styled(format!("  {}{filter}", printable(remark)), paint)]);
    }
    let order = view.panel.orders()[view.order(view.panel)];
    let keys = "q quit ? help space pause <> time +- window Tab table Enter more / filter s sort";
    Line::raw(format!("{keys}: {order}{filter}"))
}

fn panels(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let tables = Panel::ALL.map(|panel| (panel, table_of(scene, panel)));
    let wanted = tables.each_ref().map(|(_, table)| table.rows.len().max(1));
    let mut least = [1; 6];
    // A disk under test is never among those that are only counted.
    let under_test = scene.snapshot.devices.iter().filter(|device| device.under_test).count();
    least[Panel::Devices as usize] = under_test.clamp(1, wanted[Panel::Devices as usize]);
    let heights = share_out((wanted, least), usize::from(area.height), scene.view.panel as usize);
    let mut y = area.y;
    for ((panel, table), height) in tables.iter().zip(heights) {
        if height == 0 {
            continue;
        }
        let area = Rect { y, height: height as u16, ..area };
        one_panel(scene, *panel, table, area, buffer);
        y += height as u16;
    }
}

fn one_panel(scene: &Scene<'_>, panel: Panel, table: &Table, area: Rect, buffer: &mut Buffer) {
    let focused = scene.view.panel == panel;
    let rows = usize::from(area.height) - 1;
    let row = scene.view.row.min(table.rows.len().saturating_sub(1));
    let from = if focused { (row + 1).saturating_sub(rows) } else { 0 };
    let widths = widths(table, usize::from(area.width));
    let heads: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    put(buffer, area, area.y, &line(&heads, &table.columns, &widths, scene.style));
    let mut paint = Paint::new().add_modifier(Modifier::BOLD);
    if scene.style.color {
        paint = paint.fg(if focused { Color::Cyan } else { Color::Blue });
    }
    if focused {
        paint = paint.add_modifier(Modifier::UNDERLINED);
    }
    buffer.set_style(Rect { height: 1, ..area }, paint);
    if table.rows.is_empty() && rows > 0 {
        put(buffer, area, area.y + 1, &Line::raw(format!("  {}", table.empty)));
    }
    for ((at, cells), y) in table.rows.iter().enumerate().skip(from).zip(area.y + 1..area.y + area.height) {
        let cells: Vec<&str> = cells.cells.iter().map(String::as_str).collect();
        put(buffer, area, y, &line(&cells, &table.columns, &widths, scene.style));
        let mut paint = Paint::new();
        if panel == Panel::Stuck && scene.style.color {
            paint = paint.fg(Color::Red);
        }
        if focused && at == row {
            paint = paint.add_modifier(Modifier::REVERSED);
        }
        buffer.set_style(Rect { y, height: 1, ..area }, paint);
    }
    let hidden = table.rows.len().saturating_sub(rows);
    if hidden > 0 {
        let words = format!(" {hidden} more");
        let x = (area.x + area.width).saturating_sub(words.len() as u16);
        buffer.set_stringn(x, area.y, words, usize::from(area.width), Paint::new());
    }
}

/// Heights of the panels, including a line for the head: at first their least rows, as far as all heads fit. The other
/// lines are dealt out in rounds, two to the focused panel and one to each other, until all rows fit or no line is
/// left. If even the heads do not fit, the last panels are dropped, but never the focused one.
fn share_out((wanted, least): ([usize; 6], [usize; 6]), height: usize, focused: usize) -> [usize; 6] {
    let mut heights = [0; 6];
    let mut left = height;
    let first = std::iter::once(focused).chain((0..6).filter(|&at| at != focused));
    for at in first {
        if left >= 2 {
            heights[at] = 2;
            left -= 2;
        }
    }
    for at in (0..6).filter(|&at| heights[at] > 0).collect::<Vec<_>>() {
        let more = (least[at] - 1).min(left);
        (heights[at], left) = (heights[at] + more, left - more);
    }
    loop {
        let before = left;
        for at in 0..6 {
            for _ in 0..if at == focused { 2 } else { 1 } {
                if left > 0 && heights[at] > 0 && heights[at] < wanted[at] + 1 {
                    heights[at] += 1;
                    left -= 1;
                }
            }
        }
        if left == before {
            return heights;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::share_out;

    #[test]
    fn rows_that_must_be_seen_get_their_lines_first() {
        let wanted = [9, 9, 9, 9, 4, 9];
        assert_eq!(share_out((wanted, [1; 6]), 14, 0), [4, 2, 2, 2, 2, 2]);
        assert_eq!(share_out((wanted, [1, 1, 1, 1, 3, 1]), 14, 0), [2, 2, 2, 2, 4, 2]);
        assert_eq!(share_out((wanted, [1, 1, 1, 1, 3, 1]), 12, 0), [2; 6], "no line is left");
        assert_eq!(share_out((wanted, [1, 1, 1, 1, 3, 1]), 4, 4), [2, 0, 0, 0, 2, 0], "the last are dropped");
    }
}

//! The tables of a moment.

use explain::blame::{Culprit, Stall};
use explain::snapshot::{DeviceLoad, Snapshot, Stuck, Work};
use model::quantity::grouped;
use model::quantity::{Bytes, Nanoseconds};

use crate::number::{latency, rate, share};
use crate::sparkline::sparkline;
use crate::style::{Style, printable};

/// Width of a bar of 100 %.
const BAR: usize = 20;

/// The subject of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Panel {
    /// Tasks stuck now.
    Stuck,
    /// Lost time by cause.
    Causes,
    /// Root blockers.
    Culprits,
    /// The longest stalls, individually.
    Stalls,
    /// Disks.
    Devices,
    /// Rates and latencies.
    Work,
}

impl Panel {
    /// All panels, from top to bottom.
    pub const ALL: [Panel; 6] =
        [Panel::Stuck, Panel::Causes, Panel::Culprits, Panel::Stalls, Panel::Devices, Panel::Work];

    /// Title.
    pub fn title(self) -> &'static str {
        match self {
            Panel::Work => "WORK",
            Panel::Causes => "LOST TO",
            Panel::Stuck => "STUCK NOW",
            Panel::Culprits => "ROOT BLOCKER",
            Panel::Stalls => "WORST STALL",
            Panel::Devices => "DEVICE",
        }
    }

    /// Sort orders of its rows; the first is the recorded order.
    pub fn orders(self) -> &'static [&'static str] {
        match self {
            Panel::Work => &["recorded", "rate", "p99", "name"],
            Panel::Causes => &["time", "operations", "name"],
            Panel::Stuck => &["age", "name"],
            Panel::Culprits => &["time", "cause", "name"],
            Panel::Stalls => &["time", "begin", "name"],
            Panel::Devices => &["busy", "in flight", "bytes", "name"],
        }
    }

    fn columns(self) -> Vec<Column> {
        let column = |(at, &(name, align)): (usize, &(&'static str, Align))| Column {
            name: if at == 0 { self.title() } else { name },
            align,
        };
        headings(self).iter().enumerate().map(column).collect()
    }
}

/// Alignment of a column, and which end is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers: never cut.
    Right,
    /// A sparkline: cut at its begin.
    Tail,
}

/// Headings after the first, which is the panel's title, and alignments.
// tidy: table
fn headings(panel: Panel) -> &'static [(&'static str, Align)] {
    use Align::{Left, Right, Tail};
    match panel {
        Panel::Work => &[
            ("", Left),
            ("/s", Right),
            ("bytes/s", Right),
            ("p50", Right),
            ("p99", Right),
            ("max", Right),
            ("errors", Right),
            ("stuck", Right),
            ("last minute", Tail),
        ],
        Panel::Causes => &[("", Left), ("time", Right), ("share", Right), ("ops", Right), ("", Left)],
        Panel::Stuck => &[("", Left), ("for", Right), ("in", Left), ("at", Left), ("file", Left)],
        Panel::Culprits => {
            &[("", Left), ("time", Right), ("cause", Left), ("device", Left), ("file system", Left), ("cgroup", Left)]
        }
        Panel::Stalls => &[("", Left), ("took", Right), ("in", Left), ("mostly", Left), ("file", Left)],
        Panel::Devices => &[
            ("", Left),
            ("busy", Right),
            ("queue", Right),
            ("r/s", Right),
            ("w/s", Right),
            ("read/s", Right),
            ("written/s", Right),
            ("mean", Right),
            ("p99", Right),
            ("mount", Left),
        ],
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub name: &'static str,
    /// Alignment of its cells.
    pub align: Align,
}

/// A row. Its text is safe for a terminal.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// One per column.
    pub cells: Vec<String>,
    /// Sort keys in the order of [`Panel::orders`], largest first; without a key the first cell is used.
    pub keys: Vec<f64>,
    /// Text that a filter matches besides the cells.
    pub also: String,
    /// Index in the snapshot.
    pub index: usize,
}

impl Row {
    /// Whether it contains the word, ignoring case.
    pub fn matches(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let holds = |text: &String| text.to_lowercase().contains(&word);
        word.is_empty() || self.cells.iter().any(holds) || holds(&self.also)
    }
}

/// One of a moment's tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Columns.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
    /// Text if there are no rows.
    pub empty: &'static str,
}

/// A table of a moment: rows that match `filter`, in an order of [`Panel::orders`].
pub fn table(panel: Panel, snapshot: &Snapshot, order: usize, filter: &str, style: Style) -> Table {
    let mut rows: Vec<Row> = match panel {
        Panel::Work => rows(&snapshot.work, |one| work(one, style)),
        Panel::Causes => causes(snapshot, style),
        Panel::Stuck => rows(&snapshot.stuck, stuck),
        Panel::Culprits => rows(&snapshot.explanation.culprits, culprit),
        Panel::Stalls => stalls(snapshot),
        Panel::Devices => rows(&snapshot.devices, device),
    };
    rows.retain(|row| row.matches(filter));
    if order > 0 {
        let key = |row: &Row| row.keys.get(order - 1).copied();
        rows.sort_by(|a, b| match (key(a), key(b)) {
            (Some(a), Some(b)) => b.total_cmp(&a),
            _ => a.cells.first().cmp(&b.cells.first()),
        });
    }
    Table { columns: panel.columns(), rows, empty: empty(panel, snapshot) }
}

fn empty(panel: Panel, snapshot: &Snapshot) -> &'static str {
    let traced = snapshot.explanation.trace.is_some();
    match panel {
        Panel::Work if traced => "no operation finished",
        Panel::Work => "no load, and no trace of requests",
        Panel::Causes | Panel::Culprits | Panel::Stalls if !traced => "the kernel is not traced; see doctor",
        Panel::Causes => "no slow operation",
        Panel::Culprits | Panel::Stalls => "none",
        Panel::Stuck => "none",
        Panel::Devices => "all idle",
    }
}

/// Cells, sort keys, and further text for the filter.
type RowParts = (Vec<String>, Vec<f64>, String);

fn rows<T>(all: &[T], make: impl Fn(&T) -> RowParts) -> Vec<Row> {
    let row = |(index, one)| {
        let (cells, keys, also) = make(one);
        Row { cells, keys, also: printable(&also), index }
    };
    all.iter().enumerate().map(row).collect()
}

fn dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn bytes(per_s: Option<f64>) -> String {
    dash(per_s.map(|per_s| Bytes(per_s as u64).to_string()))
}

fn work(one: &Work, style: Style) -> RowParts {
    let max = one.max_ns.max(one.oldest_running_ns);
    let cells = vec![
        printable(&one.name),
        dash(one.per_s.map(rate)),
        bytes(one.bytes_per_s),
        latency(one.p50_ns),
        latency(one.p99_ns),
        latency(max),
        grouped(one.errors),
        grouped(one.stuck),
        sparkline(&one.history, style),
    ];
    (cells, vec![one.per_s.unwrap_or(-1.0), one.p99_ns.map_or(-1.0, |ns| ns as f64)], String::new())
}

fn causes(snapshot: &Snapshot, style: Style) -> Vec<Row> {
    let wall_ns = snapshot.explanation.wall_ns.max(1) as f64;
    rows(&snapshot.explanation.causes, |one| {
        let part = one.time_ns as f64 / wall_ns;
        let full = ((part * BAR as f64).round() as usize).max(1);
        let cells = vec![
            one.cause.words().to_owned(),
            Nanoseconds(one.time_ns).to_string(),
            share(part),
            grouped(one.operations),
            (if style.unicode { "█" } else { "#" }).repeat(full),
        ];
        (cells, vec![one.operations as f64], one.cause.name().to_owned())
    })
}

fn stuck(one: &Stuck) -> RowParts {
    let cells = vec![
        printable(&one.task.to_string()),
        Nanoseconds(one.lasts_ns).to_string(),
        dash(one.operation.as_deref().map(printable)),
        dash(waits_for(one)),
        one.path.as_deref().map(printable).unwrap_or_default(),
    ];
    (cells, Vec::new(), one.cgroup.clone().unwrap_or_default())
}

/// The holder of the lock, or else the task that it waits for, if it is known, and the place.
fn waits_for(one: &Stuck) -> Option<String> {
    let place = Some(printable(&place(&one.frames))).filter(|place| !place.is_empty());
    let held = one.holder.as_ref().map(|holder| format!("held by {}", printable(&holder.to_string())));
    let whom = held.or_else(|| one.peer.as_ref().map(|peer| format!("for {}", printable(&peer.to_string()))));
    match (whom, place) {
        (Some(whom), Some(place)) => Some(format!("{whom}: {place}")),
        (whom, place) => whom.or(place),
    }
}

/// Where a task sleeps: the stack without the frames of the scheduler.
fn place(frames: &[String]) -> String {
    let sleeps = ["__schedule", "schedule", "io_schedule", "schedule_timeout", "schedule_preempt_disabled"];
    let is_place = |frame: &&String| !sleeps.contains(&frame.as_str());
    frames.iter().skip_while(|frame| !is_place(frame)).map(String::as_str).collect::<Vec<_>>().join(" < ")
}

fn culprit(one: &Culprit) -> RowParts {
    let cells = vec![
        one.task.as_ref().map_or_else(
            || "unknown".to_owned(),
            |task| match &task.name {
                Some(name) if one.tasks > 1 => format!("{} {} tasks", grouped(one.tasks), printable(name)),
                _ => printable(&task.to_string()),
            },
        ),
        Nanoseconds(one.time_ns).to_string(),
        one.cause.words().to_owned(),
        dash(one.device_name.as_deref().map(printable).or_else(|| Some(one.device?.to_string()))),
        dash(one.file_system.as_deref().map(printable)),
        dash(one.container.as_deref().or(one.cgroup.as_deref()).map(printable)),
    ];
    (cells, vec![f64::from(one.cause as u8)], one.cause.name().to_owned())
}

fn stalls(snapshot: &Snapshot) -> Vec<Row> {
    let all: Vec<(&Stall, &(u64, u64))> = snapshot.explanation.stalls.iter().zip(&snapshot.whole).collect();
    rows(&all, |(stall, (start_ns, duration_ns))| {
        let took = Nanoseconds(*duration_ns);
        let mostly = stall.causes.first();
        let cells = vec![
            printable(&stall.task.to_string()),
            if stall.finished { took.to_string() } else { format!("> {took}") },
            printable(&stall.operation),
            dash(mostly.map(|cause| cause.cause.words().to_owned())),
            stall.path.as_deref().map(printable).unwrap_or_default(),
        ];
        let cgroup = stall.cgroup.clone().unwrap_or_default();
        let names: Vec<&str> = stall.causes.iter().map(|cause| cause.cause.name()).collect();
        (cells, vec![*start_ns as f64], format!("{cgroup} {}", names.join(" ")))
    })
}

fn device(one: &DeviceLoad) -> RowParts {
    let cells = vec![
        printable(&one.name),
        dash(one.busy.map(share)),
        dash(one.in_flight.map(grouped)),
        dash(one.reads_per_s.map(rate)),
        dash(one.writes_per_s.map(rate)),
        bytes(one.read_bytes_per_s),
        bytes(one.written_bytes_per_s),
        latency(one.mean_ns),
        latency(one.device_p99_ns),
        one.mount.as_deref().map(printable).unwrap_or_default(),
    ];
    let moved = one.read_bytes_per_s.unwrap_or(0.0) + one.written_bytes_per_s.unwrap_or(0.0);
    (cells, vec![one.in_flight.map_or(-1.0, |count| count as f64), moved], one.number.clone().unwrap_or_default())
}

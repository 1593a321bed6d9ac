//! Where text goes, and what can be shown there.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::style::Style;

/// Standard output for results, standard error for everything else.
#[derive(Debug, Clone)]
pub struct Screen {
    results_to_stderr: bool,
    quiet: bool,
    bar: ProgressBar,
}

impl Screen {
    /// With `json`, standard output is left to the JSON document alone; with `quiet`, only results and errors are shown.
    pub fn new(json: bool, quiet: bool) -> Screen {
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("the template is valid"));
        Screen { results_to_stderr: json, quiet, bar }
    }

    /// What the place where results go can show.
    pub fn style(&self) -> Style {
        if self.results_to_stderr { style_of(&io::stderr()) } else { style_of(&io::stdout()) }
    }

    /// Prints a result as it comes: an interval's lines.
    pub fn result(&self, text: &str) {
        if self.results_to_stderr && self.quiet {
            return;
        }
        self.bar.suspend(|| if self.results_to_stderr { print_aside(text) } else { print_result(text) });
    }

    /// Prints a remark for the person, unless they want quiet.
    pub fn remark(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| print_aside(&format!("{text}\n")));
        }
    }

    /// Prints a warning, always.
    pub fn warning(&self, text: &str) {
        let style = style_of(&io::stderr());
        self.bar.suspend(|| print_aside(&format!("{} {text}\n", style.remark("warning:"))));
    }

    /// Prints the one JSON document.
    pub fn json(&self, document: &serde_json::Value) {
        self.bar.suspend(|| print_result(&format!("{document:#}\n")));
    }

    /// Shows what is going on now.
    pub fn doing(&self, message: String) {
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// Keeps the spinner turning while something takes long by itself.
    pub fn spin(&self, message: &str) {
        self.bar.set_message(message.to_owned());
        self.bar.enable_steady_tick(Duration::from_millis(125));
    }

    /// Shows that something goes on for as long as what this gives is kept.
    pub fn busy(&self, message: &str) -> Busy<'_> {
        self.spin(message);
        Busy(self)
    }

    /// Nothing is going on any more.
    pub fn rest(&self) {
        self.bar.disable_steady_tick();
        self.bar.set_message("");
        self.bar.finish_and_clear();
        // A finished bar is never drawn again, and there may be more to tell.
        self.bar.reset();
    }
}

/// Something goes on.
#[must_use]
pub struct Busy<'a>(&'a Screen);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.rest();
    }
}

/// Why standard output could not be written to, the first time.
static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// Why a result is not all there: standard output was full, or broke. A reader that went away (`| head`) has seen what it
/// wanted to.
pub fn unwritten() -> Option<&'static io::Error> {
    UNWRITTEN.get()
}

fn print_result(text: &str) {
    if let Err(error) = print_to(io::stdout(), text)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        let _ = UNWRITTEN.set(error);
    }
}

/// Nobody reads what is told to a standard error that is gone.
fn print_aside(text: &str) {
    let _ = print_to(io::stderr(), text);
}

fn print_to(mut stream: impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes()).and_then(|()| stream.flush())
}

fn style_of(stream: &impl IsTerminal) -> Style {
    if !stream.is_terminal() {
        return Style::PLAIN;
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_some_and(|locale| locale.to_ascii_lowercase().replace('-', "").contains("utf8"));
    let width = terminal_width().unwrap_or(Style::PLAIN.width);
    Style { color: !set("NO_COLOR") && !dumb, unicode: utf8 && !dumb, width }
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

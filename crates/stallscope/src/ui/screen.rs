//! Output streams, and what they can show.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::failure::{Failure, in_words};
use super::spinner::Spinner;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::style::{Style, guarded, guarded_json, printable};

/// Standard output for results, standard error for everything else.
#[derive(Debug, Clone)]
pub struct Screen {
    results_to_stderr: bool,
    quiet: bool,
    /// Whether a command writes to the same standard error.
    is_shared: bool,
    bar: ProgressBar,
    spinner: Arc<Mutex<Option<Spinner>>>,
}

impl Screen {
    /// With `json`, standard output is reserved for the JSON document; with `quiet`, only results and errors are shown.
    pub fn new(json: bool, quiet: bool) -> Screen {
        Screen::on(json, quiet, false)
    }

    /// For a command that shares our streams: standard output is the command's (or the JSON document's), ours is
    /// standard error, and nothing of ours is shown with `quiet`. No progress is drawn: it would erase what the command
    /// writes.
    pub fn beside_a_command(quiet: bool) -> Screen {
        Screen::on(true, quiet, true)
    }

    fn on(results_to_stderr: bool, quiet: bool, is_shared: bool) -> Screen {
        let is_hidden = quiet || is_shared;
        let target = if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(8) };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("the template is valid"));
        Screen { results_to_stderr, quiet, is_shared, bar, spinner: Arc::default() }
    }

    /// Capabilities of the stream for results.
    pub fn style(&self) -> Style {
        if self.results_to_stderr { style_of(&io::stderr()) } else { style_of(&io::stdout()) }
    }

    /// Whether progress is seen: not with `quiet`, nor where standard error is no terminal.
    pub fn is_live(&self) -> bool {
        !self.bar.is_hidden()
    }

    /// Whether only results and errors are shown.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints a result.
    pub fn result(&self, text: &str) {
        if self.results_to_stderr && self.quiet {
            return;
        }
        self.bar.suspend(|| if self.results_to_stderr { print_aside(text) } else { print_result(&guarded(text)) });
    }

    /// Prints a remark, unless quiet.
    pub fn remark(&self, text: &str) {
        if !self.quiet {
            self.bar.suspend(|| print_aside(&format!("{text}\n")));
        }
    }

    /// Prints a line while something goes on, unless quiet. Between lines of a command it says whose it is; a line that
    /// the command has not ended is ended, where both write to a file.
    pub fn news(&self, text: &str) {
        let prefix = match self.is_shared {
            true if is_within_line(Path::new("/proc/self/fd/2")) => "\nstallscope: ",
            true => "stallscope: ",
            false => "",
        };
        self.remark(&format!("{prefix}{text}"));
    }

    /// Prints a warning of one line, always. It may name anything.
    pub fn warning(&self, text: &str) {
        let style = style_of(&io::stderr());
        self.bar.suspend(|| print_aside(&format!("{} {}\n", style.remark("warning:"), printable(&in_words(text)))));
    }

    /// Prints the JSON document.
    pub fn json(&self, document: &serde_json::Value) {
        self.bar.suspend(|| print_result(&guarded_json(&format!("{document:#}\n"))));
    }

    /// Shows the current progress.
    pub fn doing(&self, message: String) {
        self.bar.set_message(message);
        self.bar.tick();
    }

    /// Keeps the spinner turning during a long step.
    pub fn spin(&self, message: &str) {
        self.bar.set_message(message.to_owned());
        if self.is_live() {
            self.turning(Some(Spinner::of(&self.bar)));
        }
    }

    /// The spinner from now on; the one before ends.
    fn turning(&self, spinner: Option<Spinner>) {
        let before = std::mem::replace(&mut *self.spinner.lock().unwrap_or_else(PoisonError::into_inner), spinner);
        drop(before);
    }

    /// Shows the spinner until the returned guard is dropped.
    pub fn busy(&self, message: &str) -> Busy<'_> {
        self.spin(message);
        Busy(self)
    }

    /// Clears the progress.
    pub fn rest(&self) {
        self.turning(None);
        self.bar.set_message("");
        self.bar.finish_and_clear();
        // A finished bar is never drawn again; there may be more progress.
        self.bar.reset();
    }
}

/// Guard of a spinner.
#[must_use]
pub struct Busy<'a>(&'a Screen);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.rest();
    }
}

/// Prints the error that ends the program. It may name anything: none of its further lines looks like another message.
pub fn error(message: &str) {
    let lines: Vec<String> = message.lines().map(printable).collect();
    print_aside(&format!("stallscope: {}\n", lines.join("\n  ")));
}

/// Prints the error that ends the program, unless that has been done.
pub fn failure(failure: &Failure) {
    let message = failure.to_string();
    if !message.is_empty() {
        error(&message);
    }
}

/// Prints help, the version or a mistake in the arguments, plain or with colours. Help has texts of recipes.
pub fn answer(plain: &str, coloured: &str, is_error: bool) {
    let is_coloured = if is_error { style_of(&io::stderr()).color } else { style_of(&io::stdout()).color };
    let text = guarded(if is_coloured { coloured } else { plain });
    if is_error { print_aside(&text) } else { print_result(&text) }
}

/// The first error of writing to standard output.
static UNWRITTEN: OnceLock<io::Error> = OnceLock::new();

/// Why a result is incomplete: standard output was full or failed. A closed pipe (`| head`) is not an error.
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

/// Errors of standard error are ignored.
fn print_aside(text: &str) {
    let _ = print_to(io::stderr(), &guarded(text));
}

/// Whether a regular file ends within a line. What a terminal or a pipe got last cannot be read.
fn is_within_line(path: &Path) -> bool {
    let last = || {
        let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
        let mut last = [b'\n'];
        File::open(path).ok()?.read_exact_at(&mut last, length.checked_sub(1)?).ok()?;
        Some(last[0])
    };
    last().is_some_and(|last| last != b'\n')
}

fn print_to(mut stream: impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes()).and_then(|()| stream.flush())
}

fn style_of(stream: &(impl IsTerminal + AsFd)) -> Style {
    // Who sets COLUMNS knows better than the terminal, or writes to a file.
    let wanted = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|columns| *columns > 0);
    let plain = Style { width: wanted.unwrap_or(Style::PLAIN.width), ..Style::PLAIN };
    if !stream.is_terminal() {
        return plain;
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .is_some_and(|locale| locale.to_ascii_lowercase().replace('-', "").contains("utf8"));
    // A terminal without a size is no window: OpenMPI's launcher reads a rank's output from one, and may write it to a
    // file.
    let Some(width) = terminal_width(stream) else { return plain };
    let width = wanted.unwrap_or(width);
    Style { color: !set("NO_COLOR") && !dumb, unicode: utf8 && !dumb, width }
}

fn terminal_width(stream: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_line_that_was_not_ended_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        for (text, expected) in [("", false), ("a\n", false), ("a\nb", true)] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(super::is_within_line(&file), expected, "{text:?}");
        }
        let others = ["/dev/null".as_ref(), folder.path()];
        assert!(!others.into_iter().any(super::is_within_line));
    }
}

//! The terminal: raw mode, restored however the program ends.

use std::io::{self, IsTerminal as _, Stdout};
use std::sync::Once;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui_core::terminal::Terminal as Cells;
use ratatui_crossterm::CrosstermBackend;
use rustix::event::{PollFd, PollFlags, Timespec};
use top::{Key, Scene};

use crate::ui::failure::Failure;

/// Whether keys can be read and a screen drawn.
pub fn is_available() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The terminal in raw mode.
pub struct Terminal {
    cells: Cells<CrosstermBackend<Stdout>>,
}

impl Terminal {
    /// Enters raw mode. Dropping it, or a panic, restores the terminal.
    pub fn enter() -> Result<Terminal, Failure> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let previous = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                restore();
                previous(panic);
            }));
        });
        enable_raw_mode().map_err(broken)?;
        let taken = execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)
            .and_then(|()| Cells::new(CrosstermBackend::new(io::stdout())));
        match taken {
            Ok(cells) => Ok(Terminal { cells }),
            Err(error) => {
                restore();
                Err(broken(error))
            }
        }
    }

    /// Draws the screen; writes only changes.
    pub fn draw(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        let drawn = self.cells.draw(|frame| top::draw(scene, frame.area(), frame.buffer_mut()));
        drawn.map(drop).map_err(broken)
    }

    /// The next key within the time, if any. A resize is returned as a key without meaning.
    pub fn key(&mut self, within: Duration) -> Result<Option<Key>, Failure> {
        // Poll here: crossterm reads forever once the terminal is gone.
        let stdin = io::stdin();
        let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
        let time = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: within.subsec_nanos().into() };
        match rustix::event::poll(&mut waited, Some(&time)) {
            Ok(_) if waited[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => {
                return Err(Failure::machine("the terminal is gone"));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(broken(error.into())),
        }
        match poll(Duration::ZERO) {
            Ok(false) => return Ok(None),
            Ok(true) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            Err(error) => return Err(broken(error)),
        }
        Ok(match read().map_err(broken)? {
            Event::Key(key) if key.kind != KeyEventKind::Release => meaning(key),
            Event::Resize(..) => Some(Key::Char('\0')),
            _ => None,
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Also if raw mode was entered only in part.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
}

fn broken(error: io::Error) -> Failure {
    Failure::machine(format_args!("cannot use the terminal: {error}"))
}

fn meaning(key: KeyEvent) -> Option<Key> {
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Key::Interrupt,
        KeyCode::Char(_) if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => return None,
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

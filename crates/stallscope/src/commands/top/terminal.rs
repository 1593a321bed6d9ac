//! The terminal: taken over, and given back however the program ends.

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
pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// The terminal while it is ours.
pub struct Terminal {
    cells: Cells<CrosstermBackend<Stdout>>,
}

impl Terminal {
    /// Takes it over. Dropping it, and a panic, give it back.
    pub fn enter() -> Result<Terminal, Failure> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let told = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                told(panic);
            }));
        });
        enable_raw_mode().map_err(broken)?;
        let taken = execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)
            .and_then(|()| Cells::new(CrosstermBackend::new(io::stdout())));
        match taken {
            Ok(cells) => Ok(Terminal { cells }),
            Err(error) => {
                give_back();
                Err(broken(error))
            }
        }
    }

    /// Draws the screen; only what has changed is written.
    pub fn draw(&mut self, scene: &Scene<'_>) -> Result<(), Failure> {
        let drawn = self.cells.draw(|frame| top::draw(scene, frame.area(), frame.buffer_mut()));
        drawn.map(drop).map_err(broken)
    }

    /// The next key, if one comes within the time. A change of the terminal's size comes as a key that means nothing.
    pub fn key(&mut self, within: Duration) -> Result<Option<Key>, Failure> {
        // Not by crossterm, which reads a terminal that has gone away for ever.
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
        give_back();
    }
}

/// Also where it was taken only in part.
fn give_back() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
}

fn broken(error: io::Error) -> Failure {
    Failure::machine(format_args!("the terminal cannot be used: {error}"))
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

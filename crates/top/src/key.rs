//! Keys, independent of the terminal.

/// A key that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// Ctrl-C: a terminal in raw mode sends no signal for it.
    Interrupt,
    #[allow(missing_docs)]
    Enter,
    #[allow(missing_docs)]
    Escape,
    #[allow(missing_docs)]
    Backspace,
    #[allow(missing_docs)]
    Tab,
    /// Shift and Tab.
    BackTab,
    #[allow(missing_docs)]
    Up,
    #[allow(missing_docs)]
    Down,
    #[allow(missing_docs)]
    Left,
    #[allow(missing_docs)]
    Right,
    #[allow(missing_docs)]
    PageUp,
    #[allow(missing_docs)]
    PageDown,
    #[allow(missing_docs)]
    Home,
    #[allow(missing_docs)]
    End,
}

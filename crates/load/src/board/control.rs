//! Communication between the two processes: commands, states, the progress of the fill.

use std::sync::atomic::Ordering;

use super::memory::{
    Board, COMMAND, ENDED_PHASE, FILL_TOTAL, FILLED, FULL, MESSAGE, MESSAGE_LENGTH, MESSAGE_WORDS, REUSED, STATE,
};

/// The program's command to the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadCommand {
    /// Nothing yet.
    Wait,
    /// Run this phase of the plan.
    Phase {
        /// Its index.
        phase: usize,
        /// Sequence number of the phase, from 0: a repeated phase has another one each time.
        sequence: u32,
    },
    /// End.
    Stop,
}

impl LoadCommand {
    fn to_word(self) -> u64 {
        match self {
            LoadCommand::Wait => 0,
            LoadCommand::Phase { phase, sequence } => (u64::from(sequence) << 32) | (phase as u64 + 1),
            LoadCommand::Stop => u64::MAX,
        }
    }
}

/// State of the load process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// Not ready for commands.
    Starting,
    /// Ready for commands, or executing one.
    Ready,
    /// All threads have ended.
    Done,
    /// It failed; the message says why.
    Failed,
}

impl Board {
    /// The program's latest command.
    pub fn command(&self) -> LoadCommand {
        match self.word(COMMAND).load(Ordering::Acquire) {
            0 => LoadCommand::Wait,
            u64::MAX => LoadCommand::Stop,
            word => LoadCommand::Phase { phase: (word as u32 - 1) as usize, sequence: (word >> 32) as u32 },
        }
    }

    /// Gives a command. Stop is the last one.
    pub fn give(&self, command: LoadCommand) {
        self.word(COMMAND).store(command.to_word(), Ordering::Release);
    }

    /// Whether this is still the latest command; cheap enough to check before each operation.
    pub fn is_command(&self, command: LoadCommand) -> bool {
        self.word(COMMAND).load(Ordering::Relaxed) == command.to_word()
    }

    /// Whether the load should end; cheap enough to check before each system call.
    pub(crate) fn is_stopping(&self) -> bool {
        self.word(COMMAND).load(Ordering::Relaxed) == u64::MAX
    }

    /// State of the load process.
    pub fn state(&self) -> ProcessState {
        match self.word(STATE).load(Ordering::Acquire) {
            0 => ProcessState::Starting,
            1 => ProcessState::Ready,
            2 => ProcessState::Done,
            _ => ProcessState::Failed,
        }
    }

    /// Sets the state of the load process.
    pub(crate) fn set_state(&self, state: ProcessState) {
        // Processes of several ranks share a board: none takes back that another one has failed.
        self.word(STATE).fetch_max(state as u64, Ordering::AcqRel);
    }

    /// Sets the failed state and its message, which is truncated to the available space.
    pub fn fail(&self, message: &str) {
        let bytes = &message.as_bytes()[..message.len().min(MESSAGE_WORDS * 8)];
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(MESSAGE + index).store(u64::from_le_bytes(word), Ordering::Relaxed);
        }
        self.word(MESSAGE_LENGTH).store(bytes.len() as u64, Ordering::Release);
        self.set_state(ProcessState::Failed);
    }

    /// Why the load failed, if it reported a message.
    pub fn message(&self) -> Option<String> {
        let length = (self.word(MESSAGE_LENGTH).load(Ordering::Acquire) as usize).min(MESSAGE_WORDS * 8);
        let words = (0..length.div_ceil(8)).map(|index| self.word(MESSAGE + index).load(Ordering::Relaxed));
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).take(length).collect();
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Whether a thread found its file system full.
    pub fn is_full(&self) -> bool {
        self.word(FULL).load(Ordering::Relaxed) != 0
    }

    /// Reports that a file system is full.
    pub(crate) fn set_full(&self) {
        self.word(FULL).store(1, Ordering::Relaxed);
    }

    /// The latest phase that was completed.
    pub(crate) fn ended_phase(&self) -> Option<usize> {
        (self.word(ENDED_PHASE).load(Ordering::Acquire) as usize).checked_sub(1)
    }

    /// Reports that a phase is complete.
    pub fn end_phase(&self, phase: usize) {
        self.word(ENDED_PHASE).store(phase as u64 + 1, Ordering::Release);
    }

    /// Bytes filled, and bytes to fill.
    pub(crate) fn fill_progress(&self) -> (u64, u64) {
        (self.word(FILLED).load(Ordering::Relaxed), self.word(FILL_TOTAL).load(Ordering::Relaxed))
    }

    /// Sets how many bytes the fill will write.
    pub(crate) fn set_fill_total(&self, bytes: u64) {
        self.word(FILL_TOTAL).store(bytes, Ordering::Relaxed);
    }

    /// Subtracts an existing file.
    pub(crate) fn take_from_fill_total(&self, bytes: u64) {
        self.word(FILL_TOTAL).fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Counts bytes that the fill wrote.
    pub(crate) fn add_filled(&self, bytes: u64) {
        self.word(FILLED).fetch_add(bytes, Ordering::Relaxed);
    }

    /// Data directories whose files of an earlier run are reused.
    pub(crate) fn reused_directories(&self) -> u64 {
        self.word(REUSED).load(Ordering::Relaxed)
    }

    /// Counts such a directory.
    pub(crate) fn add_reused_directory(&self) {
        self.word(REUSED).fetch_add(1, Ordering::Relaxed);
    }
}

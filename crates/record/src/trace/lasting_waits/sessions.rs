//! The connections of a server that has a thread for each: on which of them a thread waits for the next request, and
//! which it has taken a request from that is not done.

use std::collections::HashSet;

use super::call::On;

/// What the threads of a server wait for.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Its ends of connections on which a thread waits, alone or beside others.
    listened: HashSet<u64>,
    /// Those on which a thread waits, on that alone: sessions that have asked for nothing.
    idle: HashSet<u64>,
    /// The latest thread that waits for another one of its process.
    waiting: Option<u32>,
    is_busy: bool,
}

impl Sessions {
    /// Adds a thread with what it waits on; `socket`: the number of the one behind a descriptor. One that is not asleep
    /// may do what a client asked for.
    pub(super) fn add(&mut self, (tid, state): (u32, u8), on: Option<&On>, socket: impl Fn(u32) -> Option<u64>) {
        match on {
            Some(On::Descriptor(fd)) => self.listen(&[*fd], socket),
            Some(On::Descriptors(fds)) => self.listen(fds, socket),
            Some(On::Futex | On::Mutex { .. }) => self.waiting = self.waiting.max(Some(tid)),
            _ => {}
        }
        self.is_busy |= b"RD".contains(&state);
    }

    fn listen(&mut self, fds: &[u32], socket: impl Fn(u32) -> Option<u64>) {
        self.listened.extend(fds.iter().filter_map(|fd| socket(*fd)));
        if let [only] = fds {
            self.idle.extend(socket(*only));
        }
    }

    /// The thread that may serve the connection with that end, on which none waits. `None` where one does, or where
    /// threads of the server do not wait on single connections: it may have other ways to do so.
    pub(super) fn serves(&self, end: u64, is_connection: impl Fn(u64) -> bool) -> Option<u32> {
        let has_own_threads = self.idle.iter().any(|idle| is_connection(*idle));
        self.waiting.filter(|_| has_own_threads && !self.listened.contains(&end))
    }

    /// Sessions that may hold what others wait for: none of its threads works.
    pub(super) fn idle(&self) -> impl Iterator<Item = u64> {
        self.idle.iter().copied().filter(|_| !self.is_busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_on_which_no_thread_waits_is_served() {
        let socket = |fd: u32| Some(u64::from(fd) + 100);
        let mut sessions = Sessions::default();
        sessions.add((1, b'S'), Some(&On::Descriptors(vec![3, 4])), socket);
        sessions.add((2, b'S'), Some(&On::Futex), socket);
        assert_eq!(sessions.serves(107, |_| true), None, "an event loop");
        sessions.add((5, b'S'), Some(&On::Descriptor(5)), socket);
        sessions.add((6, b'S'), Some(&On::Futex), socket);
        assert_eq!(sessions.serves(107, |_| true), Some(6));
        assert_eq!(sessions.serves(107, |end| end != 105), None, "it waits on no connection");
        assert_eq!((sessions.serves(105, |_| true), sessions.serves(103, |_| true)), (None, None));
        assert_eq!(sessions.idle().collect::<Vec<_>>(), [105]);
        sessions.add((7, b'R'), None, socket);
        assert_eq!(sessions.idle().count(), 0, "a thread computes");
    }
}

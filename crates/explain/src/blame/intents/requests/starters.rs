//! Tasks that began while another one waited for them.

use crate::blame::rule::{Example, Rule};

pub(crate) const RULE: Rule = Rule {
    id: "began-when-its-starter-could",
    concludes: "A wait that a task ended which began meanwhile was, until then, for the task that started it.",
    from: "The task that ended the wait began after it, and which task started that.",
    because: "Servers start a process or thread for each client, and scripts start programs. What keeps the starter \
              from doing so keeps the client waiting.",
    unless: "The starter was idle until something else let it start the other one: then that is followed.",
    example: Example {
        timeline: "
            off 7 | ssssssssssss  | call=recvfrom state=1 awaits=answer waker=9 newer worker=8 asked=1
            off 8 | sssssssss     | stack=xfs_log_force
            off 8 |           ssss| call=accept state=1 awaits=message waker=6",
        causes: "fs_log 9, unexplained 3",
        chain: "thread 7: fs_log 9 < thread 8: fs_log 9",
    },
};

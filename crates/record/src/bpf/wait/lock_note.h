/* What a task's note has of locks: that which it waits for, and those that it got last. */
#pragma once

#include "bpf.h"
#include "event.h"

#define LOCKED 0x80000000u

/* Who held a lock when the task went to sleep for it. */
struct holder {
	u64 lock;
	u32 tid;
	u32 pid;
	u32 is_hint;
	u32 was_tried;		/* the task did not wait for the lock: it sleeps before it tries again */
	char comm[NAME_BYTES];
};

struct lock_note {
	u64 file;		/* the inode whose lock (flock, fcntl) it got last, or its parent before it; 0: none,
			or given back */
	u64 name;		/* key of the name that it created last (wait/attempt.h); 0: none, or removed */
	u64 semaphore;		/* of System V, that it decremented last: `semaphore_of`; 0: none, or given back */
	struct holder holder;	/* if the wait's mark is that of a lock */
	u64 address;
	u32 flags;		/* of contention_begin + LOCKED; 0: waits for no lock */
	u32 unused;
};

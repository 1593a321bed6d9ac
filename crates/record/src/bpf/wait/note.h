/* What a task's note has of its waits. */
#pragma once

#include "bpf.h"
#include "event.h"

/* The time off the CPU that lasts, or ended last. */
struct wait_note {
	u64 out_ns;
	u64 woken_ns;
	u32 out_state;
	u32 out_cpu;
	u32 out_mark;
	u32 awaits;		/* enum awaits of the wait that ends now */
	u32 held;		/* by the CPU quota of its cgroup, since it is runnable */
	u32 served;		/* by a FUSE server, outside of system calls: a page fault, a loop device's worker */
	u64 queued_ns;		/* when it left the CPU with a submitted bio that had no request yet; 0: no such bio */
	u64 reported_ns;	/* when its wait was reported last, while it lasted */
	u64 short_ns;		/* when its last short wait ended that may end a request */
};

struct waker_note {
	u32 tid;
	u32 pid;
	u32 frames;
	u32 is_newer;	/* it began after the wait did */
	u32 starter;	/* of such a one: who started it, a thread or, of a thread, its process */
	char comm[NAME_BYTES];
	u64 stack[WAKER_FRAMES];
};

/* The last long sleep that was not emitted. */
struct sleep_note {
	u64 from_ns, until_ns;
	u64 cpu_ns, run_delay_ns;
	s32 call;
	u32 state;
};

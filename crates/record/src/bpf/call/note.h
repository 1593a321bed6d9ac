/* What a task's note has of its system call. */
#pragma once

#include "bpf.h"
#include "event.h"

/* Calls that are followed though sys_enter did not begin them. */
enum adopted {
	FROM_ENTRY = 0,
	FROM_WAIT = 1,		/* from its first wait for storage */
	AFTER_EXIT = 2,		/* work after sys_exit, on the way back to user space: umount, fput, signals */
};

enum waited {
	FOR_STORAGE = 1,
	STOPPED = 2,
};

struct call_note {
	s32 number;		/* + 1; 0: in no followed call */
	u32 adopted;		/* enum adopted: why the call's end is looked for at each system call */
	s32 last;		/* the timed call that ended last: its work may go on until the return to user space */
	u32 entered_tick;
	u64 entered_ns;
	u64 user_ns;		/* its first long wait in this call, whose user stack is taken at the call's end; 0: none */
	u64 reaps_ns;		/* when it entered io_getevents */
	u64 first, second;	/* arguments; `second` of a close: its file, until its path is saved */
	/* Over the call: what it waited for, time off the CPU by that, and the end of the last such wait. */
	u64 waited_ns;
	u64 stopped_ns;
	u64 waited_until_ns;
	s64 result;
	u32 waited;		/* enum waited */
	u32 unused;
	char path[SAVED_PATH];	/* argument of a call that is adopted after its exit: the program may overwrite it */
};

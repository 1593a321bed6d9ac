/* What goes through the ring, as `trace/event.rs` takes it apart: every field at its natural alignment, no padding. */
#pragma once

#define STACK_FRAMES 40
#define NAME_BYTES 16

enum kind {
	SYSTEM_CALL = 0,
	OFF_CPU = 1,
	RECLAIM = 2,
	RECLAIM_THROTTLE = 3,
	REQUEST = 4,
	SHORT_SLEEPS = 5,
	SHORT_CPU_WAITS = 6,
	SHORT_RECLAIMS = 7,
	SHORT_REQUEST_WAITS = 8,
	KINDS = 9,
};

/* A block request, from where it was seen first. 0: that moment was not seen. */
struct request_note {
	u64 key;
	u64 sector;
	u64 inserted_ns;
	u64 issued_ns;
	u64 completed_ns;
	u32 device;
	u32 bytes;
	u32 flags;
	u32 tid;
	u32 throttled;
	u32 pad;
};

struct event {
	u32 kind;
	u32 tid;
	u32 pid;
	u32 state;
	u64 start_ns;
	u64 end_ns;
	u64 busy_ns;	/* of an interval that sums up many short ones; else its length */
	u64 woken_ns;
	u32 count;
	s32 call;	/* number of the system call that it happened in; -1: none */
	s64 result;	/* of a system call */
	u64 argument;	/* its first */
	u32 waker_tid;
	u32 frames;
	char comm[NAME_BYTES];
	char waker[NAME_BYTES];
	struct request_note request;
	/* Behind it, where there is one: the stack, or the name of the file. */
	union {
		u64 stack[STACK_FRAMES];
		char path[STACK_FRAMES * 8];
	};
};

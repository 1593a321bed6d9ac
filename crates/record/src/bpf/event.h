/* What goes through the rings, as `trace/event.rs` takes it apart: every field at its natural alignment, no padding. */
#pragma once

#include "model.h"

#define STACK_FRAMES 40
#define WAKER_FRAMES 24
#define NAME_BYTES 16
#define WORDS 5
#define CLASSES 8
enum kind {
	SYSTEM_CALL = 0,
	OFF_CPU = 1,
	SPAN = 2,
	REQUEST = 3,
	SHORT_SLEEPS = 4,
	SHORT_CPU_WAITS = 5,
	SHORT_REQUEST_WAITS = 6,
	SHORT_SPANS = 7,
	/* Losses that are no events. */
	EACH_REQUEST = 8,
	TASK_NOTES = 9,
	REQUEST_NOTES = 10,
	DEVICES_BEYOND = 11,
	LOSSES = 12,
};

enum flags {
	PASSED_KNOWN = 1,	/* in_flight and overtaken_by are known */
	PATH_UPWARDS = 2,	/* the path is a file's name, its folder's, and so on, each with its 0, and one more at the end */
	PATH_WHOLE = 4,		/* up to the root of its file system, whose number is the event's state */
};

/* What a tracepoint's fields say: numbers, whose meaning its name gives, and a name. */
struct detail {
	u64 word[WORDS];
	char name[NAME_BYTES];
};

/* A block request, from where it was seen first. 0: that moment was not seen. */
struct request_note {
	u64 key;
	u64 sector;
	u64 queued_ns;
	u64 got_ns;
	u64 inserted_ns;
	u64 issued_ns;
	u64 completed_ns;
	u32 device;
	u32 bytes;
	u32 flags;
	u32 tid;
	u32 number;	/* where each request is kept: its number + 1 */
	u16 merges;
	u8 throttled;
	u8 status;
};

/* The same in one line of the CPU's cache, with what the ring adds: times as ns before it was done, or UNSEEN. */
struct request_told {
	u64 sector;
	u64 completed_ns;
	u32 queued;
	u32 got;
	u32 inserted;
	u32 issued;
	u32 device;
	u32 bytes;
	u32 flags;
	u32 tid;
	u32 number;
	u16 merges;
	u8 throttled;
	u8 status;
};

#define UNSEEN 0xffffffffu

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
	u32 waker_pid;
	u32 behind_tid;	/* who had the CPU before it came back, where it waited long for one; 0: nobody */
	u32 behind_pid;
	u32 frames;
	u32 waker_frames;
	u32 source;	/* enum span of spans, enum mark of time off the CPU */
	u32 flags;	/* enum flags */
	u32 in_flight[CLASSES];
	u32 overtaken_by[CLASSES];
	char comm[NAME_BYTES];
	char waker[NAME_BYTES];
	char behind[NAME_BYTES];
	struct detail detail;
	struct request_note request;
	/* Behind it, where there is one: the stack, the name of the file, or a file system's type and name. */
	union {
		u64 stack[STACK_FRAMES];
		char path[STACK_FRAMES * 8];
		char names[2][32];
	};
	u64 waker_stack[WAKER_FRAMES];
};

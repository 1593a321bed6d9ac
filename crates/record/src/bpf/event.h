/* Layout of the rings' events, as `trace/event.rs` parses them: every field at its natural alignment, no padding. */
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
	/* Losses other than events. */
	EACH_REQUEST = 8,
	TASK_NOTES = 9,
	REQUEST_NOTES = 10,
	DEVICES_BEYOND = 11,
	LOSSES = 12,
};

enum flags {
	PASSED_KNOWN = 1,	/* in_flight and overtaken_by are known */
	PATH_UPWARDS = 2,	/* the path is a file's name, its parent's, and so on, each with its NUL, and another NUL at the end */
	PATH_WHOLE = 4,		/* up to the root of its file system, whose number is the event's state */
};

/* A tracepoint's fields: numbers, whose meaning depends on the tracepoint, and a name. */
struct detail {
	u64 word[WORDS];
	char name[NAME_BYTES];
};

/* A block request, since it was first seen. 0: that moment was not seen. */
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
	u32 number;	/* with all requests recorded: its number + 1 */
	u16 merges;
	u8 throttled;
	u8 status;
};

/* The same in one cache line, including the ring's header: times as ns before completion, or UNSEEN. */
struct compact_request {
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
	u64 busy_ns;	/* sum of the short waits in the interval; else its length */
	u64 woken_ns;
	u32 count;
	s32 call;	/* number of the current system call; -1: none */
	s64 result;	/* of a system call */
	u64 argument;	/* its first */
	u32 waker_tid;
	u32 waker_pid;
	u32 behind_tid;	/* task that was running before this one, after a long run-queue wait; 0: none */
	u32 behind_pid;
	u32 frames;
	u32 waker_frames;
	u32 source;	/* enum span of a span, enum mark of time off the CPU */
	u32 flags;	/* enum flags */
	u32 in_flight[CLASSES];
	u32 overtaken_by[CLASSES];
	char comm[NAME_BYTES];
	char waker[NAME_BYTES];
	char behind[NAME_BYTES];
	struct detail detail;
	struct request_note request;
	/* If present: the stack, the file's name, or a file system's type and name. */
	union {
		u64 stack[STACK_FRAMES];
		char path[STACK_FRAMES * 8];
		char names[2][32];
	};
	u64 waker_stack[WAKER_FRAMES];
};

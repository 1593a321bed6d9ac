/* Layout of the rings' events, as `trace/event.rs` parses them: every field at its natural alignment, no padding. */
#pragma once

#include "bpf.h"

#define STACK_FRAMES 40
#define WAKER_FRAMES 24
/* Innermost part of a program's own stack. */
#define USER_WORDS 256
#define NAME_BYTES 16
#define WORDS 5
#define CLASSES 8
#define SAVED_PATH 128
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
	/* The last: waits that have not ended. */
	STILL_OFF_CPU = 12,
	ASYNCHRONOUS = 13,
	OPERATION_NOTES = 14,
	USAGE_SUMS = 15,
	USER_STACK = 16,	/* struct user_stack */
	FAULT_FILE = 17,	/* of the next event of its task */
	ON_CPU = 18,		/* no wait: a moment at which the task ran */
	LOSSES = 19,
};

enum flags {
	PASSED_KNOWN = 1,	/* in_flight and overtaken_by are known */
	PATH_UPWARDS = 2,	/* the path is a file's name, its parent's, and so on, each with its NUL,
			and another NUL at the end */
	PATH_WHOLE = 4,		/* up to the root of its file system, whose number is the event's state */
	WATCHED = 8,		/* the task belongs to the recorded command */
	CUT = 16,		/* it began before the recording: earlier than its begin */
	CALL_CUT = 32,		/* the same of the system call */
	HELD = 64,		/* its cgroup had used up its CPU quota when it left the CPU, or was woken */
	HOLDER_IS_HINT = 128,	/* the holder is one of several readers, and may have released the lock */
	WAKER_IS_NEWER = 256,	/* the waker began after the wait did */
};

/* Whom a sleep outside of storage waits for. */
enum awaits {
	NOBODY = 0,
	ANSWER = 1,		/* a server: a request was sent before */
	ANSWER_OF_CHILD = 2,	/* the same, through a pipe to a descendant */
	MESSAGE = 3,		/* another task, which was not asked for anything */
	THREAD = 4,		/* a thread that wakes it by futex */
	INTERRUPT = 5,		/* no task */
	PART = 6,		/* a server that has answered: there may be more of the answer */
	ROOM = 7,		/* a task that reads what this one writes to a full pipe or socket */
	LOCK = 8,		/* a thread that holds a lock of user space */
	WORK = 9,		/* a thread of its process, by futex: it may have work for it */
	CHILD = 10,		/* the end of a child */
	FOR_CLIENT = 11,	/* another task, while it owes its own client an answer */
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
	/* With a flush before or after its data. */
	u64 preflush_ns;	/* since when a flush was at the device that its data waited for */
	u64 data_ns;	/* its data was transferred */
	u64 postflush_ns;	/* since when the flush after its data was at the device */
	/* The request of the disk below that completed it. */
	u64 lower_key;
	u64 lower_completed_ns;
	u32 lower_number;
	/* What failed at the device: bits of `enum failures`. 0: nothing, and the fields below mean nothing. */
	u32 failures;
	u64 first_issued_ns;	/* of a request that was issued again after it had failed; else 0 */
	/* Of its last failure: the device's state if it is offline << 16 | the host's code << 8 | the device's status. */
	u32 scsi_result;
	u32 scsi_sense;	/* its sense data: key << 16 | code << 8 | qualifier */
};

/* Bits of `failures`. */
enum failures {
	RETRIES = 0xff,		/* how often it was issued again */
	TIMEOUTS = 0xff00,	/* how often it timed out */
	FAILED = 1 << 16,	/* it completed with an error */
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
	u64 call_start_ns;	/* of time off the CPU: since when the task is in that call; 0: unknown */
	u64 cpu_ns;	/* of time off the CPU: CPU time of the task until then; 0: unknown */
	u64 run_delay_ns;	/* the same of its time on run queues */
	u32 waker_tid;	/* of an asynchronous operation: its worker */
	u32 waker_pid;
	u32 behind_tid;	/* after a long run-queue wait: the task that ran longest, else the last one; 0: none */
	u32 behind_pid;
	u32 frames;
	u32 waker_frames;
	u32 source;	/* enum span of a span, enum mark of time off the CPU, code of an asynchronous operation */
	u32 flags;	/* enum flags */
	u32 in_flight[CLASSES];
	u32 overtaken_by[CLASSES];
	char comm[NAME_BYTES];
	char waker[NAME_BYTES];
	char behind[NAME_BYTES];
	u32 awaits;	/* enum awaits */
	u32 cpu;	/* of time off the CPU: the one that it left */
	u64 asked_ns;	/* when the request was sent whose answer it awaits, or received that it works on */
	u64 lock;	/* address of the lock, or of the locked file's inode; 0: none */
	u32 holder_tid;	/* who held it when the task went to sleep, or stopped the task; 0: unknown */
	u32 holder_pid;
	char holder[NAME_BYTES];
	struct detail detail;
	char work[NAME_BYTES];	/* a kernel worker's workqueue */
	struct request_note request;
	/* If present: the stack, the file's name, or a file system's type and name. */
	union {
		u64 stack[STACK_FRAMES];
		char path[STACK_FRAMES * 8];
		char names[2][32];
	};
	u64 waker_stack[WAKER_FRAMES];
};

/* Where a program was in its own code, while its task waited from `start_ns` to `end_ns`, or woke another one. */
struct user_stack {
	u32 kind;
	u32 tid;
	u32 pid;
	u32 frames;	/* by frame pointers */
	u64 start_ns;
	u64 end_ns;
	u64 memory;	/* address of its mm_struct: another one after exec */
	u64 instruction;
	u64 stack_pointer;
	u64 frame_pointer;
	u32 words;	/* of its stack; 0 while it sleeps: the recorder reads them */
	u32 is_asleep;
	u64 frame[STACK_FRAMES];
	u64 word[USER_WORDS];
};

/* What the recorder sets before it loads the programs. */
#pragma once

#include "bpf.h"

#define CALLS 512
/* Operation codes of io_uring that are known; from AIO_CODE on, those of libaio. */
#define CODES 64
#define AIO_CODE 64

/* How a system call names its file: `FileArgument` of model. */
enum names_file {
	NOT_TIMED = 0,		/* followed from its first wait for storage,
			because it is very frequent or never expected to stall */
	BY_NOTHING = 1,
	BY_FD = 2,
	BY_FIRST = 3,
	BY_SECOND = 4,
	BY_RESULT = 5,		/* the path is the second argument, the descriptor the result */
	BY_CONTEXT = 6,		/* the descriptor of an fsopen */
	BY_PROGRAM = 7,		/* it executes another program: on success, by the program's file */
	BY_AT = 8,		/* the path is the second argument, relative to the first */
	BY_CLOSED = 9,		/* the descriptor that it closes: its file is looked up at the call's begin */
	NAMES = 15,
	IF_WAITED = 16,		/* flag: it counts only if it waited for storage */
	DIRTIES_NOTHING = 32,	/* flag: it reads, or writes out what others made dirty; inodes change all the same */
};

/* What a system call does with another task, as bits: the traits of model. */
enum with_others {
	SENDS = 1,		/* to its first argument, a descriptor, or waits there until it may */
	RECEIVES = 2,		/* from its first argument */
	CLOSES = 4,		/* its first argument */
	WAITS = 8,		/* until another task sends something */
	WAITS_FOR_THREAD = 16,	/* futex */
	SIGNALS = 32,		/* sends a signal, or accepts a connection */
	SEMAPHORE = 64,		/* changes semaphores of System V, or waits until another task does */
	WAITS_FOR_CHILD = 128,	/* until one ends */
	QUEUES = 256,		/* sends to a message queue of System V or POSIX, or waits there until it may */
	DEQUEUES = 512,		/* receives from one */
	ACCEPTS = 1024,		/* a connection, or waits until a client connects */
};

/* What a system call does with names, as only one task can: bits. */
enum with_names {
	TAKES = 7,		/* number of the argument that is the name which it creates, from 1; 0: none */
	FREES_AT = 3,		/* the same of the name that it removes, shifted by this */
	IF_EXCLUSIVE = 64,	/* flag: it fails where the name exists only with O_CREAT | O_EXCL in the next argument */
	TAKES_FOLDER = 128,	/* flag: programs also call it to be sure that a folder is there */
};

struct settings {
	u64 slow_ns;		/* threshold of system calls and requests */
	u64 interval_ns;	/* waits from this length on are recorded individually */
	u64 await_ns;		/* waits for another task from this length on are recorded */
	u64 report_ns;		/* waits from this length on are reported while they last */
	u64 throttle_function;	/* address of blk_throtl_dispatch_work_fn; 0: unknown */
	u64 shrink_function;	/* address of super_cache_scan; 0: unknown */
	u64 epoch_ns;		/* interval between sums of a device's counts */
	u64 iomap_end_io;	/* addresses of the ends of direct I/O: iomap_dio_bio_end_io, */
	u64 device_end_io;	/* blkdev_bio_end_io, */
	u64 device_end_io_async;	/* blkdev_bio_end_io_async, */
	u64 aio_complete;	/* aio_complete_rw, */
	u64 chain_end_io;	/* and of a bio that was split off: bio_chain_endio; 0: unknown */
	u64 flush_function;	/* address of mq_flush_data_end_io; 0: unknown */
	u64 complete_function;	/* address of blk_update_request; 0: unknown */
	u64 complete_bytes;	/* and its length */
	u64 batch_function;	/* the same of blk_mq_end_request_batch, */
	u64 batch_bytes;	/* by which drivers such as NVMe complete several requests at once */
	u32 recorder;		/* the recorder's process: not traced; its descendants are watched closely */
	u8 all_requests;
	u8 has_prev_state;	/* sched_switch's fourth argument */
	u16 cpus;
	u16 io_submit;		/* numbers of system calls */
	u16 io_getevents;
	u16 io_pgetevents;
	u16 nanosleep;
	u16 clock_nanosleep;
	u16 ioctl;
	u16 flock;
	u8 user_stacks;
	u8 unused;
	u8 flush_bit;		/* numbers of RQF_FLUSH_SEQ and RQF_TIMED_OUT */
	u8 timed_out_bit;
	u16 connect;		/* numbers of system calls */
	u16 listen;
	u16 unused_too;
	u8 calls[CALLS];	/* enum names_file and flags by number of system call */
	u8 codes[CODES];	/* the same by io_uring's operation code: 0, BY_NOTHING, BY_FD */
	u16 others[CALLS];	/* enum with_others by number of system call */
	u8 names[CALLS];	/* enum with_names by number of system call */
};

/* Set before loading: the verifier removes code that the settings disable. */
const volatile struct settings settings SEC(".rodata.settings") = {};

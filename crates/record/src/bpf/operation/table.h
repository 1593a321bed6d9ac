/* The table of asynchronous operations in flight, from their submission to their completion, and their block requests.
 */
#pragma once

#include "address_hash.h"
#include "bpf.h"
#include "clock.h"
#include "event.h"
#include "ring.h"

#define OPERATIONS_BITS 14
/* How far apart io_uring's requests and user space's iocbs are at least: 256 and 64 bytes. */
#define IO_URING_BITS 8
#define IOCB_BITS 6
/* What begins and ends with each operation is in one cache line. */
struct operation {
	u64 key;		/* address of the kernel's io_uring request, or `aio_key`; 0: free */
	u64 start_ns;
	u64 ended_ns;		/* of libaio: when the last of its requests completed; 0: not yet */
	u32 tid;		/* submitter */
	u32 pid;
	u32 worker_tid;		/* kernel thread that executes it; 0: the submitter, as far as is known */
	u32 worker_pid;
	u32 is_displaced;	/* an operation whose place this is was put into another one */
	u32 start_tick;
	struct request_note request;	/* the slow one that completed last; key 0: none */
} __attribute__((aligned(64)));

/* Mappable, and thus aligned. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << OPERATIONS_BITS);
	__type(key, u32);
	__type(value, struct operation);
} operations SEC(".maps");

/* Set with the first operation: until then no request looks for one. */
u32 any_operation SEC(".data.operations") = 0;

static __always_inline u32 first_way_of_operation(u64 key)
{
	return first_way_of(key, key & 1 ? IOCB_BITS : IO_URING_BITS, OPERATIONS_BITS);
}

static __always_inline struct operation *operation_at(u32 place)
{
	return bpf_map_lookup_elem(&operations, &place);
}

static __always_inline struct operation *operation_of(u64 key)
{
	u32 place = first_way_of_operation(key), other;
	struct operation *operation = operation_at(place);

	if (!operation || operation->key == key)
		return operation;
	if (!operation->is_displaced)
		return 0;
#pragma unroll
	for (other = 1; other < WAYS; other++) {
		operation = operation_at(place ^ other);
		if (operation && operation->key == key)
			return operation;
	}
	return 0;
}

/* An operation that was canceled, or reaped without a system call, has no end. Its place is taken when there is no
 * other. */
static __always_inline struct operation *new_operation(u64 key)
{
	u32 place = first_way_of_operation(key), other;
	struct operation *oldest = operation_at(place), *operation;

	if (!oldest || oldest->key == key || !oldest->key)
		return oldest;
	oldest->is_displaced = 1;
#pragma unroll
	for (other = 1; other < WAYS; other++) {
		operation = operation_at(place ^ other);
		if (!operation || operation->key == key || !operation->key)
			return operation;
		if (operation->start_ns < oldest->start_ns)
			oldest = operation;
	}
	count_loss(OPERATION_NOTES);
	return oldest;
}

struct submission {
	u64 key;
	u64 now_ns;
	u32 tid;
	u32 pid;
	u32 worker;	/* the kernel thread that polls the ring; 0: none */
	u32 unused;
};

static __always_inline void operation_begins(struct submission *submission)
{
	struct operation *operation = new_operation(submission->key);

	if (!operation)
		return;
	operation->start_ns = submission->now_ns;
	operation->start_tick = ticks();
	operation->ended_ns = 0;
	operation->tid = submission->tid;
	operation->pid = submission->pid;
	operation->worker_tid = submission->worker;
	operation->worker_pid = submission->worker ? submission->pid : 0;
	operation->request.key = 0;
	operation->key = submission->key;
	if (!any_operation)
		any_operation = 1;
}

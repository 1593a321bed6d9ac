/* The ring of events, and the count of those that were lost. */
#pragma once

#include "bpf.h"
#include "event.h"

/* Losses, by enum kind. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LOSSES);
	__type(key, u32);
	__type(value, u64);
} lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 8 << 20);
} ring SEC(".maps");

static __always_inline void count_loss(u32 kind)
{
	u64 *count = bpf_map_lookup_elem(&lost, &kind);

	if (count)
		__sync_fetch_and_add(count, 1);
}

/* Size of an event: without stacks, without the waker's stack, or whole. */
#define BARE __builtin_offsetof(struct event, stack)
#define WITH_STACK __builtin_offsetof(struct event, waker_stack)
#define WHOLE sizeof(struct event)

/* An event of `bytes`; 0 if the ring is full, after counting the loss. */
static __always_inline struct event *begin_event(u32 kind, const u64 bytes)
{
	struct event *event = bpf_ringbuf_reserve(&ring, bytes, 0);

	if (!event) {
		count_loss(kind);
		return 0;
	}
	__builtin_memset(event, 0, BARE);
	event->kind = kind;
	event->call = -1;
	event->count = 1;
	return event;
}

static __always_inline void end_event(struct event *event)
{
	bpf_ringbuf_submit(event, BPF_RB_NO_WAKEUP);
}

/* Completed requests: what wakeups and the rings take from them. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "request/table.h"
#include "request/traffic.h"
#include "ring.h"
#include "this_cpu.h"

#define MOST_MERGES 64
#define NUMBERS 64

/* With all requests recorded: each of them, in a separate ring. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} each_request SEC(".maps");

/* The request of the disk below that completed a loop device's. */
struct lower {
	u64 key;	/* 0: unknown */
	u64 completed_ns;
	u32 number;
	u32 unused;
};

u32 next_numbers SEC(".data.numbers") = 0;

/* The bios of a request beyond its first. */
__noinline int count_merges(u64 key)
{
	struct request *request = (struct request *)key;
	struct bio *bio = BPF_CORE_READ(request, bio), *last = BPF_CORE_READ(request, biotail);
	int merges;

	for (merges = 0; merges < MOST_MERGES && bio && bio != last; merges++)
		bio = BPF_CORE_READ(bio, bi_next);
	return merges;
}

static __always_inline u32 merges_of(struct view *view)
{
	return view->is_merged ? count_merges(view->key) : 0;
}

/* A request without the traffic around it. */
__noinline int emit_request(struct request_note *note)
{
	struct event *event = note ? begin_event(REQUEST, BARE) : 0;

	if (!event)
		return 0;
	event->tid = note->tid;
	event->end_ns = note->completed_ns;
	event->request = *note;
	end_event(event);
	return 0;
}

__noinline int emit_slow_request(struct request_note *note, struct slot *slot, u32 queue)
{
	struct device *device = counters_of(queue);
	struct event *event = note && slot ? begin_event(REQUEST, BARE) : 0;

	if (!event)
		return 0;
	event->tid = note->tid;
	event->end_ns = note->completed_ns;
	event->request = *note;
	if (device && device->number == note->device)
		add_overtaken(event, slot, device, queue);
	end_event(event);
	return 0;
}

static __always_inline u32 before(u64 ns, u64 completed_ns)
{
	return ns && ns <= completed_ns && completed_ns - ns < UNSEEN ? completed_ns - ns : UNSEEN;
}

__noinline int emit_each_request(struct request_note *note)
{
	struct compact_request *compact;

	if (!note)
		return 0;
	compact = bpf_ringbuf_reserve(&each_request, sizeof(*compact), 0);
	if (!compact) {
		count_loss(EACH_REQUEST);
		return 0;
	}
	compact->sector = note->sector;
	compact->completed_ns = note->completed_ns;
	compact->queued = before(note->queued_ns, note->completed_ns);
	compact->got = before(note->got_ns, note->completed_ns);
	compact->inserted = before(note->inserted_ns, note->completed_ns);
	compact->issued = before(note->issued_ns, note->completed_ns);
	compact->device = note->device;
	compact->bytes = note->bytes;
	compact->flags = note->flags;
	compact->tid = note->tid;
	compact->number = note->number;
	compact->merges = note->merges;
	compact->throttled = note->throttled;
	compact->status = note->status;
	bpf_ringbuf_submit(compact, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Each CPU reserves NUMBERS numbers at a time, as a counter shared by all CPUs is expensive. From 1 on. */
static __always_inline u32 next_number(struct on_cpu *cpu)
{
	if (!(cpu->number % NUMBERS))
		cpu->number = __sync_fetch_and_add(&next_numbers, NUMBERS);
	return ++cpu->number;
}

/* An interrupt may read the note while it is written: its key is 0 until it is complete. */
static __always_inline void fill_note(struct request_note *note, struct slot *slot, struct view *view,
		struct lower *lower)
{
	*(volatile u64 *)&note->key = 0;
	note->sector = view->sector;
	note->queued_ns = slot->queued_ns;
	note->got_ns = slot->got_ns;
	note->inserted_ns = slot->inserted_ns;
	note->issued_ns = slot->issued_ns;
	note->completed_ns = view->now_ns;
	note->device = slot->device;
	note->bytes = view->bytes;
	note->flags = view->flags;
	note->tid = slot->tid;
	note->throttled = slot->throttled;
	note->status = view->status;
	note->preflush_ns = 0;
	note->data_ns = 0;
	note->postflush_ns = 0;
	note->lower_key = lower->key;
	note->lower_completed_ns = lower->completed_ns;
	note->lower_number = lower->number;
	note->failures = 0;
}

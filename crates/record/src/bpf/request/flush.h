/* Requests with a flush of the device's cache before or after their data, and bare flushes. Where the device does not
 * do both by itself, the kernel flushes by a request of its own, the flush request, which serves all requests that wait
 * for one:
 *
 *     queued ... flush request | inserted, issued ... data complete | flush request ... complete
 *
 * A request completes twice: its data, and as a whole, which is when its task wakes up. A bare flush completes once. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "request/completed.h"
#include "request/table.h"
#include "request/traffic.h"
#include "settings.h"
#include "this_cpu.h"

#define FUA (1u << 17)
#define PREFLUSH (1u << 18)
/* Between two flush requests that follow each other. */
#define NEXT_FLUSH_NS 1000000ull
#define SEQUENCES 1024

struct sequence {
	u64 preflush_ns;
	u64 data_ns;
	u32 bytes;
	u32 status;
	struct lower lower;	/* that completed the data */
};

/* By request; those in flight. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, SEQUENCES);
	__type(key, u64);
	__type(value, struct sequence);
} sequences SEC(".maps");

/* Whether flushes belong to the request, and its data is not transferred yet. */
static __always_inline int is_before_data(struct view *view)
{
	return (view->rq_flags & 1u << settings.flush_bit) && view->end_io == settings.flush_function;
}

/* Whether the request completes as a whole, its data before, if any. */
static __always_inline int is_after_data(struct view *view)
{
	return !view->bytes && (view->flags & OPERATION) == WRITE;
}

/* The kernel takes them from the request's own flags. */
static __always_inline u32 flush_flags(u64 key)
{
	struct request *request = (struct request *)key;
	struct bio *bio = BPF_CORE_READ(request, bio);

	return bio ? BPF_CORE_READ(bio, bi_opf) & (PREFLUSH | FUA) : 0;
}

static __always_inline void note_flush(struct device *device, u64 issued, u64 now)
{
	device->flush_issued_ns[1] = device->flush_issued_ns[0];
	device->flushed_ns[1] = device->flushed_ns[0];
	device->flush_issued_ns[0] = issued;
	device->flushed_ns[0] = now;
}

/* Of a request that waited for the last flush since that moment: since when a flush was at the device. 0: none since.
 */
static __always_inline u64 flushing_since(struct device *device, u64 since)
{
	u64 issued = device->flush_issued_ns[0], before = device->flushed_ns[1];

	if (!since || !issued || device->flushed_ns[0] <= since)
		return 0;
	/* It came during the flush before, which may not contain what was written since. */
	if (device->flush_issued_ns[1] <= since && before > since && issued - before < NEXT_FLUSH_NS)
		return since;
	return issued > since ? issued : since;
}

/* When its data is inserted or issued, the flush before it has ended. */
__noinline int note_preflush(struct slot *slot, struct view *view)
{
	struct sequence sequence = {};
	struct device *device;
	u64 key;
	u32 flags;

	if (!slot || !view)
		return 0;
	key = view->key;
	device = counters_of(view->queue);
	if (!device || bpf_map_lookup_elem(&sequences, &key))
		return 0;
	flags = flush_flags(key);
	/* The kernel's own worker inserts it. */
	if ((flags & PREFLUSH) && !settings.all_requests)
		slot->tid = 0;
	if (flags & PREFLUSH)
		sequence.preflush_ns = flushing_since(device, slot->made_ns);
	bpf_map_update_elem(&sequences, &key, &sequence, BPF_ANY);
	return 0;
}

__noinline int note_data(struct view *view)
{
	struct sequence fresh = {}, *sequence;
	u64 key;

	if (!view)
		return 0;
	key = view->key;
	sequence = bpf_map_lookup_elem(&sequences, &key);
	if (sequence) {
		sequence->data_ns = view->now_ns;
		sequence->bytes = view->bytes;
		sequence->status = view->status;
		return 0;
	}
	fresh.data_ns = view->now_ns;
	fresh.bytes = view->bytes;
	fresh.status = view->status;
	bpf_map_update_elem(&sequences, &key, &fresh, BPF_ANY);
	return 0;
}

/* The flushes of a request that completes as a whole. */
__noinline int add_sequence(struct request_note *note, struct view *view)
{
	struct sequence *sequence;
	struct device *device;
	u64 key;

	if (!note || !view)
		return 0;
	key = view->key;
	note->flags |= flush_flags(key);
	sequence = bpf_map_lookup_elem(&sequences, &key);
	if (!sequence)
		return 0;
	note->preflush_ns = sequence->preflush_ns;
	note->data_ns = sequence->data_ns;
	note->bytes = sequence->bytes;
	if (!note->status)
		note->status = sequence->status;
	if (!note->lower_key) {
		note->lower_key = sequence->lower.key;
		note->lower_completed_ns = sequence->lower.completed_ns;
		note->lower_number = sequence->lower.number;
	}
	device = counters_of(view->queue);
	if (device && device->number == note->device)
		note->postflush_ns = flushing_since(device, sequence->data_ns);
	bpf_map_delete_elem(&sequences, &key);
	return 0;
}

/* A flush without data, which has no other event. Its submitter is unknown. */
__noinline int complete_bare_flush(struct view *view)
{
	struct on_cpu *cpu = this_cpu();
	struct request_note *note;
	struct device *device;
	u64 made;

	if (!cpu || !view)
		return 0;
	note = &cpu->done;
	device = counters_of(view->queue);
	made = view->made_ns;
	*(volatile u64 *)&note->key = 0;
	__builtin_memset(note, 0, sizeof(*note));
	note->queued_ns = made;
	note->got_ns = made;
	note->issued_ns = device ? flushing_since(device, made) : 0;
	note->completed_ns = view->now_ns;
	note->device = device_of(view->key);
	note->flags = view->flags | flush_flags(view->key);
	note->status = view->status;
	note->number = settings.all_requests ? next_number(cpu) : 0;
	cpu->tid = (u32)bpf_get_current_pid_tgid();
	*(volatile u64 *)&note->key = view->key;
	if (settings.all_requests || (made && view->now_ns - made >= settings.slow_ns))
		emit_request(note);
	return 0;
}

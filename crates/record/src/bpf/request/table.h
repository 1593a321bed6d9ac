/* The table of block requests in flight, from their arrival to their completion. */
#pragma once

#include "address_hash.h"
#include "bpf.h"
#include "clock.h"
#include "event.h"
#include "ring.h"
#include "settings.h"

#define SLOTS_BITS 15
/* Requests are at least as far apart: 256 bytes. */
#define REQUEST_BITS 8

/* A request in flight: one cache line, as another CPU often completes it. */
struct slot {
	u64 key;		/* the request's address; 0: free */
	u64 made_ns;		/* request->start_time_ns, which distinguishes one use of the request from the next */
	u64 queued_ns;
	u64 got_ns;
	u64 inserted_ns;
	u64 issued_ns;
	u32 device;
	u32 epoch;		/* of its device, when the request arrived */
	u32 tid;
	u8 class;
	u8 throttled;
	u8 by_worker : 1,	/* submitted by a kernel thread, for another task */
	   is_retried : 1;	/* it failed at the device, and was issued again */
	u8 is_displaced;	/* a request whose place this is was put into another one */
};

/* A table: a hash map costs several times as much for each request. Mappable maps begin at a page, and thus each slot
 * at a cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << SLOTS_BITS);
	__type(key, u32);
	__type(value, struct slot);
} requests SEC(".maps");

/* What the programs read of a request, once. For each pointer that a path follows, the verifier searches all of the
 * kernel's types by name: nothing but `view_of_...` follows one, and all other functions take the address of a view.
 * Those that are not static are verified separately and once, not for each path of each caller. */
struct view {
	u64 key;		/* the request's address */
	u64 now_ns;
	u64 made_ns;		/* allocation time; 0: unknown */
	u64 issued_ns;		/* issue time, if the kernel takes it; else 0 */
	u64 sector;
	u64 end_io;
	u32 flags;
	u32 rq_flags;
	u32 queue;		/* id of its queue */
	u32 device;		/* of a request that arrives; else `device_of` */
	/* Of a completion. */
	u32 bytes;
	u32 status;
	u32 is_merged;
	u32 unused;
	u64 cgroup;		/* number of the first bio's; 0: unknown, or none */
	u64 bio_end_io;	/* of its first bio */
};

/* Flushes, writes with a flush before or after them, and commands: they always bypass the scheduler. */
static __always_inline int is_bypassing(u32 flags, u64 end_io)
{
	return (flags & 0xff) == 2 || flags & 1 << 18 || end_io;
}

static __always_inline int bypasses_scheduler(struct view *view)
{
	return is_bypassing(view->flags, view->end_io);
}

/* Call this in a program, once. The kernel's allocation time is 0 where it has none: it takes none for commands
 * (REQ_OP_DRV_IN and beyond), and since 6.13 leaves the time of the request's previous use there. */
static __always_inline void view_of(struct view *view, struct request *request, struct request_queue *queue,
		enum addresser program)
{
	u32 flags = request->cmd_flags;

	view->key = address_of(request, program);
	view->made_ns = (flags & 0xff) >= 32 ? 0 : request->start_time_ns;
	if (program == OF_INSERT && !settings.all_requests && view->made_ns)
		view->now_ns = inserted_at(view->made_ns);
	else
		view->now_ns = bpf_ktime_get_ns();
	view->issued_ns = request->io_start_time_ns;
	view->sector = request->__sector;
	view->end_io = (u64)request->end_io;
	view->flags = flags;
	view->rq_flags = request->rq_flags;
	view->queue = queue->id;
	view->device = 0;
	view->bytes = 0;
	view->status = 0;
	view->is_merged = 0;
	view->cgroup = 0;
	view->bio_end_io = 0;
}

static __always_inline void view_of_arrival(struct view *view, struct request *request, enum addresser program)
{
	struct request_queue *queue = request->q;
	struct gendisk *disk = queue->disk;

	view_of(view, request, queue, program);
	view->device = disk ? disk->major << 20 | disk->first_minor : 0;
}

/* The verifier allows reading through pointers that are null. */
static __always_inline void view_of_completion(struct view *view, struct request *request)
{
	struct bio *first = request->bio;

	view_of(view, request, request->q, OF_COMPLETE);
	view->is_merged = first != request->biotail;
	if (bpf_core_field_exists(first->bi_blkg)) {
		CHECKED();
		view->cgroup = first->bi_blkg->blkcg->css.cgroup->kn->id;
	}
	view->bio_end_io = (u64)first->bi_end_io;
}

static __always_inline u32 device_of(u64 key)
{
	struct request *request = (struct request *)key;
	struct gendisk *disk = BPF_CORE_READ(request, q, disk);

	return disk ? BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor) : 0;
}

static __always_inline struct slot *slot_at(u32 number)
{
	u32 at = number - 1;

	return bpf_map_lookup_elem(&requests, &at);
}

static __always_inline int holds(u32 number, u64 key)
{
	struct slot *slot = slot_at(number);

	return slot && slot->key == key;
}

static __always_inline int claims(u32 number, u64 key)
{
	struct slot *slot = slot_at(number);

	return slot && !__sync_val_compare_and_swap(&slot->key, 0, key);
}

/* The number of the first slot that a request may have, from 1 on. */
static __always_inline u32 first_number(u64 key)
{
	return first_way_of(key, REQUEST_BITS, SLOTS_BITS) + 1;
}

/* The number of the slot of a request that has not the first one, from 1 on; 0: none. */
__noinline int find_displaced(u64 key)
{
	u32 place = first_number(key) - 1, other;

#pragma unroll
	for (other = 1; other < WAYS; other++)
		if (holds((place ^ other) + 1, key))
			return (place ^ other) + 1;
	return 0;
}

__noinline int claim_displaced(u64 key)
{
	u32 place = first_number(key) - 1, other;
	struct slot *first = slot_at(place + 1);

	if (!first)
		return 0;
	first->is_displaced = 1;
#pragma unroll
	for (other = 1; other < WAYS; other++)
		if (claims((place ^ other) + 1, key))
			return (place ^ other) + 1;
	count_loss(REQUEST_NOTES);
	return 0;
}

/* Almost all requests have their first slot: calls are expensive beside that. */
static __always_inline struct slot *find(u64 key)
{
	struct slot *first = slot_at(first_number(key));

	if (!first || first->key == key)
		return first;
	return first->is_displaced ? slot_at(find_displaced(key)) : 0;
}

static __always_inline struct slot *claim(u64 key)
{
	u32 number = first_number(key);

	return claims(number, key) ? slot_at(number) : slot_at(claim_displaced(key));
}

static __always_inline u64 began_at(struct slot *slot)
{
	return slot->queued_ns ? slot->queued_ns : slot->inserted_ns ? slot->inserted_ns : slot->issued_ns;
}

#define LOOP_MAJOR 7
#define SEVERAL_LOOPS (~0u)

/* The loop device of which requests were seen; 0: none. */
u32 loop_seen SEC(".data.loop") = 0;

static __always_inline void note_loop(u32 device)
{
	u32 known = loop_seen;

	if (device >> 20 != LOOP_MAJOR || known == device || known == SEVERAL_LOOPS)
		return;
	if (!known)
		known = __sync_val_compare_and_swap(&loop_seen, 0, device);
	if (known && known != device)
		loop_seen = SEVERAL_LOOPS;
}

/* Whether a disk's requests may serve those of a loop device, which it cannot be itself. */
static __always_inline int may_be_below_loop(u32 device)
{
	return loop_seen && loop_seen != device;
}

/* R, RA, RM, W, WS, WM, D, others: `CLASSES` of `trace/requests.rs`. */
static __always_inline u32 class_of(u32 flags)
{
	u32 operation = flags & 0xff;

	if (operation == 0)
		return flags & 1 << 19 ? 1 : flags & 1 << 12 ? 2 : 0;
	if (operation == 1)
		return flags & 1 << 12 ? 5 : flags & 1 << 11 ? 4 : 3;
	return operation == 3 || operation == 5 ? 6 : 7;
}

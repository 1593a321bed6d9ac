/* Traffic of each device: requests that came and were completed, by class, and which of them overtook another. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "request/table.h"
#include "ring.h"
#include "settings.h"

#define QUEUE_IDS 256
#define EPOCHS 128
#define MOST_CPUS 512

/* Requests of one device that arrived and completed, by class: on one CPU, or in total. */
struct counts {
	u32 queued[CLASSES];
	u32 completed[CLASSES];
};

/* By CPU and queue id. Counters shared by all CPUs would cost each request more than everything else. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUEUE_IDS);
	__type(key, u32);
	__type(value, struct counts);
} counts SEC(".maps");

#define MEMBERS 8

/* Whose requests complete at once after a time without a completion: the device worked on all of them. */
struct batch {
	u64 busy_ns;	/* that time */
	u64 done_ns;	/* its end */
	u32 count;	/* of members */
	u32 weight;	/* of all, in KiB */
	struct {
		u64 cgroup;	/* of a usage_key */
		u32 tid;
		u32 use;
		u32 weight;
		u32 unused;
	} members[MEMBERS];
};

/* From time to time the counts of all CPUs are summed up: an epoch begins. */
struct device {
	/* One cache line that all CPUs read, and that is rarely written. */
	u32 number;
	u32 epoch;
	u64 next_epoch_ns;
	u32 histogram[CLASSES];	/* + 1; 0: none yet */
	u32 is_timed;		/* the kernel notes when its requests are issued */
	u32 unused[3];
	/* Completions write this one. */
	u64 last_done_ns;	/* the last one */
	u64 apart[7];
	struct counts epochs[EPOCHS];
	u64 epoch_ns[EPOCHS];	/* start of each */
	/* The last flush of its cache, and the one before it. */
	u64 flush_issued_ns[2];
	u64 flushed_ns[2];
	struct batch batch;
} __attribute__((aligned(64)));

/* By queue id. Mappable, and thus aligned. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, QUEUE_IDS);
	__type(key, u32);
	__type(value, struct device);
} devices SEC(".maps");

static __always_inline struct device *counters_of(u32 queue)
{
	return bpf_map_lookup_elem(&devices, &queue);
}

static __always_inline struct counts *counts_of(u32 queue, u32 cpu)
{
	u32 at = cpu * QUEUE_IDS + queue;

	return queue < QUEUE_IDS ? bpf_map_lookup_elem(&counts, &at) : 0;
}

/* Adds up all CPUs. Completions are read first, so that none is counted without its arrival. */
__noinline int sum_up(u32 queue, struct counts *sum)
{
	struct counts *of_cpu;
	u32 cpu, at;

	if (!sum)
		return 0;
	for (cpu = 0; cpu < settings.cpus && cpu < MOST_CPUS; cpu++) {
		of_cpu = counts_of(queue, cpu);
		if (!of_cpu)
			return 0;
		for (at = 0; at < CLASSES; at++)
			sum->completed[at] += of_cpu->completed[at];
	}
	for (cpu = 0; cpu < settings.cpus && cpu < MOST_CPUS; cpu++) {
		of_cpu = counts_of(queue, cpu);
		if (!of_cpu)
			return 0;
		for (at = 0; at < CLASSES; at++)
			sum->queued[at] += of_cpu->queued[at];
	}
	return 0;
}

__noinline int begin_epoch(u32 queue, u64 now)
{
	struct device *device = counters_of(queue);
	struct counts sum = {};
	u32 next;
	u64 due;

	if (!device)
		return 0;
	due = device->next_epoch_ns;
	next = device->epoch + 1;
	if (now < due || __sync_val_compare_and_swap(&device->next_epoch_ns, due, now + settings.epoch_ns) != due)
		return 0;
	sum_up(queue, &sum);
	device->epochs[next % EPOCHS] = sum;
	device->epoch_ns[next % EPOCHS] = now;
	device->epoch = next;
	return 0;
}

static __always_inline void count_arrival(struct slot *slot, struct view *view)
{
	struct counts *counts = counts_of(view->queue, bpf_get_smp_processor_id());
	struct device *device = counters_of(view->queue);
	u32 number = view->device, class = class_of(view->flags), before;

	slot->device = number;
	note_loop(number);
	if (!device || !counts) {
		count_loss(DEVICES_BEYOND);
		return;
	}
	before = device->number;
	/* Another disk has the queue id now and gets separate sums. Two CPUs may see this at once. */
	if (before != number && __sync_val_compare_and_swap(&device->number, before, number) == before && before)
		__builtin_memset(device->histogram, 0, sizeof(device->histogram));
	if (view->now_ns >= device->next_epoch_ns)
		begin_epoch(view->queue, view->now_ns);
	slot->epoch = device->epoch;
	slot->class = class;
	if (class < CLASSES)
		__sync_fetch_and_add(&counts->queued[class], 1);
}

static __always_inline void count_done(u32 queue, u32 class)
{
	struct counts *counts = counts_of(queue, bpf_get_smp_processor_id());

	if (counts && class < CLASSES)
		__sync_fetch_and_add(&counts->completed[class], 1);
}

/* The epoch in which a request was allocated that was not seen then; an expired epoch if unknown. */
__noinline int epoch_at(u32 queue, u64 made)
{
	struct device *device = counters_of(queue);
	u32 back, epoch;

	if (!device)
		return 0;
	epoch = device->epoch;
	for (back = 0; back < EPOCHS - 1; back++)
		if (device->epoch_ns[(epoch - back) % EPOCHS] <= made)
			break;
	return epoch - back;
}

/* A lower bound of the requests that overtook this one: completions since the first epoch that began after its arrival,
 * minus all requests in flight at that epoch. */
static __always_inline void add_overtaken(struct event *event, struct slot *slot, struct device *device, u32 queue)
{
	u32 now = device->epoch, came = slot->epoch, after = came + 1, at;
	struct counts sum = {};

	if (now - came < EPOCHS - 1)
		for (at = 0; at < CLASSES; at++)
			event->in_flight[at] = device->epochs[came % EPOCHS].queued[at] -
					       device->epochs[came % EPOCHS].completed[at];
	else
		after = now - (EPOCHS - 2);
	event->flags = PASSED_KNOWN;
	if (now == came)
		return;
	sum_up(queue, &sum);
	for (at = 0; at < CLASSES; at++) {
		struct counts *begun = &device->epochs[after % EPOCHS];
		u32 passed = sum.completed[at] - begun->completed[at];
		u32 under_way = begun->queued[at] - begun->completed[at];

		event->overtaken_by[at] = (s32)(passed - under_way) > 0 ? passed - under_way : 0;
	}
}

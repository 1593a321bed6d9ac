/* Traffic of each device: requests that came and were completed, by class, and which of them overtook another. */
#pragma once

#define QUEUES 256
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
	__uint(max_entries, QUEUES);
	__type(key, u32);
	__type(value, struct counts);
} counts SEC(".maps");

/* Read by all CPUs and rarely written. From time to time the counts of all CPUs are summed up: an epoch begins. */
struct device {
	u32 number;
	u32 epoch;
	u64 next_epoch_ns;
	u32 histogram[CLASSES];	/* + 1; 0: none yet */
	struct counts epochs[EPOCHS];
	u64 epoch_ns[EPOCHS];	/* start of each */
};

/* By queue id. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUEUES);
	__type(key, u32);
	__type(value, struct device);
} devices SEC(".maps");

static __always_inline struct device *counters_of(struct request_queue *queue)
{
	u32 at = queue->id;

	return bpf_map_lookup_elem(&devices, &at);
}

static __always_inline struct counts *counts_of(struct request_queue *queue, u32 cpu)
{
	u32 id = queue->id, at = cpu * QUEUES + id;

	return id < QUEUES ? bpf_map_lookup_elem(&counts, &at) : 0;
}

/* Sums over all CPUs. Completions are read first, so that none is counted without its arrival. */
static __always_inline void sum_up(struct request_queue *queue, struct counts *sum)
{
	struct counts *of_cpu;
	u32 cpu, at;

	__builtin_memset(sum, 0, sizeof(*sum));
	for (cpu = 0; cpu < settings.cpus && cpu < MOST_CPUS; cpu++) {
		of_cpu = counts_of(queue, cpu);
		if (!of_cpu)
			return;
		for (at = 0; at < CLASSES; at++)
			sum->completed[at] += of_cpu->completed[at];
	}
	for (cpu = 0; cpu < settings.cpus && cpu < MOST_CPUS; cpu++) {
		of_cpu = counts_of(queue, cpu);
		if (!of_cpu)
			return;
		for (at = 0; at < CLASSES; at++)
			sum->queued[at] += of_cpu->queued[at];
	}
}

static __always_inline void begin_epoch(struct device *device, struct request_queue *queue, u64 now)
{
	u64 due = device->next_epoch_ns;
	u32 next = device->epoch + 1;
	struct counts sum;

	if (__sync_val_compare_and_swap(&device->next_epoch_ns, due, now + settings.epoch_ns) != due)
		return;
	sum_up(queue, &sum);
	device->epochs[next % EPOCHS] = sum;
	device->epoch_ns[next % EPOCHS] = now;
	device->epoch = next;
}

static __always_inline void count_arrival(struct slot *slot, struct request *request, struct request_queue *queue, u64 now)
{
	u32 number = device_of(queue), class = class_of(request->cmd_flags), before;
	struct counts *counts = counts_of(queue, bpf_get_smp_processor_id());
	struct device *device = counters_of(queue);

	slot->device = number;
	if (!device || !counts) {
		count_loss(DEVICES_BEYOND);
		return;
	}
	before = device->number;
	/* Another disk has the queue id now and gets separate sums. Two CPUs may see this at once. */
	if (before != number && __sync_val_compare_and_swap(&device->number, before, number) == before && before)
		__builtin_memset(device->histogram, 0, sizeof(device->histogram));
	if (now >= device->next_epoch_ns)
		begin_epoch(device, queue, now);
	slot->epoch = device->epoch;
	slot->class = class;
	if (class < CLASSES)
		__sync_fetch_and_add(&counts->queued[class], 1);
}

static __always_inline void count_done(struct request_queue *queue, u32 class)
{
	struct counts *counts = counts_of(queue, bpf_get_smp_processor_id());

	if (counts && class < CLASSES)
		__sync_fetch_and_add(&counts->completed[class], 1);
}

/* The epoch in which a request was allocated that was not seen then; an expired epoch if unknown. */
static __always_inline u32 epoch_at(struct request_queue *queue, u64 made)
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
static __always_inline void add_overtaken(struct event *event, struct slot *slot, struct device *device,
					struct request_queue *queue)
{
	u32 now = device->epoch, came = slot->epoch, after = came + 1, at;
	struct counts sum;

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

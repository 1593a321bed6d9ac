/* Block requests: matched here, told where they are slow or somebody waited for them, summed up always. */
#pragma once

/* A completion wakes the waiting task at once: what the same context wakes later has another reason. */
#define WAKE_WINDOW_NS 100000ull
#define SETS 8192
#define WAYS 4
#define QUEUES 256
#define HISTOGRAMS 256
#define MOST_MERGES 64

/* Requests of one device that were seen to come and to be done, by class. */
struct device {
	u32 number;
	u32 pad;
	u32 queued[CLASSES];
	u32 completed[CLASSES];
	u32 histogram[CLASSES];	/* + 1; 0: none yet */
};

/* By the queue's id. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUEUES);
	__type(key, u32);
	__type(value, struct device);
} devices SEC(".maps");

struct histogram {
	u64 count;
	u64 bytes;
	u32 queue[BUCKETS];
	u32 device[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HISTOGRAMS);
	__type(key, u32);
	__type(value, struct histogram);
} histograms SEC(".maps");

u32 next_histogram SEC(".data") = 0;
u32 next_request SEC(".data") = 0;
/* Bios of tasks that left the CPU before there was a request for them. */
s32 waiting_bios SEC(".data") = 0;

/* A request under way, and what its device had seen when it came. */
struct slot {
	struct request_note note;
	u32 in_flight[CLASSES];
	u32 completed[CLASSES];
};

/* A table in place of a hash map, which costs several times as much for each request. The keys lie together, in one line
 * of the CPU's cache. */
struct set {
	u64 key[WAYS];
	struct slot way[WAYS];
	u64 pad[4];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SETS);
	__type(key, u32);
	__type(value, struct set);
} requests SEC(".maps");

/* The request that this CPU completed last, and in the context of which task; the bio that it was handed last, if there is
 * no request for it yet. */
struct on_cpu {
	u64 tid;
	u64 done_ns;
	u32 done_set;
	u32 done_way;
	u64 bio;
	u64 queued_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct on_cpu);
} cpus SEC(".maps");

/* Where each request is kept: one by one, through a ring of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} each_request SEC(".maps");

static __always_inline struct on_cpu *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/* By the lower half of its address: the verifier lets no program reckon with a whole one. */
static __always_inline u32 number_of_set(struct request *request)
{
	return (u32)(u64)request * 0x9e3779b1u >> 19;
}

static __always_inline struct set *set_of(struct request *request)
{
	u32 at = number_of_set(request);


	return bpf_map_lookup_elem(&requests, &at);
}

static __always_inline struct slot *find(struct set *set, u64 key)
{
	int way;

#pragma unroll
	for (way = 0; way < WAYS; way++)
		if (set->key[way] == key)
			return &set->way[way];
	return 0;
}

static __always_inline struct slot *claim(struct set *set, u64 key)
{
	int way;

#pragma unroll
	for (way = 0; way < WAYS; way++) {
		if (!__sync_val_compare_and_swap(&set->key[way], 0, key)) {
			set->way[way].note.key = key;
			return &set->way[way];
		}
	}
	count_loss(REQUEST_NOTES);
	return 0;
}

static __always_inline u32 way_of(struct set *set, u64 key)
{
	return set->key[0] == key ? 0 : set->key[1] == key ? 1 : set->key[2] == key ? 2 : 3;
}

/* The request that this CPU completed last, if its place was not taken by another one since. */
static __always_inline int copy_done(struct on_cpu *cpu, struct request_note *into)
{
	u32 at = cpu->done_set, way = cpu->done_way;
	struct set *set = bpf_map_lookup_elem(&requests, &at);

	if (!set || way >= WAYS)
		return 0;
	*into = set->way[way].note;
	if (into->completed_ns == cpu->done_ns)
		return 1;
	into->key = 0;
	return 0;
}

static __always_inline void let_go(struct set *set, u64 key)
{
	int way;

#pragma unroll
	for (way = 0; way < WAYS; way++)
		if (set->key[way] == key)
			set->key[way] = 0;
}

static __always_inline u32 device_of(struct request *request)
{
	struct gendisk *disk = request->q->disk;

	return disk ? disk->major << 20 | disk->first_minor : 0;
}

static __always_inline struct device *counters_of(struct request *request)
{
	u32 at = request->q->id;

	return bpf_map_lookup_elem(&devices, &at);
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

/* model::stall::request_bucket */
static __always_inline u32 bucket_of(u64 ns)
{
	u32 shift = 0;
	u64 rest = ns >> BUCKET_BITS;
	u32 index;

	if (!rest)
		return ns;
	if (rest >> 32)
		return BUCKETS - 1;
	if (rest >> 16)
		shift += 16;
	if (rest >> shift >> 8)
		shift += 8;
	if (rest >> shift >> 4)
		shift += 4;
	if (rest >> shift >> 2)
		shift += 2;
	if (rest >> shift >> 1)
		shift += 1;
	index = (shift << BUCKET_BITS) + (u32)(ns >> shift);
	return index < BUCKETS ? index : BUCKETS - 1;
}

/* Whether this is the worker that lets go of what a blkio or io controller limit held back. */
static __always_inline int is_throttle_worker(struct task_struct *task)
{
	struct kthread *thread;
	struct worker *worker;

	if (!settings.throttle_function || !(task->flags & PF_WQ_WORKER))
		return 0;
	thread = BPF_CORE_READ(task, worker_private);
	worker = BPF_CORE_READ(thread, data);
	return (u64)BPF_CORE_READ(worker, current_func) == settings.throttle_function;
}

/* What was handed to the block layer and has no request yet. Where each request is kept the moment is noted; else only
 * if the task leaves the CPU before there is a request: reading the clock is what costs most here. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(block_bio_queue, struct bio *bio)
{
	struct on_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	cpu->bio = (u64)bio;
	if (settings.all_requests)
		cpu->queued_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int bio_was_merged(struct bio *bio)
{
	struct on_cpu *cpu = this_cpu();

	if (cpu && cpu->bio == (u64)bio)
		cpu->bio = 0;
	return 0;
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(block_bio_backmerge, struct bio *bio)
{
	return bio_was_merged(bio);
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(block_bio_frontmerge, struct bio *bio)
{
	return bio_was_merged(bio);
}

/* When the request's bio was handed to the block layer. If its task did not leave the CPU since, that is when it got its
 * request, to the microsecond. */
static __always_inline u64 queued_at(struct task_struct *task, u64 bio, u64 got)
{
	struct on_cpu *cpu = this_cpu();
	struct task_note *note;

	if (cpu && cpu->bio == bio) {
		cpu->bio = 0;
		return settings.all_requests ? cpu->queued_ns : got;
	}
	if (!settings.all_requests && !waiting_bios)
		return got;
	note = note_of(task);
	if (note && note->bio == bio) {
		note->bio = 0;
		__sync_fetch_and_add(&waiting_bios, -1);
		return note->queued_ns;
	}
	return settings.all_requests ? 0 : got;
}

/* The request's times before the scheduler. */
static __always_inline void note_start(struct slot *slot, struct request *request, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 got = request->start_time_ns, queued;

	if (got > now)
		got = 0;
	queued = queued_at(task, (u64)request->bio, got);
	slot->note.tid = task->pid;
	slot->note.throttled = is_throttle_worker(task);
	slot->note.queued_ns = queued;
	/* The kernel reads its clock once for several requests: a moment before the bio came is no better than that. */
	slot->note.got_ns = got && got < queued ? queued : got;
}

static __always_inline void count_arrival(struct slot *slot, struct request *request)
{
	struct device *device = counters_of(request);
	u32 number = device_of(request), class = class_of(request->cmd_flags);
	int at;

	slot->note.device = number;
	if (!device) {
		count_loss(DEVICES_BEYOND);
		return;
	}
	if (device->number != number) {
		__builtin_memset(device, 0, sizeof(*device));
		device->number = number;
	}
#pragma unroll
	for (at = 0; at < CLASSES; at++) {
		u32 completed = device->completed[at];

		slot->completed[at] = completed;
		slot->in_flight[at] = device->queued[at] - completed;
	}
	if (class < CLASSES)
		__sync_fetch_and_add(&device->queued[class], 1);
}

static __always_inline struct slot *new_slot(struct set *set, struct request *request, u64 now)
{
	u64 key = (u64)request;
	struct slot *slot = find(set, key);

	if (!slot)
		slot = claim(set, key);
	if (!slot)
		return 0;
	slot->note.inserted_ns = 0;
	slot->note.issued_ns = 0;
	slot->note.number = 0;
	slot->note.merges = 0;
	note_start(slot, request, now);
	count_arrival(slot, request);
	return slot;
}

/* Only where each request is kept: it came before it was plugged. */
SEC("tp_btf/block_io_start")
int BPF_PROG(block_io_start, struct request *request)
{
	struct set *set = set_of(request);

	if (set)
		new_slot(set, request, -1ull);
	return 0;
}

static __always_inline struct slot *slot_at(struct request *request, u64 now)
{
	struct set *set = set_of(request);
	struct slot *slot;

	if (!set)
		return 0;
	slot = find(set, (u64)request);
	/* This is the first that is heard of it, but where each request is kept. */
	return slot ? slot : new_slot(set, request, now);
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *request)
{
	u64 now = bpf_ktime_get_ns();
	struct slot *slot = slot_at(request, now);

	if (slot && !slot->note.inserted_ns)
		slot->note.inserted_ns = now;
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *request)
{
	u64 now = bpf_ktime_get_ns();
	struct slot *slot = slot_at(request, now);

	if (slot)
		slot->note.issued_ns = now;
	return 0;
}

/* It was merged into another one, and is heard of no more. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(block_rq_merge, struct request *request)
{
	struct device *device = counters_of(request);
	struct set *set = set_of(request);
	struct slot *slot = set ? find(set, (u64)request) : 0;
	u32 class = class_of(request->cmd_flags);

	if (!slot)
		return 0;
	if (device && class < CLASSES)
		__sync_fetch_and_add(&device->completed[class], 1);
	let_go(set, (u64)request);
	return 0;
}

static __always_inline u32 merges_of(struct request *request)
{
	struct bio *bio = request->bio;
	u32 merges = 0;

	if (bio == request->biotail)
		return 0;
	while (merges < MOST_MERGES && bio && bio != request->biotail) {
		bio = bio->bi_next;
		merges++;
	}
	return merges;
}

static __always_inline void add_to_histogram(struct device *device, u32 class, struct request_note *note)
{
	struct histogram *histogram;
	u32 at = device->histogram[class], bucket;

	if (!at) {
		at = __sync_fetch_and_add(&next_histogram, 1) + 1;
		if (__sync_val_compare_and_swap(&device->histogram[class], 0, at))
			at = device->histogram[class];
	}
	at--;
	histogram = bpf_map_lookup_elem(&histograms, &at);
	if (!histogram) {
		count_loss(DEVICES_BEYOND);
		return;
	}
	histogram->count++;
	histogram->bytes += note->bytes;
	if (!note->issued_ns)
		return;
	if (note->inserted_ns && note->inserted_ns <= note->issued_ns) {
		bucket = bucket_of(note->issued_ns - note->inserted_ns);
		if (bucket < BUCKETS)
			histogram->queue[bucket]++;
	}
	bucket = bucket_of(note->completed_ns - note->issued_ns);
	if (bucket < BUCKETS)
		histogram->device[bucket]++;
}

static __noinline int tell_request(struct slot *slot, struct device *device)
{
	struct event *event;
	int at;

	if (!slot)
		return 0;
	event = begin_event(REQUEST, BARE);
	if (!event)
		return 0;
	event->tid = slot->note.tid;
	event->end_ns = slot->note.completed_ns;
	event->request = slot->note;
	if (device) {
		event->flags = 1;
		for (at = 0; at < CLASSES; at++) {
			u32 passed = device->completed[at] - slot->completed[at];

			event->in_flight[at] = slot->in_flight[at];
			event->overtaken_by[at] = passed > slot->in_flight[at] ? passed - slot->in_flight[at] : 0;
		}
	}
	end_event(event);
	return 0;
}

static __always_inline void tell_each(struct request_note *note)
{
	struct request_note *told = bpf_ringbuf_reserve(&each_request, sizeof(*told), 0);

	if (!told) {
		count_loss(EACH_REQUEST);
		return;
	}
	*told = *note;
	bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *request, u8 status, unsigned int bytes)
{
	struct set *set = set_of(request);
	struct slot *slot = set ? find(set, (u64)request) : 0;
	struct device *device;
	struct on_cpu *cpu;
	u64 began;
	u32 class;

	if (!slot)
		return 0;
	/* A first part of it: the rest is still to come. */
	if (bytes < request->__data_len && !status)
		return 0;
	slot->note.completed_ns = bpf_ktime_get_ns();
	slot->note.sector = request->__sector;
	slot->note.bytes = bytes;
	slot->note.flags = request->cmd_flags;
	slot->note.status = status;
	began = slot->note.queued_ns ? slot->note.queued_ns
		: slot->note.inserted_ns ? slot->note.inserted_ns : slot->note.issued_ns;
	class = class_of(slot->note.flags);
	device = counters_of(request);
	if (device && device->number != slot->note.device)
		device = 0;
	if (settings.all_requests || slot->note.completed_ns - began >= settings.slow_ns)
		slot->note.merges = merges_of(request);
	if (settings.all_requests)
		slot->note.number = __sync_fetch_and_add(&next_request, 1) + 1;
	if (began && slot->note.completed_ns - began >= settings.slow_ns)
		tell_request(slot, device);
	else if (settings.all_requests)
		tell_each(&slot->note);
	if (device && class < CLASSES) {
		__sync_fetch_and_add(&device->completed[class], 1);
		add_to_histogram(device, class, &slot->note);
	}
	cpu = this_cpu();
	if (cpu) {
		cpu->tid = (u32)bpf_get_current_pid_tgid();
		cpu->done_ns = slot->note.completed_ns;
		cpu->done_set = number_of_set(request);
		cpu->done_way = way_of(set, (u64)request);
	}
	let_go(set, (u64)request);
	return 0;
}

/* Block requests: matched here, told where they are slow or somebody waited for them, summed up always. */
#pragma once

/* A completion wakes the waiting task at once: what the same context wakes later has another reason. */
#define WAKE_WINDOW_NS 100000ull
#define SETS 8192
#define WAYS 4
#define QUEUES 256
#define HISTOGRAMS 256
#define MOST_MERGES 64
#define NUMBERS 64

#define EPOCHS 128
#define MOST_CPUS 512

/* Requests of one device that were seen to come and to be done, by class: on one CPU, and all in all. */
struct counts {
	u32 queued[CLASSES];
	u32 completed[CLASSES];
};

/* By CPU and the queue's id. What all CPUs write to together would cost each request more than all else. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, QUEUES);
	__type(key, u32);
	__type(value, struct counts);
} counts SEC(".maps");

/* What is read by all and seldom written. From time to time the counts of all CPUs are summed up: an epoch begins. */
struct device {
	u32 number;
	u32 epoch;
	u64 next_epoch_ns;
	u32 histogram[CLASSES];	/* + 1; 0: none yet */
	struct counts epochs[EPOCHS];
	u64 epoch_ns[EPOCHS];	/* when each began */
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
u32 next_numbers SEC(".data.numbers") = 0;

/* What is noted of a request under way: one line of the CPU's cache, as another CPU often completes it. */
struct slot {
	u64 key;		/* the request's address; 0: free */
	u64 made_ns;		/* request->start_time_ns, by which one use of it is told from the next */
	u64 queued_ns;
	u64 got_ns;
	u64 inserted_ns;
	u64 issued_ns;
	u32 device;
	u32 epoch;		/* its device's when it came */
	u32 tid;
	u8 class;
	u8 throttled;
	u16 unused;
};

/* A table in place of a hash map, which costs several times as much for each request. */
struct set {
	struct slot way[WAYS];
};

/* Mapped maps begin at a page, and so each slot at a line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SETS);
	__type(key, u32);
	__type(value, struct set);
} requests SEC(".maps");

/* The request that this CPU completed last, and in the context of which task. */
struct on_cpu {
	u32 tid;
	u32 number;		/* of the request that it told last, where each is kept */
	struct request_note done;	/* key 0: it is being written */
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

/* Whether issues have to be traced: `Issues` of `trace/issues.rs`. */
struct issues {
	u64 since_ns;	/* from then on all else is attached; 0: not yet */
	u64 wanted;	/* requests that showed it, about */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct issues);
} issues SEC(".maps");

/* Flushes and writes with one before or behind, and commands: they pass by the scheduler in any case. */
static __always_inline int passes_by(struct request *request)
{
	return (request->cmd_flags & 0xff) == 2 || request->cmd_flags & 1 << 18 || request->end_io;
}

static __always_inline int is_command(struct request *request)
{
	return (request->cmd_flags & 0xff) >= 32;
}

/* The kernel's time for when it was made, 0 where it has none: it takes none of commands (REQ_OP_DRV_IN and beyond), and
 * since 6.13 leaves the time there of what the request was used for before. */
static __always_inline u64 made_at(struct request *request)
{
	return is_command(request) ? 0 : request->start_time_ns;
}

/* Whether the request was made when all was attached; it is then one that shows that issues have to be traced. */
static __always_inline int want_issue_of(struct request *request)
{
	u32 zero = 0;
	struct issues *known = bpf_map_lookup_elem(&issues, &zero);

	if (!known || !known->since_ns || made_at(request) < known->since_ns)
		return 0;
	if (!passes_by(request))
		known->wanted++;
	return 1;
}

static __always_inline struct on_cpu *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/* By the lower half of its address, once that is a number of its own: the verifier lets no program reckon with addresses. */
static __always_inline struct set *set_of(struct request *request)
{
	u32 at;

	asm volatile("%0 = %1" : "=w"(at) : "w"((u32)(u64)request));
	at = at * 0x9e3779b1u >> 19;
	return bpf_map_lookup_elem(&requests, &at);
}

static __always_inline struct slot *find(struct set *set, u64 key)
{
	int way;

#pragma unroll
	for (way = 0; way < WAYS; way++)
		if (set->way[way].key == key)
			return &set->way[way];
	return 0;
}

static __always_inline struct slot *claim(struct set *set, u64 key)
{
	int way;

#pragma unroll
	for (way = 0; way < WAYS; way++)
		if (!__sync_val_compare_and_swap(&set->way[way].key, 0, key))
			return &set->way[way];
	count_loss(REQUEST_NOTES);
	return 0;
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

static __always_inline struct counts *counts_of(struct request *request, u32 cpu)
{
	u32 queue = request->q->id, at = cpu * QUEUES + queue;

	return queue < QUEUES ? bpf_map_lookup_elem(&counts, &at) : 0;
}

/* All CPUs', one after the other. What is done is read first, so that nothing is done that has not come. */
static __always_inline void sum_up(struct request *request, struct counts *sum)
{
	struct counts *of_cpu;
	u32 cpu, at;

	__builtin_memset(sum, 0, sizeof(*sum));
	for (cpu = 0; cpu < settings.cpus && cpu < MOST_CPUS; cpu++) {
		of_cpu = counts_of(request, cpu);
		if (!of_cpu)
			return;
		for (at = 0; at < CLASSES; at++)
			sum->completed[at] += of_cpu->completed[at];
	}
	for (cpu = 0; cpu < settings.cpus && cpu < MOST_CPUS; cpu++) {
		of_cpu = counts_of(request, cpu);
		if (!of_cpu)
			return;
		for (at = 0; at < CLASSES; at++)
			sum->queued[at] += of_cpu->queued[at];
	}
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

/* When the request's bio was handed to the block layer: if its task did not leave the CPU since, when it got its request,
 * to the microsecond. */
static __always_inline u64 queued_at(struct task_struct *task, u64 got)
{
	struct task_note *note;
	u64 queued;

	if (!waiting_bios)
		return got;
	note = note_of(task);
	/* One that was made before is not that for which it waited. */
	if (!note || !note->queued_ns || note->queued_ns > got)
		return got;
	queued = note->queued_ns;
	forget_bio(note);
	return queued;
}

/* The request's times before the scheduler. */
static __always_inline void note_start(struct slot *slot, struct request *request, u64 got)
{
	struct task_struct *task = bpf_get_current_task_btf();

	slot->tid = task->pid;
	slot->throttled = is_throttle_worker(task);
	slot->queued_ns = queued_at(task, got);
	slot->got_ns = got;
}

static __always_inline void begin_epoch(struct device *device, struct request *request, u64 now)
{
	u64 due = device->next_epoch_ns;
	u32 next = device->epoch + 1;
	struct counts sum;

	if (__sync_val_compare_and_swap(&device->next_epoch_ns, due, now + settings.epoch_ns) != due)
		return;
	sum_up(request, &sum);
	device->epochs[next % EPOCHS] = sum;
	device->epoch_ns[next % EPOCHS] = now;
	device->epoch = next;
}

static __always_inline void count_arrival(struct slot *slot, struct request *request, u64 now)
{
	u32 number = device_of(request), class = class_of(request->cmd_flags), before;
	struct counts *counts = counts_of(request, bpf_get_smp_processor_id());
	struct device *device = counters_of(request);

	slot->device = number;
	if (!device || !counts) {
		count_loss(DEVICES_BEYOND);
		return;
	}
	before = device->number;
	/* Another disk has the queue's id now: its sums are others. Two CPUs may see it at once. */
	if (before != number && __sync_val_compare_and_swap(&device->number, before, number) == before && before)
		__builtin_memset(device->histogram, 0, sizeof(device->histogram));
	if (now >= device->next_epoch_ns)
		begin_epoch(device, request, now);
	slot->epoch = device->epoch;
	slot->class = class;
	if (class < CLASSES)
		__sync_fetch_and_add(&counts->queued[class], 1);
}

static __always_inline void count_done(struct request *request, u32 class)
{
	struct counts *counts = counts_of(request, bpf_get_smp_processor_id());

	if (counts && class < CLASSES)
		__sync_fetch_and_add(&counts->completed[class], 1);
}

/* `made`: the kernel's time for when it was made, which block_io_start comes too early for. */
static __always_inline struct slot *start(struct slot *slot, struct request *request, u64 now, u64 made)
{
	slot->inserted_ns = 0;
	slot->issued_ns = 0;
	slot->made_ns = made;
	note_start(slot, request, settings.all_requests ? now : made <= now ? made : 0);
	count_arrival(slot, request, now);
	return slot;
}

static __always_inline struct slot *new_slot(struct set *set, struct request *request, u64 now, u64 made)
{
	struct slot *slot = claim(set, (u64)request);

	return slot ? start(slot, request, now, made) : 0;
}

/* The end of what it was before was missed: the kernel skips a program that interrupts itself. */
static __always_inline struct slot *restart(struct slot *slot, struct request *request, u64 now, u64 made)
{
	count_done(request, slot->class);
	return start(slot, request, now, made);
}

/* Only where each request is kept: it came before it was plugged. */
SEC("tp_btf/block_io_start")
int BPF_PROG(block_io_start, struct request *request)
{
	u64 now = bpf_ktime_get_ns();
	struct set *set = set_of(request);
	struct slot *slot = set ? find(set, (u64)request) : 0;

	if (slot)
		restart(slot, request, now, 0);
	else if (set)
		new_slot(set, request, now, 0);
	return 0;
}

static __always_inline struct slot *slot_at(struct request *request, u64 now)
{
	struct set *set = set_of(request);
	struct slot *slot;
	u64 made;

	if (!set)
		return 0;
	slot = find(set, (u64)request);
	/* This is the first that is heard of it, but where each request is kept. */
	made = made_at(request);
	if (!slot)
		return new_slot(set, request, now, made);
	if (!slot->made_ns && !slot->issued_ns)
		slot->made_ns = made;
	/* One that another was merged into takes the earlier of their times. */
	else if (made > slot->made_ns || !made)
		return restart(slot, request, now, made);
	return slot;
}

SEC("tp_btf/block_rq_insert")
int BPF_PROG(block_rq_insert, struct request *request)
{
	u64 now = bpf_ktime_get_ns();
	struct slot *slot = slot_at(request, now);

	if (slot && !slot->inserted_ns)
		slot->inserted_ns = now;
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(block_rq_issue, struct request *request)
{
	u64 now = bpf_ktime_get_ns();
	struct slot *slot = slot_at(request, now);

	if (slot)
		slot->issued_ns = now;
	return 0;
}

/* It was merged into another one, and is heard of no more. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(block_rq_merge, struct request *request)
{
	struct set *set = set_of(request);
	struct slot *slot = set ? find(set, (u64)request) : 0;

	if (!slot)
		return 0;
	count_done(request, class_of(request->cmd_flags));
	slot->key = 0;
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

/* At least so many came after it, and were done before it: what was done since the first epoch that began after it came,
 * less all that was under way then. */
static __always_inline void tell_passed(struct event *event, struct slot *slot, struct device *device,
					struct request *request)
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
	sum_up(request, &sum);
	for (at = 0; at < CLASSES; at++) {
		struct counts *begun = &device->epochs[after % EPOCHS];
		u32 passed = sum.completed[at] - begun->completed[at];
		u32 under_way = begun->queued[at] - begun->completed[at];

		event->overtaken_by[at] = (s32)(passed - under_way) > 0 ? passed - under_way : 0;
	}
}

static __always_inline void tell_request(struct request_note *note, struct slot *slot, struct device *device,
					 struct request *request)
{
	struct event *event = begin_event(REQUEST, BARE);

	if (!event)
		return;
	event->tid = note->tid;
	event->end_ns = note->completed_ns;
	event->request = *note;
	if (device)
		tell_passed(event, slot, device, request);
	end_event(event);
}

static __always_inline u32 before(u64 ns, u64 completed_ns)
{
	return ns && ns <= completed_ns && completed_ns - ns < UNSEEN ? completed_ns - ns : UNSEEN;
}

static __always_inline void tell_each(struct request_note *note)
{
	struct request_told *told = bpf_ringbuf_reserve(&each_request, sizeof(*told), 0);

	if (!told) {
		count_loss(EACH_REQUEST);
		return;
	}
	told->sector = note->sector;
	told->completed_ns = note->completed_ns;
	told->queued = before(note->queued_ns, note->completed_ns);
	told->got = before(note->got_ns, note->completed_ns);
	told->inserted = before(note->inserted_ns, note->completed_ns);
	told->issued = before(note->issued_ns, note->completed_ns);
	told->device = note->device;
	told->bytes = note->bytes;
	told->flags = note->flags;
	told->tid = note->tid;
	told->number = note->number;
	told->merges = note->merges;
	told->throttled = note->throttled;
	told->status = note->status;
	bpf_ringbuf_submit(told, BPF_RB_NO_WAKEUP);
}

/* The epoch in which a request was made that was not seen then; one that is too old where none is known. */
static __always_inline u32 epoch_at(struct request *request, u64 made)
{
	struct device *device = counters_of(request);
	u32 back, epoch;

	if (!device)
		return 0;
	epoch = device->epoch;
	for (back = 0; back < EPOCHS - 1; back++)
		if (device->epoch_ns[(epoch - back) % EPOCHS] <= made)
			break;
	return epoch - back;
}

/* The slot of one that is done. Where issues are not traced, this is the first that is heard of what was not inserted: a
 * flush, or one of a device without a scheduler. Who made it is not known then. */
static __always_inline struct slot *slot_of_done(struct request *request, unsigned int bytes, u64 now)
{
	struct set *set = set_of(request);
	u64 made = made_at(request);
	struct slot *slot;

	if (!set)
		return 0;
	slot = find(set, (u64)request);
	if (slot && (!slot->made_ns || made <= slot->made_ns))
		return slot;
	/* A write that is durable at last was done before, and one that only flushes is so by the flush's request. */
	if (!bytes && (request->cmd_flags & 0xff) != 2)
		return 0;
	if (made && !want_issue_of(request))
		return 0;
	if (slot)
		count_done(request, slot->class);
	else
		slot = claim(set, (u64)request);
	if (!slot)
		return 0;
	slot->made_ns = made;
	slot->queued_ns = made;
	slot->got_ns = made;
	slot->inserted_ns = 0;
	slot->issued_ns = 0;
	slot->tid = 0;
	slot->throttled = 0;
	count_arrival(slot, request, now);
	if (made && now - made >= settings.slow_ns)
		slot->epoch = epoch_at(request, made);
	return slot;
}

/* Where issues are not traced: the kernel's own time, if it takes one. It may have read its clock when the batch began that
 * the request came in, but issued what it had inserted. */
static __always_inline u64 issued_at(struct slot *slot, struct request *request)
{
	u64 issued = request->io_start_time_ns;

	if (!issued) {
		want_issue_of(request);
		return 0;
	}
	if (issued < slot->got_ns)
		issued = slot->got_ns;
	return issued < slot->inserted_ns ? slot->inserted_ns : issued;
}

static __always_inline u64 began_at(struct slot *slot)
{
	return slot->queued_ns ? slot->queued_ns : slot->inserted_ns ? slot->inserted_ns : slot->issued_ns;
}

/* Each CPU takes some numbers at a time: what all write to is dear. From 1 on. */
static __always_inline u32 next_number(struct on_cpu *cpu)
{
	if (!(cpu->number % NUMBERS))
		cpu->number = __sync_fetch_and_add(&next_numbers, NUMBERS);
	return ++cpu->number;
}

/* What interrupts this may look at it: it has no key meanwhile. */
static __always_inline void write_up(struct request_note *note, struct slot *slot, struct request *request, u64 now)
{
	*(volatile u64 *)&note->key = 0;
	note->sector = request->__sector;
	note->queued_ns = slot->queued_ns;
	note->got_ns = slot->got_ns;
	note->inserted_ns = slot->inserted_ns;
	note->issued_ns = slot->issued_ns;
	note->completed_ns = now;
	note->device = slot->device;
	note->flags = request->cmd_flags;
	note->tid = slot->tid;
	note->throttled = slot->throttled;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(block_rq_complete, struct request *request, u8 status, unsigned int bytes)
{
	struct on_cpu *cpu = this_cpu();
	struct request_note *note;
	struct device *device;
	struct slot *slot;
	u64 began, now;
	u32 class;
	bool slow;

	/* A first part of it: the rest is still to come. */
	if (!cpu || (bytes < request->__data_len && !status))
		return 0;
	now = bpf_ktime_get_ns();
	slot = slot_of_done(request, bytes, now);
	if (!slot)
		return 0;
	if (!slot->issued_ns)
		slot->issued_ns = issued_at(slot, request);
	note = &cpu->done;
	write_up(note, slot, request, now);
	note->bytes = bytes;
	note->status = status;
	note->number = settings.all_requests ? next_number(cpu) : 0;
	began = began_at(slot);
	/* What takes so long that its times do not fit is told as slow ones are. */
	slow = began && (now - began >= settings.slow_ns || (settings.all_requests && now - began >= UNSEEN));
	note->merges = settings.all_requests || slow ? merges_of(request) : 0;
	class = class_of(note->flags);
	device = counters_of(request);
	if (device && device->number != note->device)
		device = 0;
	cpu->tid = (u32)bpf_get_current_pid_tgid();
	*(volatile u64 *)&note->key = (u64)request;
	if (slow)
		tell_request(note, slot, device, request);
	else if (settings.all_requests)
		tell_each(note);
	count_done(request, class);
	if (device && class < CLASSES)
		add_to_histogram(device, class, note);
	slot->key = 0;
	return 0;
}

/* Completed requests: what the waking task and the rings get of them. */
#pragma once

/* A completion wakes the waiting task at once: what the same context wakes later has another reason. */
#define WAKE_WINDOW_NS 100000ull
#define MOST_MERGES 64
#define NUMBERS 64

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

u32 next_numbers SEC(".data.numbers") = 0;

static __always_inline struct on_cpu *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
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

static __always_inline void tell_request(struct request_note *note, struct slot *slot, struct device *device,
					 struct request_queue *queue)
{
	struct event *event = begin_event(REQUEST, BARE);

	if (!event)
		return;
	event->tid = note->tid;
	event->end_ns = note->completed_ns;
	event->request = *note;
	if (device)
		tell_passed(event, slot, device, queue);
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

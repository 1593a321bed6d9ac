/* Block requests under way: what is noted of each from its arrival to its completion. */
#pragma once

#define SETS 8192
#define WAYS 4

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

static __always_inline u32 device_of(struct request_queue *queue)
{
	struct gendisk *disk = queue->disk;

	return disk ? disk->major << 20 | disk->first_minor : 0;
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

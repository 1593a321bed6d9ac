/* The table of block requests in flight, from their arrival to their completion. */
#pragma once

#define SETS 8192
#define WAYS 4

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
	u16 unused;
};

/* A table: a hash map costs several times as much for each request. */
struct set {
	struct slot way[WAYS];
};

/* Mappable maps begin at a page, and thus each slot at a cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SETS);
	__type(key, u32);
	__type(value, struct set);
} requests SEC(".maps");

/* Flushes, writes with a flush before or after them, and commands: they always bypass the scheduler. */
static __always_inline int bypasses_scheduler(struct request *request)
{
	return (request->cmd_flags & 0xff) == 2 || request->cmd_flags & 1 << 18 || request->end_io;
}

static __always_inline int is_command(struct request *request)
{
	return (request->cmd_flags & 0xff) >= 32;
}

/* The kernel's allocation time, 0 where it has none: it takes none for commands (REQ_OP_DRV_IN and beyond), and since 6.13
 * leaves the time of the request's previous use there. */
static __always_inline u64 made_at(struct request *request)
{
	return is_command(request) ? 0 : request->start_time_ns;
}

/* By the lower half of its address, copied to a scalar: the verifier allows no arithmetic on pointers. */
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

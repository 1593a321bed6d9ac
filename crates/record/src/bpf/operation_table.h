/* The table of asynchronous operations in flight, from their submission to their completion, and their block requests. */
#pragma once

#define OPERATION_SETS 4096
#define OPERATION_WAYS 4
/* Bios of one request, merged, whose operations are linked. */
#define MOST_BIOS 16

struct operation {
	u64 key;		/* address of the kernel's io_uring request, or `aio_key`; 0: free */
	u64 start_ns;
	u64 ended_ns;		/* of libaio: when the last of its requests completed; 0: not yet */
	u32 tid;		/* submitter */
	u32 pid;
	u32 worker_tid;		/* kernel thread that executes it; 0: the submitter, as far as is known */
	u32 worker_pid;
	struct request_note request;	/* the slow one that completed last; key 0: none */
};

struct operation_set {
	struct operation way[OPERATION_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OPERATION_SETS);
	__type(key, u32);
	__type(value, struct operation_set);
} operations SEC(".maps");

/* Set with the first operation: until then no request looks for one. */
u32 any_operation SEC(".data.operations") = 0;

static __always_inline struct operation_set *operation_set_of(u64 key)
{
	u32 at = (u32)((key ^ key >> 32) * 0x9e3779b97f4a7c15ull >> 52);

	return bpf_map_lookup_elem(&operations, &at);
}

static __always_inline struct operation *operation_of(u64 key)
{
	struct operation_set *set = operation_set_of(key);
	int way;

	if (!set)
		return 0;
#pragma unroll
	for (way = 0; way < OPERATION_WAYS; way++)
		if (set->way[way].key == key)
			return &set->way[way];
	return 0;
}

/* An operation that was canceled, or reaped without a system call, has no end. Its place is taken when there is no other. */
static __always_inline struct operation *new_operation(u64 key)
{
	struct operation_set *set = operation_set_of(key);
	struct operation *oldest;
	int way;

	if (!set)
		return 0;
	oldest = &set->way[0];
#pragma unroll
	for (way = 0; way < OPERATION_WAYS; way++) {
		if (set->way[way].key == key || !set->way[way].key)
			return &set->way[way];
		if (set->way[way].start_ns < oldest->start_ns)
			oldest = &set->way[way];
	}
	count_loss(OPERATION_NOTES);
	return oldest;
}

/* This and other functions that are not static are verified separately and once, not for each path of each caller. */
__noinline int operation_begins(u64 key, u32 tid, u32 pid, u32 worker, u64 now)
{
	struct operation *operation = new_operation(key);

	if (!operation)
		return 0;
	operation->start_ns = now;
	operation->ended_ns = 0;
	operation->tid = tid;
	operation->pid = pid;
	operation->worker_tid = worker;
	operation->worker_pid = worker ? pid : 0;
	operation->request.key = 0;
	operation->key = key;
	if (!any_operation)
		any_operation = 1;
	return 0;
}

/* Of libaio, by user space's address of the iocb in that context: odd, unlike an address. */
static __always_inline u64 aio_key(u64 context, u64 iocb)
{
	return (context * 31 ^ iocb) | 1;
}

static __always_inline u64 key_of(struct kiocb *iocb)
{
	struct aio_kiocb *aio = (struct aio_kiocb *)iocb;
	u64 complete = (u64)BPF_CORE_READ(iocb, ki_complete);

	/* None: the call is synchronous. */
	if (!complete)
		return 0;
	if (complete != settings.aio_complete)
		return (u64)iocb;
	return aio_key((u64)BPF_CORE_READ(aio, ki_ctx), BPF_CORE_READ(aio, ki_res.obj));
}

/* Direct I/O of a bio: its iocb, and its bios that have not completed. */
struct direct {
	struct kiocb *iocb;
	s32 left;
};

/* The bio that this one was split off from, maybe several times. */
static __always_inline struct bio *whole_bio(struct bio *bio)
{
	int at;

	for (at = 0; at < MOST_BIOS && (u64)BPF_CORE_READ(bio, bi_end_io) == settings.chain_end_io; at++)
		bio = BPF_CORE_READ(bio, bi_private);
	return bio;
}

static __always_inline void find_direct(struct bio *bio, struct direct *direct)
{
	u64 end_io;
	void *owner;

	bio = whole_bio(bio);
	end_io = (u64)BPF_CORE_READ(bio, bi_end_io);
	owner = BPF_CORE_READ(bio, bi_private);
	direct->iocb = 0;
	direct->left = 1;
	if (end_io == settings.iomap_end_io) {
		direct->iocb = BPF_CORE_READ((struct iomap_dio *)owner, iocb);
		direct->left = BPF_CORE_READ((struct iomap_dio *)owner, ref.counter);
	} else if (end_io == settings.device_end_io) {
		direct->iocb = BPF_CORE_READ((struct blkdev_dio *)owner, iocb);
		direct->left = BPF_CORE_READ((struct blkdev_dio *)owner, ref.counter);
	} else if (end_io == settings.device_end_io_async) {
		owner = (void *)bio - bpf_core_field_offset(struct blkdev_dio, bio);
		direct->iocb = BPF_CORE_READ((struct blkdev_dio *)owner, iocb);
	}
	direct->left += BPF_CORE_READ(bio, __bi_remaining.counter) - 1;
}

__noinline int link_bio(u64 bio, struct request_note *note);

/* Remembers a slow request with the operations whose bios it completes. */
__noinline int link_operations(struct request_note *note)
{
	struct request *request;
	struct bio *bio, *last;
	int at;

	if (!note)
		return 0;
	request = (struct request *)note->key;
	bio = BPF_CORE_READ(request, bio);
	last = BPF_CORE_READ(request, biotail);
	for (at = 0; at < MOST_BIOS && bio; at++) {
		link_bio((u64)bio, note);
		if (bio == last)
			break;
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return 0;
}

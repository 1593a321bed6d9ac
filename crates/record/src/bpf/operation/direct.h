/* Direct I/O: which call, and thus which asynchronous operation, a bio is a part of. */
#pragma once

#include "bpf.h"
#include "settings.h"

/* Bios of one request, merged, whose operations are linked. */
#define MOST_BIOS 16

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

/* The call of direct I/O that a bio, by its address, is a part of; 0: of none. */
static __always_inline struct kiocb *call_of_bio(struct bio *bio)
{
	u64 end_io = (u64)BPF_CORE_READ(bio, bi_end_io);
	void *owner = BPF_CORE_READ(bio, bi_private);

	if (end_io == settings.iomap_end_io)
		return BPF_CORE_READ((struct iomap_dio *)owner, iocb);
	/* One bio, which the kernel allocates with its owner. */
	if (end_io == settings.device_end_io_async)
		owner = (void *)bio - bpf_core_field_offset(struct blkdev_dio, bio);
	else if (end_io != settings.device_end_io)
		return 0;
	return BPF_CORE_READ((struct blkdev_dio *)owner, iocb);
}

static __always_inline void find_direct(struct bio *bio, struct direct *direct)
{
	u64 end_io;
	void *owner;

	bio = whole_bio(bio);
	end_io = (u64)BPF_CORE_READ(bio, bi_end_io);
	owner = BPF_CORE_READ(bio, bi_private);
	direct->iocb = call_of_bio(bio);
	direct->left = 1;
	if (end_io == settings.iomap_end_io)
		direct->left = BPF_CORE_READ((struct iomap_dio *)owner, ref.counter);
	else if (end_io == settings.device_end_io)
		direct->left = BPF_CORE_READ((struct blkdev_dio *)owner, ref.counter);
	direct->left += BPF_CORE_READ(bio, __bi_remaining.counter) - 1;
}

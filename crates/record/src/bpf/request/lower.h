/* Requests of loop devices and of the device mapper's multipath, and the requests of the disk below that complete them.
 */
#pragma once

#include "bpf.h"
#include "driver.h"
#include "event.h"
#include "operation/direct.h"
#include "request/completed.h"
#include "request/completion.h"
#include "request/flush.h"
#include "request/table.h"
#include "settings.h"
#include "this_cpu.h"

#define LOWERS 1024

/* By request of a loop device: the one below that completed last for it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LOWERS);
	__type(key, u64);
	__type(value, struct lower);
} lowers SEC(".maps");

/* By the end of its bio. */
static __always_inline int is_direct(u64 end_io)
{
	return end_io == settings.iomap_end_io || end_io == settings.device_end_io_async ||
			end_io == settings.device_end_io;
}

/* The request of a loop device that a bio below, by its address, serves by direct I/O; 0: none. */
static __always_inline u64 upper_of(struct bio *bio)
{
	struct kiocb *call;

	if (!drivers.loop_iocb || !drivers.loop_end_io)
		return 0;
	call = call_of_bio(bio);
	if (!call || (u64)BPF_CORE_READ(call, ki_complete) != drivers.loop_end_io)
		return 0;
	return (u64)call - drivers.loop_iocb - bpf_core_type_size(struct request);
}

__noinline int serve_upper(struct request_note *note, struct view *view, u32 is_emitted)
{
	struct lower lower = {};
	struct request *request;
	struct slot *slot;
	u64 key;

	if (!note || !view)
		return 0;
	request = (struct request *)view->key;
	key = upper_of(BPF_CORE_READ(request, bio));
	if (!key && view->is_merged)
		key = upper_of(BPF_CORE_READ(request, biotail));
	slot = key ? find(key) : 0;
	if (!slot || note->completed_ns - began_at(slot) < settings.interval_ns)
		return 0;
	lower.key = note->key;
	lower.completed_ns = note->completed_ns;
	lower.number = note->number;
	bpf_map_update_elem(&lowers, &key, &lower, BPF_ANY);
	/* The event of the upper request refers to it. */
	if (!is_emitted)
		emit_request(note);
	return 0;
}

static __always_inline int is_loop(struct slot *slot)
{
	return slot->device >> 20 == LOOP_MAJOR;
}

/* Of the device mapper only what is based on requests has any: multipath. */
static __always_inline int is_mapped(struct slot *slot)
{
	return drivers.mapper_major && slot->device >> 20 == drivers.mapper_major;
}

static __always_inline int has_lower(struct slot *slot)
{
	return is_loop(slot) || is_mapped(slot);
}

/* The device mapper hands a clone of its request to the path, and completes it with that. */
static __always_inline int is_clone_of(struct request_note *note, struct slot *slot, struct view *view)
{
	return note->key && note->completed_ns >= slot->got_ns && note->device != slot->device &&
	       note->sector == view->sector && note->bytes == view->bytes;
}

/* <linux/magic.h>: file systems in memory, or of a server, which no disk of this machine serves. */
#define TMPFS_MAGIC 0x01021994
#define FUSE_SUPER_MAGIC 0x65735546
#define NFS_SUPER_MAGIC 0x6969
#define NO_DISK 0xffffffffu

/* The disk of the file system that holds a loop device's file; 0: unknown. */
__noinline u32 lower_disk(u64 key)
{
	struct request *request = (struct request *)key;
	u64 loop = (u64)BPF_CORE_READ(request, q, disk, private_data);
	struct super_block *super;
	struct file *file = 0;
	struct gendisk *disk;
	unsigned long magic;

	if (!drivers.loop_file || bpf_probe_read_kernel(&file, sizeof(file), (void *)(loop + drivers.loop_file)))
		return 0;
	super = BPF_CORE_READ(file, f_inode, i_sb);
	magic = BPF_CORE_READ(super, s_magic);
	if (magic == TMPFS_MAGIC || magic == FUSE_SUPER_MAGIC || magic == NFS_SUPER_MAGIC)
		return NO_DISK;
	disk = BPF_CORE_READ(super, s_bdev, bd_disk);
	return disk ? BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor) : 0;
}

/* Where the kernel's types do not lead from one to the other. */
static __always_inline int may_serve(struct request_note *note, struct slot *slot)
{
	u32 lower;

	if (!note->key || note->completed_ns < slot->issued_ns || note->device == slot->device)
		return 0;
	lower = lower_disk(slot->key);
	return !lower || note->device == lower;
}

static __always_inline void take_lower(struct lower *lower, struct request_note *note)
{
	lower->key = note->key;
	lower->completed_ns = note->completed_ns;
	lower->number = note->number;
	/* The event of the upper request refers to it. */
	if (!settings.all_requests)
		emit_request(note);
}

/* The request below that was completed last, here or by the worker that runs here. */
__noinline int find_lower(struct lower *lower, struct slot *slot, struct view *view)
{
	struct on_cpu *cpu = this_cpu();
	struct request_note *served;
	struct lower *known;
	u64 key;

	if (!cpu || !lower || !slot || !view)
		return 0;
	if (is_mapped(slot)) {
		if (is_clone_of(&cpu->done, slot, view))
			take_lower(lower, &cpu->done);
		return 0;
	}
	key = slot->key;
	known = bpf_map_lookup_elem(&lowers, &key);
	if (known && known->completed_ns >= slot->issued_ns) {
		*lower = *known;
		return 0;
	}
	served = request_of_work(bpf_get_current_task_btf());
	if (served && may_serve(served, slot))
		take_lower(lower, served);
	else if (may_serve(&cpu->done, slot))
		take_lower(lower, &cpu->done);
	return 0;
}

/* That completed the data of a request with flushes around it. */
__noinline int find_lower_of_data(struct slot *slot, struct view *view)
{
	struct sequence *sequence;
	u64 key;

	if (!slot || !view)
		return 0;
	key = view->key;
	sequence = bpf_map_lookup_elem(&sequences, &key);
	if (sequence)
		find_lower(&sequence->lower, slot, view);
	return 0;
}

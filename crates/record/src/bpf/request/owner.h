/* The task that a block request is for. Kernel threads submit requests for others: writeback, throttled bios, loop
 * devices. */
#pragma once

#include "bpf.h"
#include "operation/direct.h"
#include "operation/table.h"
#include "request/lower.h"
#include "request/table.h"
#include "settings.h"
#include "task/task.h"

#define DIRTY_INODES 16384
#define READ_INODES 8192
/* Loop devices on loop devices. */
#define MOST_LEVELS 3
#define METADATA (1u << 12)
#define FILE_TYPE 0170000
#define BLOCK_DEVICE 0060000
/* Of a write: the program has nothing else to wait for. Direct writes and journals have it, writeback does not. */
#define IDLE (1u << 15)
/* In place of a task. */
#define OF_ALL (~0u)
/* Pages that were dirty before the recording. */
#define OF_EARLIER (~0u - 1)

/* The tasks that made inodes dirty, by inode. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, DIRTY_INODES);
	__type(key, u64);
	__type(value, u32);
} dirtiers SEC(".maps");

/* Whether a limit delayed any request. A worker dispatches such reads, and only their files say who reads them. */
u32 any_throttled SEC(".data.reader") = 0;

struct file_use {
	u64 inode;
	u64 cgroup;	/* number of the cgroup that its requests count for; 0: any */
};

/* The tasks that waited last in calls on files: for each cgroup, and of all. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, READ_INODES);
	__type(key, struct file_use);
	__type(value, u32);
} readers SEC(".maps");

/* The number of the cgroup that a task's requests count for; 0: unknown. */
static __always_inline u64 io_cgroup_of(struct task_struct *task)
{
	struct cgroup_subsys_state *state;
	u32 controller;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, io_cgrp_id))
		return 0;
	CHECKED();
	controller = bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id);
	if (bpf_probe_read_kernel(&state, sizeof(state), &BPF_CORE_READ(task, cgroups)->subsys[controller & 15]))
		return 0;
	return BPF_CORE_READ(state, cgroup, kn, id);
}

/* Before Linux 5.4 a bio has no cgroup of its own. */
static __always_inline u64 io_cgroup_of_bio(struct bio *bio)
{
	if (!bpf_core_field_exists(bio->bi_blkg))
		return 0;
	CHECKED();
	return BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup, kn, id);
}

static __always_inline void note_use(u64 inode, struct task_struct *task)
{
	struct file_use use = {.inode = inode};
	u32 tid = BPF_CORE_READ(task, pid);

	bpf_map_update_elem(&readers, &use, &tid, BPF_ANY);
	use.cgroup = io_cgroup_of(task);
	if (use.cgroup)
		bpf_map_update_elem(&readers, &use, &tid, BPF_ANY);
}

/* Whether the running task may have made pages dirty: workers, and calls that read or write pages out, change inodes,
 * too. */
static __always_inline int may_dirty(struct task_struct *task)
{
	struct task_note *note;

	if (task->flags & PF_WQ_WORKER)
		return 0;
	note = note_of(task);
	return !note || !note->call.number || !(how_followed(note->call.number) & DIRTIES_NOTHING);
}

static __always_inline void note_dirtier(struct inode *inode)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	u64 key = (u64)inode;

	if (may_dirty(bpf_get_current_task_btf()))
		bpf_map_update_elem(&dirtiers, &key, &tid, BPF_ANY);
}

/* Masks of addresses are above, pages of the kernel below. */
#define LEAST_MASK (-(1ull << 30))

/* The first of the pages that are managed together with this one. */
static __always_inline struct page *head_of(struct page *page)
{
	u64 head;

	if (bpf_core_field_exists(page->compound_head)) {
		CHECKED();
		head = BPF_CORE_READ(page, compound_head);
	} else {
		CHECKED();
		head = BPF_CORE_READ((struct page___information *)page, compound_info);
	}
	if (!(head & 1))
		return page;
	return (struct page *)(head >= LEAST_MASK ? (u64)page & head : head - 1);
}

/* The inode of the pages that a bio reads or writes; 0: none, or metadata. */
static __always_inline u64 inode_of(struct bio *bio)
{
	struct page *page = head_of(BPF_CORE_READ(bio, bi_io_vec, bv_page));
	u64 mapping = (u64)BPF_CORE_READ(page, mapping), inode;

	/* The low bits mark anonymous pages. */
	if (!mapping || mapping & 3)
		return 0;
	inode = (u64)BPF_CORE_READ((struct address_space *)mapping, host);
	/* A block device's pages are the metadata of a file system: of all who use it. */
	if ((BPF_CORE_READ((struct inode *)inode, i_mode) & FILE_TYPE) == BLOCK_DEVICE)
		return 0;
	return inode;
}

/* Whether an inode became dirty before the recording; of others the table is too small. */
static __always_inline int was_dirty_before(u64 inode)
{
	return (s64)(BPF_CORE_READ((struct inode *)inode, dirtied_when) - began_jiffies) < 0;
}

/* The task that made the pages of a bio dirty; for a read, and for pages that were dirty before the recording, that
 * waited last in a call on their file: who syncs it. */
static __always_inline u32 user_of_pages(struct bio *bio, u32 operation)
{
	u64 inode = inode_of(bio);
	struct file_use use = {.inode = inode};
	u32 *tid;

	if (!inode)
		return 0;
	/* Others may wait for the same pages, for which the limit of another cgroup holds. */
	if (operation != WRITE)
		use.cgroup = io_cgroup_of_bio(bio);
	tid = operation == WRITE ? bpf_map_lookup_elem(&dirtiers, &inode) : bpf_map_lookup_elem(&readers, &use);
	if (tid || operation != WRITE || !was_dirty_before(inode))
		return tid ? *tid : 0;
	tid = bpf_map_lookup_elem(&readers, &use);
	return tid ? *tid : OF_EARLIER;
}

/* Direct I/O: the task that waits for it, or that submitted it. */
static __always_inline u32 owner_of_direct(struct bio *bio)
{
	struct kiocb *call = call_of_bio(bio);
	struct operation *operation;
	void *dio;
	u64 key;

	if (!call)
		return 0;
	if ((u64)BPF_CORE_READ(bio, bi_end_io) == settings.iomap_end_io && !BPF_CORE_READ(call, ki_complete)) {
		dio = BPF_CORE_READ(bio, bi_private);
		return BPF_CORE_READ((struct iomap_dio *)dio, submit.waiter, pid);
	}
	key = any_operation ? key_of(call) : 0;
	operation = key ? operation_of(key) : 0;
	return operation ? operation->tid : 0;
}

static __always_inline u32 owner_of_bio(struct bio *bio)
{
	u32 owner = owner_of_direct(bio), operation = BPF_CORE_READ(bio, bi_opf) & OPERATION;

	if (owner || (operation != WRITE && (operation || !any_throttled)))
		return owner;
	return user_of_pages(bio, operation);
}

/* Whether a request writes metadata, or a journal: for all who changed it. */
static __always_inline int writes_metadata(u64 request)
{
	u32 flags = BPF_CORE_READ((struct request *)request, cmd_flags);

	return (flags & OPERATION) == WRITE && flags & METADATA;
}

/* The task that a request is for, by what its bio serves; 0: unknown; OF_ALL: those who changed metadata. */
__noinline u32 owner_of(u64 request)
{
	struct slot *slot;
	struct bio *bio;
	u64 above;
	u32 level;

	for (level = 0; level < MOST_LEVELS; level++) {
		if (writes_metadata(request))
			return OF_ALL;
		bio = BPF_CORE_READ((struct request *)request, bio);
		if (!bio)
			return 0;
		bio = whole_bio(bio);
		above = loop_seen ? upper_of(bio) : 0;
		if (!above)
			return owner_of_bio(bio);
		if (writes_metadata(above))
			return OF_ALL;
		slot = find(above);
		if (slot && slot->tid && !slot->by_worker)
			return slot->tid;
		request = above;
	}
	return 0;
}

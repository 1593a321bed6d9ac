/* Who holds the lock that a task is about to sleep for. Mutexes and semaphores hold the address of their owner, which
 * is read when the task goes to sleep: another task may have got the lock since the contention began. A file's locks
 * name their process. The percpu locks of a frozen file system are held by the task that froze it. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "model.h"
#include "task/task.h"
#include "wait/stopper.h"

/* LCB_F_* of <trace/events/lock.h> */
#define LOCK_SPINS 1
#define LOCK_READ 2
#define LOCK_WRITE 4
#define LOCK_RT 8
#define LOCK_PERCPU 16
#define LOCK_MUTEX 32
/* The low bits of an owner are flags. */
#define OWNER_FLAGS 7ull
#define OWNED_BY_READERS 1ull
/* What posix_lock_inode and flock_lock_inode return where another lock is in the way. */
#define FILE_LOCK_DEFERRED 1
#define FILE_LOCK_REFUSED (-11)
/* What they are asked for: a shared lock. */
#define SHARED_FILE_LOCK 0
#define NO_FILE_LOCK 2
/* Locks of one file that are searched. */
#define FILE_LOCKS 64

static __always_inline u64 word_at(u64 address)
{
	u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
	return word;
}

/* The owner word of a lock; 0: it is free, or of a kind that does not note its owner. */
static __always_inline u64 owner_word(u64 lock, u32 flags)
{
	if (flags & LOCK_RT)
		return word_at(lock + bpf_core_field_offset(struct rt_mutex_base, owner));
	if (flags & LOCK_MUTEX) {
		if (!bpf_core_field_exists(struct mutex, owner))
			return 0;
		CHECKED();
		return word_at(lock + bpf_core_field_offset(struct mutex, owner));
	}
	if (!(flags & (LOCK_READ | LOCK_WRITE)) || !bpf_core_field_exists(struct rw_semaphore, owner))
		return 0;
	CHECKED();
	return word_at(lock + bpf_core_field_offset(struct rw_semaphore, owner));
}

/* The address comes without a reference: the task may be gone, of a semaphore's readers even long ago. */
static __noinline int note_owner(struct task_note *note)
{
	struct task_struct *owner;
	struct stopper *stopper;
	u64 word;
	u32 tid, pid;

	if (!note)
		return 0;
	note->lock.holder.tid = 0;
	note->lock.holder.was_tried = 0;
	note->lock.holder.lock = note->lock.address;
	if (note->lock.flags & LOCK_PERCPU) {
		stopper = stopper_of(note->lock.address);
		if (!stopper)
			return 0;
		note->lock.holder.tid = stopper->tid;
		note->lock.holder.pid = stopper->pid;
		note->lock.holder.is_hint = 0;
		__builtin_memcpy(note->lock.holder.comm, stopper->comm, NAME_BYTES);
		return 0;
	}
	word = owner_word(note->lock.address, note->lock.flags & ~LOCKED);
	owner = (struct task_struct *)(word & ~OWNER_FLAGS);
	if (!owner)
		return 0;
	tid = BPF_CORE_READ(owner, pid);
	pid = BPF_CORE_READ(owner, tgid);
	if (!tid || tid > MOST_TIDS || !pid || pid > MOST_TIDS)
		return 0;
	note->lock.holder.tid = tid;
	note->lock.holder.pid = pid;
	note->lock.holder.is_hint = !(note->lock.flags & (LOCK_MUTEX | LOCK_RT)) && word & OWNED_BY_READERS;
	bpf_probe_read_kernel_str(note->lock.holder.comm, NAME_BYTES, &owner->comm);
	return 0;
}

static __always_inline void add_holder(struct event *event, struct task_note *note)
{
	event->lock = note->lock.holder.lock;
	event->holder_tid = note->lock.holder.tid;
	event->holder_pid = note->lock.holder.pid;
	__builtin_memcpy(event->holder, note->lock.holder.comm, NAME_BYTES);
	if (note->lock.holder.is_hint)
		event->flags |= HOLDER_IS_HINT;
}

/* Marks of locks of files, whose waits are interruptible. */
static __always_inline int is_file_lock(u32 mark)
{
	return mark == FLOCK_LOCK_INODE || mark == POSIX_LOCK_INODE || mark == BREAK_LEASE_BLOCK;
}

/* Marks of attempts that failed (wait/attempt.h). */
static __always_inline int is_attempt(u32 mark)
{
	return mark == NAME_TAKEN || mark == FOLDER_TAKEN || mark == CONNECTION_REFUSED;
}

static __always_inline int is_lock(u32 mark)
{
	return mark == CONTENTION_BEGIN || is_file_lock(mark) || is_attempt(mark);
}

/* Whether the task was refused what it tried to get, and has not slept since. */
static __always_inline int was_refused(struct task_note *note)
{
	return (is_file_lock(note->signal.mark) || is_attempt(note->signal.mark)) && note->lock.holder.was_tried;
}

/* A lock of a file, or a request for one. */
struct file_range {
	u64 owner;
	u64 blocker;
	s64 start, end;
	u32 pid;
	u32 is_shared;
	u32 is_given_back;
};

static __always_inline void read_file_lock(u64 lock, struct file_range *range)
{
	struct file_lock *since_6_9 = (struct file_lock *)lock;
	struct file_lock___old *before = (struct file_lock___old *)lock;

	if (bpf_core_type_exists(struct file_lock_core)) {
		CHECKED();
		range->owner = (u64)BPF_CORE_READ(since_6_9, c.flc_owner);
		range->blocker = (u64)BPF_CORE_READ(since_6_9, c.flc_blocker);
		range->start = BPF_CORE_READ(since_6_9, fl_start);
		range->end = BPF_CORE_READ(since_6_9, fl_end);
		range->pid = BPF_CORE_READ(since_6_9, c.flc_pid);
		range->is_shared = BPF_CORE_READ(since_6_9, c.flc_type) == SHARED_FILE_LOCK;
		range->is_given_back = BPF_CORE_READ(since_6_9, c.flc_type) == NO_FILE_LOCK;
	} else {
		CHECKED();
		range->owner = (u64)BPF_CORE_READ(before, fl_owner);
		range->blocker = (u64)BPF_CORE_READ(before, fl_blocker);
		range->start = BPF_CORE_READ(before, fl_start);
		range->end = BPF_CORE_READ(before, fl_end);
		range->pid = BPF_CORE_READ(before, fl_pid);
		range->is_shared = BPF_CORE_READ(before, fl_type) == SHARED_FILE_LOCK;
		range->is_given_back = BPF_CORE_READ(before, fl_type) == NO_FILE_LOCK;
	}
}

/* The lock that an entry of a file's list belongs to. */
static __always_inline u64 lock_of_entry(u64 entry)
{
	if (bpf_core_type_exists(struct file_lock_core)) {
		CHECKED();
		return entry - bpf_core_field_offset(struct file_lock_core, flc_list);
	}
	CHECKED();
	return entry - bpf_core_field_offset(struct file_lock___old, fl_list);
}

static __always_inline u32 process_of_lock(u64 lock)
{
	struct file_range range;

	read_file_lock(lock, &range);
	return range.pid <= MOST_TIDS ? range.pid : 0;
}

/* Whether a lock of a file's list refuses what is wanted. Verified once, not for each lock that may be read. */
__noinline int is_in_the_way(u64 entry, struct file_range *wanted)
{
	struct file_range held;

	if (!wanted)
		return 0;
	read_file_lock(lock_of_entry(entry), &held);
	return held.owner != wanted->owner && !(held.is_shared && wanted->is_shared) && held.start <= wanted->end &&
	       wanted->start <= held.end;
}

/* The process whose lock refuses that request; 0: it is gone, or no process of this machine. */
static __noinline u32 process_in_the_way(u64 list, u64 request)
{
	u64 entry = word_at(list);
	struct file_range wanted;
	u32 at;

	read_file_lock(request, &wanted);
	for (at = 0; at < FILE_LOCKS && entry && entry != list; at++) {
		if (is_in_the_way(entry, &wanted))
			return process_of_lock(lock_of_entry(entry));
		entry = word_at(entry);
	}
	return 0;
}

static __always_inline u64 blocker_of(u64 request)
{
	struct file_range range;

	read_file_lock(request, &range);
	return range.blocker;
}

/* A task waits for a lock of a file. Of its holder only the process is known. */
static __always_inline void note_holder_of_file(struct task_note *note, u64 inode, u32 pid)
{
	__builtin_memset(&note->signal.detail, 0, sizeof(note->signal.detail));
	note->lock.holder.lock = inode;
	note->lock.holder.tid = pid;
	note->lock.holder.pid = pid;
	note->lock.holder.is_hint = 0;
	note->lock.holder.was_tried = 0;
	note->lock.holder.comm[0] = 0;
}

/* The current task is going to sleep because of a lock of a file. */
static __always_inline void announce_file_lock(u32 mark, u64 inode, u32 pid, u32 was_tried)
{
	struct task_note *note = current_note(bpf_get_current_task_btf());

	if (!note)
		return;
	note->signal.mark = mark;
	note->signal.mark_ns = bpf_ktime_get_ns();
	note_holder_of_file(note, inode, pid);
	note->lock.holder.was_tried = was_tried;
}

/* It waits until the lock in the way is given up. */
static __noinline int wait_for_file_lock(u32 mark, u64 inode, u64 request)
{
	u64 blocker = blocker_of(request);

	if (blocker)
		announce_file_lock(mark, inode, process_of_lock(blocker), 0);
	return 0;
}

/* It did not want to wait: it may sleep, and try again. */
static __noinline int try_file_lock(u32 mark, struct inode *inode, u64 request)
{
	struct file_lock_context *locks = BPF_CORE_READ(inode, i_flctx);
	u32 offset = bpf_core_field_offset(struct file_lock_context, flc_posix);

	if (mark == FLOCK_LOCK_INODE)
		offset = bpf_core_field_offset(struct file_lock_context, flc_flock);
	if (locks)
		announce_file_lock(mark, (u64)inode, process_in_the_way((u64)locks + offset, request), 1);
	return 0;
}

/* The current task got a lock of a file, or gave it back. */
static __noinline int note_file_lock(u64 inode, u64 request)
{
	struct task_note *note = current_note(bpf_get_current_task_btf());
	struct file_range range;

	if (!note)
		return 0;
	read_file_lock(request, &range);
	if (!range.is_given_back)
		note->lock.file = inode;
	else if (note->lock.file == inode)
		note->lock.file = 0;
	return 0;
}

static __always_inline int file_lock_answered(u32 mark, struct inode *inode, u64 request, int result)
{
	if (!inode || !request)
		return 0;
	if (!result)
		return note_file_lock((u64)inode, request);
	if (result == FILE_LOCK_DEFERRED)
		return wait_for_file_lock(mark, (u64)inode, request);
	return result == FILE_LOCK_REFUSED ? try_file_lock(mark, inode, request) : 0;
}

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(flock_lock_inode, struct inode *inode, u64 request, int result)
{
	return file_lock_answered(FLOCK_LOCK_INODE, inode, request, result);
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(posix_lock_inode, struct inode *inode, u64 request, int result)
{
	return file_lock_answered(POSIX_LOCK_INODE, inode, request, result);
}

SEC("tp_btf/break_lease_block")
int BPF_PROG(break_lease_block, u64 inode, u64 request)
{
	if (!request)
		return 0;
	return wait_for_file_lock(BREAK_LEASE_BLOCK, inode, request);
}

/* Who stopped a task, or froze its cgroup or a file system: the task that did so is noted when it does, and looked up
 * for the rare wait that this explains. */
#pragma once

#include "bpf.h"
#include "channel/connection.h"
#include "channel/side.h"
#include "channel/table.h"
#include "event.h"
#include "file/descriptor.h"
#include "file/path.h"
#include "registers.h"
#include "settings.h"
#include "task/task.h"

/* Acts that are remembered. */
#define STOPS 1024
#define SIGSTOP 19
#define SIGTTOU 22
#define TASK_STOPPED 4
#define TASK_TRACED 8
#define FIFREEZE 0xc0045877u
#define FITHAW 0xc0045878u
/* Locks of a super block that a freeze takes: writes, page faults, the file system's own work. */
#define FREEZE_LEVELS 3

#define PIDTYPE_TGID 1

struct stopper {
	u32 tid;
	u32 pid;
	u32 client_pid;	/* who asked it to; 0: nobody, or unknown */
	char comm[NAME_BYTES];
	char client[NAME_BYTES];
};

/* By process, by address of a cgroup, or by address of a super block's lock. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STOPS);
	__type(key, u64);
	__type(value, struct stopper);
} stoppers SEC(".maps");

static __always_inline struct task_struct *task_of_link(struct hlist_node *link)
{
	return (struct task_struct *)((u64)link - bpf_core_field_offset(struct task_struct, pid_links));
}

/* The current task falls asleep. Where it waits for a message, what it does from then on is not for its last request:
 * many messages want no answer, and their sender would be named for all that the server ever does, such as by a timer.
 * A request is noted when the call returns that received it, after any sleep there or in the poll before it; so are
 * further parts of a long one. A poll in the middle of a request does not say for which file it waits, and loses the
 * client: better none than a wrong one. A read from storage, or from a server that the task has asked itself, is part
 * of its work. Verified once. */
__noinline int forget_request(struct task_note *note)
{
	struct task_struct *task = bpf_get_current_task_btf();
	s32 call = call_in_registers(task);
	struct pt_regs *regs;
	struct file *file;

	if (!note || call < 0 || call >= CALLS || !(settings.others[call] & WAITS))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	file = regs && settings.others[call] & RECEIVES ? (struct file *)current_file(FIRST_ARGUMENT(regs)) : 0;
	if (file && (is_storage(file) || (side_of(file) & ~OF_DATAGRAMS) == CLIENT))
		return 0;
	note->messages.owed_on = 0;
	return 0;
}

/* Who asked the current task to do what it does: the peer of a local socket whose request it received last, has not
 * answered, and has not left for its next message. A server that takes up several requests before it works on the first
 * is seen to work for the last. */
static __always_inline void find_client(struct stopper *stopper)
{
	struct task_note *note = note_of(bpf_get_current_task_btf());
	struct hlist_node *link;
	struct pid *pid;
	u64 channel;

	if (!note || !note->messages.channels.owed)
		return;
	channel = note->messages.owed_on;
	if (!channel || !(uses_of_channel(&note->messages.channels, channel) & OWED) ||
	    BPF_CORE_READ((struct sock *)channel, __sk_common.skc_family) != AF_UNIX)
		return;
	pid = BPF_CORE_READ((struct sock *)channel, sk_peer_pid);
	link = pid ? BPF_CORE_READ(pid, tasks[PIDTYPE_TGID].first) : 0;
	if (!link)
		return;
	stopper->client_pid = BPF_CORE_READ(pid, numbers[0].nr);
	link -= PIDTYPE_TGID;
	BPF_CORE_READ_STR_INTO(&stopper->client, task_of_link(link), comm);
}

static __always_inline void note_stopper(u64 key)
{
	struct stopper stopper = {};
	u64 id = bpf_get_current_pid_tgid();

	stopper.tid = id;
	stopper.pid = id >> 32;
	bpf_get_current_comm(stopper.comm, NAME_BYTES);
	find_client(&stopper);
	bpf_map_update_elem(&stoppers, &key, &stopper, BPF_ANY);
}

/* SIGSTOP, SIGTSTP, SIGTTIN and SIGTTOU follow one another. */
SEC("tp_btf/signal_generate")
int BPF_PROG(signal_generate, int signal, u64 information, struct task_struct *task)
{
	if (signal >= SIGSTOP && signal <= SIGTTOU)
		note_stopper(task->tgid);
	return 0;
}

/* Called for the cgroup that is frozen and for each below it. */
SEC("tp_btf/cgroup_freeze")
int BPF_PROG(cgroup_freeze, u64 cgroup)
{
	note_stopper(cgroup);
	return 0;
}

/* The current task is about to freeze the file system of its first argument, or has thawed it. */
static __noinline int note_freeze(u32 command, u64 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file *file;
	struct super_block *super;
	u64 lock;
	u32 level;

	file = file_of(task, fd);
	super = file ? BPF_CORE_READ(file, f_inode, i_sb) : 0;
	if (!super)
		return 0;
	lock = (u64)super + bpf_core_field_offset(struct super_block, s_writers.rw_sem);
	/* Frozen already: an attempt that fails. */
	if (command == FIFREEZE && BPF_CORE_READ(super, s_writers.frozen))
		return 0;
	for (level = 0; level < FREEZE_LEVELS; level++) {
		if (command == FIFREEZE)
			note_stopper(lock);
		else
			bpf_map_delete_elem(&stoppers, &lock);
		lock += bpf_core_type_size(struct percpu_rw_semaphore);
	}
	return 0;
}

static __always_inline void enters_ioctl(struct pt_regs *regs)
{
	if ((u32)SECOND_ARGUMENT(regs) == FIFREEZE)
		note_freeze(FIFREEZE, FIRST_ARGUMENT(regs));
}

/* A file system that is not thawed stays frozen by the same task. */
static __always_inline void exits_ioctl(struct pt_regs *regs, long result)
{
	if ((u32)SECOND_ARGUMENT(regs) == FITHAW && !result)
		note_freeze(FITHAW, FIRST_ARGUMENT(regs));
}

static __always_inline struct stopper *stopper_of(u64 key)
{
	return bpf_map_lookup_elem(&stoppers, &key);
}

/* A debugger. One that lets go of the task, or is its parent, is known as the one that lets it go on. */
static __always_inline void add_tracer(struct event *event, struct task_struct *task, struct task_note *note)
{
	struct task_struct *tracer = BPF_CORE_READ(task, parent);

	if (tracer != BPF_CORE_READ(task, real_parent)) {
		event->holder_tid = BPF_CORE_READ(tracer, pid);
		event->holder_pid = BPF_CORE_READ(tracer, tgid);
		BPF_CORE_READ_STR_INTO(&event->holder, tracer, comm);
	} else if (note->wait.woken_ns) {
		event->holder_tid = note->waker.tid;
		event->holder_pid = note->waker.pid;
		__builtin_memcpy(event->holder, note->waker.comm, NAME_BYTES);
	}
}

/* As the holder of what the task waits for. */
static __always_inline void add_stopper(struct event *event, struct task_struct *task, struct task_note *note)
{
	struct stopper *stopper = 0;

	if (note->wait.out_state & TASK_TRACED) {
		add_tracer(event, task, note);
	} else if (note->wait.out_state & TASK_STOPPED) {
		stopper = stopper_of(task->tgid);
	} else if (note->wait.out_state & TASK_FROZEN) {
		stopper = stopper_of((u64)BPF_CORE_READ(task, cgroups, dfl_cgrp));
	}
	if (!stopper)
		return;
	event->holder_tid = stopper->tid;
	event->holder_pid = stopper->pid;
	__builtin_memcpy(event->holder, stopper->comm, NAME_BYTES);
	event->detail.word[0] = stopper->client_pid;
	__builtin_memcpy(event->detail.name, stopper->client, NAME_BYTES);
}

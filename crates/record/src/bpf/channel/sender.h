/* Who answered: where another task or an interrupt delivers the answer, its sender is not the waker. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "task/task.h"

struct sender {
	u64 sent_ns;
	u32 tid;
	u32 pid;
	char comm[NAME_BYTES];
};

/* The last one by connection. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct sender);
} senders SEC(".maps");

/* The current task sends an answer. */
static __always_inline void note_sender(u64 connection, u64 now)
{
	u64 id = bpf_get_current_pid_tgid();
	struct sender sender = {.sent_ns = now, .tid = id, .pid = id >> 32}, *known;

	if (!connection)
		return;
	bpf_get_current_comm(sender.comm, NAME_BYTES);
	/* To replace an entry costs several times as much as to find it. */
	known = bpf_map_lookup_elem(&senders, &connection);
	if (known && known->tid == sender.tid)
		*known = sender;
	else
		bpf_map_update_elem(&senders, &connection, &sender, BPF_ANY);
}

/* Puts the sender of the answer in the waker's place, if it is known. */
static __always_inline void find_sender(struct task_note *note)
{
	u64 connection = note->messages.asked_by;
	struct sender *sender = connection ? bpf_map_lookup_elem(&senders, &connection) : 0;

	note->waker.tid = 0;
	if (!sender || sender->sent_ns < note->messages.asked_ns)
		return;
	note->waker.tid = sender->tid;
	note->waker.pid = sender->pid;
	__builtin_memcpy(note->waker.comm, sender->comm, NAME_BYTES);
}

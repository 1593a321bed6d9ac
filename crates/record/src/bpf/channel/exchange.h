/* Requests of clients to servers of this machine, by connection: from what one thread of the client sent to what one of
 * them received. The thread that waits in between may be another one, or wait for several servers. */
#pragma once

#include "bpf.h"
#include "channel/datagram.h"
#include "channel/note.h"
#include "channel/sender.h"
#include "channel/table.h"
#include "event.h"
#include "ring.h"
#include "settings.h"
#include "task/task.h"

struct exchange {
	u64 since_ns;	/* it sent a request, or received a part of the answer */
	u32 is_answered;	/* in part at least */
	u32 is_new;	/* the client has connected, and sent nothing since: a server that speaks first owes it a greeting */
	struct one_use used;	/* by the thread that mostly sends and receives */
};

/* By inode of the client's socket. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct exchange);
} exchanges SEC(".maps");

/* The current task received what it, or another thread, waited for since then. */
static __always_inline void emit_exchange(u64 since_ns, u32 is_part, struct sender *sender, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = note_of(task);
	struct event *event;

	if (!note)
		return;
	event = begin_event(ASYNCHRONOUS, BARE);
	if (!event)
		return;
	describe(event, task, note, since_ns, now);
	event->call = -1;
	event->awaits = is_part ? PART : ANSWER;
	event->asked_ns = since_ns;
	/* It may return from its call after the client has received the answer. */
	event->woken_ns = sender->sent_ns >= since_ns ? sender->sent_ns : now;
	event->waker_tid = sender->tid;
	event->waker_pid = sender->pid;
	__builtin_memcpy(event->waker, sender->comm, NAME_BYTES);
	end_event(event);
}

/* What the current task did with a client's socket. */
enum use_of_socket { HAS_RECEIVED = 0, HAS_SENT = 1, HAS_CONNECTED = 2 };

/* As `enum channel_event`. */
static __always_inline u32 event_of_use(u32 use)
{
	return use == HAS_CONNECTED ? CONNECTED : use == HAS_SENT ? REQUEST_SENT : ANSWER_RECEIVED;
}

/* Whether a request goes on, or there was none. */
static __always_inline int is_same_request(struct exchange *known, u32 sends, u64 connection, u64 now)
{
	return sends && !known->is_answered && !known->is_new &&
	       !(is_datagram(connection) && now - known->since_ns > GIVEN_UP_NS);
}

/* The task's note remembers the channel of a stream; 0 of datagrams. Verified once. */
__noinline int note_exchange(struct task_note *note, u64 file, u64 channel, u64 connection, u32 use)
{
	u64 socket = BPF_CORE_READ((struct file *)file, f_inode, i_ino), now = bpf_ktime_get_ns(), since_ns;
	struct exchange *known = bpf_map_lookup_elem(&exchanges, &socket), begun = {};
	u32 is_part, sends = use != HAS_RECEIVED;
	struct sender *sender;

	if (!known || use == HAS_CONNECTED) {
		begun.since_ns = now;
		begun.is_new = use == HAS_CONNECTED;
		if (known)
			begun.used = known->used;
		if (note)
			use_channel(note, channel, event_of_use(use), &begun.used);
		if (sends)
			bpf_map_update_elem(&exchanges, &socket, &begun, BPF_ANY);
		return 0;
	}
	if (note)
		use_channel(note, channel, event_of_use(use), &known->used);
	since_ns = known->since_ns;
	is_part = known->is_answered;
	if (is_same_request(known, sends, connection, now))
		return 0;
	known->since_ns = now;
	known->is_answered = !sends;
	known->is_new = 0;
	if (sends || now - since_ns < settings.slow_ns)
		return 0;
	sender = bpf_map_lookup_elem(&senders, &connection);
	/* The port may have been that of another client before. */
	if (sender && (sender->sent_ns >= since_ns || !is_datagram(connection)))
		emit_exchange(since_ns, is_part, sender, now);
	return 0;
}

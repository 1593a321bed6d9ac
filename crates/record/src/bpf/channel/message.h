/* Requests that a task sends to a server, and their answers. A client waits for its server only between the two: a
 * server that has answered, an event loop, a shell wait for nothing that they asked for. */
#pragma once

#include "bpf.h"
#include "channel/connection.h"
#include "channel/datagram_request.h"
#include "channel/exchange.h"
#include "channel/note.h"
#include "channel/sender.h"
#include "channel/side.h"
#include "channel/table.h"
#include "event.h"
#include "file/descriptor.h"
#include "ring.h"
#include "settings.h"
#include "task/task.h"

#define EINPROGRESS 115

/* The current task has answered a request that came before the recording. Verified once. */
__noinline int emit_old_request(u64 answered_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_note *note = note_of(task);
	struct event *event = note ? begin_event(ON_CPU, BARE) : 0;

	if (!event)
		return 0;
	describe(event, task, note, answered_ns - 1, answered_ns);
	event->call = -1;
	event->flags |= CUT;
	event->awaits = FOR_CLIENT;
	event->asked_ns = began_ns;
	end_event(event);
	return 0;
}

/* A server works on a request from the moment it receives it until it sends something back. If a thread of its own
 * serves a client, what it sends before it receives anything is an answer to what it received before the recording. */
static __always_inline void note_served(struct task_note *note, u32 what, long result, u64 channel, u64 now)
{
	if (!(what & SENDS) && note->messages.unasked == channel)
		emit_old_request(note->messages.sent_ns);
	note->messages.unasked = (what & SENDS) && !note->messages.owed_ns ? channel : 0;
	if (what & SENDS)
		note->messages.sent_ns = now;
	note->messages.answers |= what & SENDS;
	/* Another one of its threads may have received the request. */
	if (what & SENDS)
		note_sender(connection_of(channel, SERVER), now);
	note->messages.is_left = !(what & SENDS) && !result;
	if ((what & SENDS) || !result) {
		use_channel(note, channel, ANSWER_SENT, 0);
		return;
	}
	/* What it waited for before was for the rest of the request. */
	note->messages.owed_ns = now;
	note->messages.owed_on = channel;
	use_channel(note, channel, REQUEST_RECEIVED, 0);
}

static __always_inline void note_pair(struct task_note *note, u32 what, struct file *file)
{
	if (!(what & SENDS)) {
		note->messages.asked_pairs = 0;
		return;
	}
	note->messages.pairs[note->messages.asked_pairs & (ASKED_PAIRS - 1)] = other_end_of(file);
	note->messages.asked_pairs++;
}

/* Something happened to the channel of a client's socket that is no message. Returns the channel's uses before that. */
static __always_inline int use_silently(struct task_note *note, struct file *file, u64 channel, u32 event)
{
	u64 socket = BPF_CORE_READ(file, f_inode, i_ino);
	struct exchange *known = channel ? bpf_map_lookup_elem(&exchanges, &socket) : 0;

	return use_channel(note, channel, event, known ? &known->used : 0);
}

static __always_inline void note_asked(struct task_note *note, u32 what, long result, struct file *file, u64 channel,
		u64 now)
{
	u64 connection = channel ? connection_of(channel, CLIENT) : 0;

	if (what & SENDS) {
		note->messages.asked_ns = note->messages.sent_ns = now;
		note->messages.asked_by = connection;
	}
	if (!channel)
		note_pair(note, what, file);
	else if (connection && result)
		note_exchange(note, (u64)file, channel, connection, what & SENDS ? HAS_SENT : HAS_RECEIVED);
	else
		use_silently(note, file, channel, what & SENDS ? REQUEST_SENT : ANSWER_RECEIVED);
}

/* The current task has connected to a server, which may not have accepted it yet, or may speak first. Otherwise it
 * could not, or to none that is known. Verified once. */
__noinline int note_met(struct task_note *note, u64 fd, u32 is_connected)
{
	struct file *file = (struct file *)current_file(fd);
	u64 channel = file ? channel_of(file) : 0, connection = 0;

	if (!note || !channel)
		return 0;
	note->messages.sent_ns = bpf_ktime_get_ns();
	if (is_connected && side_of_socket((struct sock *)channel) == CLIENT)
		connection = connection_of(channel, CLIENT);
	if (!connection)
		return use_silently(note, file, channel, CLOSED);
	note->messages.met_by = connection;
	note->messages.met_ns = note->messages.sent_ns;
	note_exchange(note, (u64)file, channel, connection, HAS_CONNECTED);
	return 0;
}

/* The current task is about to close a file. A server was asked to. Verified once. */
__noinline int note_closed(struct task_note *note, u64 file)
{
	u64 channel = file ? channel_of((struct file *)file) : 0;

	if (!note || !channel)
		return 0;
	if (use_silently(note, (struct file *)file, channel, CLOSED) & OWED)
		note->messages.is_left = 1;
	return 0;
}

/* A call that sends, receives or connects has returned. */
static __always_inline void note_message(struct task_note *note, u32 what, u64 fd, long result)
{
	u64 now, channel;
	struct file *file;
	u32 kind, side;

	if (what & CLOSES) {
		note_met(note, fd, !result || result == -EINPROGRESS);
		return;
	}
	/* At the end of what it receives there are no more answers. */
	if ((what & SENDS) ? result <= 0 : result < 0)
		return;
	file = (struct file *)current_file(fd);
	kind = file ? BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND : 0;
	channel = kind == SOCKET ? sock_of(file) : 0;
	side = channel ? side_of_socket((struct sock *)channel) : kind == FIFO ? EITHER : NO_SIDE;
	if (side == NO_SIDE)
		return;
	if (side & OF_DATAGRAMS) {
		note_datagrams(note, (u64)file, what, result);
		return;
	}
	now = bpf_ktime_get_ns();
	if (side == SERVER)
		note_served(note, what, result, channel, now);
	else
		note_asked(note, what, result, file, side == CLIENT ? channel : 0, now);
}

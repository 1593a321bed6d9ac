/* Requests that a task sends to a server, and their answers. A client waits for its server only between the two: a server
 * that has answered, an event loop, a shell wait for nothing that they asked for. */
#pragma once

#include "bpf.h"
#include "channel_note.h"
#include "channel_table.h"
#include "datagram_request.h"
#include "connection.h"
#include "descriptor.h"
#include "event.h"
#include "exchange.h"
#include "ring.h"
#include "sender.h"
#include "settings.h"
#include "side.h"
#include "task.h"

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

/* A server works on a request from the moment it receives it until it sends something back. If a thread of its own serves a client,
 * what it sends before it receives anything is an answer to what it received before the recording. */
static __always_inline void note_served(struct task_note *note, u32 what, long result, struct file *file, u64 now)
{
	u64 channel = channel_of(file);

	if (!(what & SENDS) && note->messages.unasked == channel)
		emit_old_request(note->messages.sent_ns);
	note->messages.unasked = (what & SENDS) && !note->messages.owed_ns ? channel : 0;
	if (what & SENDS)
		note->messages.sent_ns = now;
	note->messages.answers |= what & SENDS;
	/* Another one of its threads may have received the request. */
	if (what & SENDS)
		note_sender(connection_at((u64)file, SERVER), now);
	note->messages.is_left = !(what & SENDS) && !result;
	if ((what & SENDS) || !result) {
		use_channel(note, channel, ANSWER_SENT);
		return;
	}
	/* What it waited for before was for the rest of the request. */
	note->messages.owed_ns = now;
	use_channel(note, channel, REQUEST_RECEIVED);
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

static __always_inline void note_asked(struct task_note *note, u32 what, u32 side, long result, struct file *file, u64 now)
{
	u64 connection = side == CLIENT ? connection_at((u64)file, CLIENT) : 0;

	if (connection && result)
		note_exchange(BPF_CORE_READ(file, f_inode, i_ino), connection, what & SENDS ? HAS_SENT : HAS_RECEIVED);
	if (what & SENDS) {
		note->messages.asked_ns = note->messages.sent_ns = now;
		note->messages.asked_by = connection;
	}
	if (side == EITHER)
		note_pair(note, what, file);
	else
		use_channel(note, channel_of(file), what & SENDS ? REQUEST_SENT : ANSWER_RECEIVED);
}

/* The current task has connected to a server, which may not have accepted it yet, or may speak first. Otherwise it could not, or to none
 * that is known. Verified once. */
__noinline int note_met(struct task_note *note, u64 fd, u32 is_connected)
{
	struct file *file = (struct file *)current_file(fd);
	u64 connection = file && is_connected && side_of(file) == CLIENT ? connection_at((u64)file, CLIENT) : 0;

	if (!note || !file)
		return 0;
	note->messages.sent_ns = bpf_ktime_get_ns();
	use_channel(note, channel_of(file), connection ? CONNECTED : CLOSED);
	if (!connection)
		return 0;
	note->messages.met_by = connection;
	note->messages.met_ns = note->messages.sent_ns;
	note_exchange(BPF_CORE_READ(file, f_inode, i_ino), connection, HAS_CONNECTED);
	return 0;
}

/* The current task is about to close a file. A server was asked to. Verified once. */
__noinline int note_closed(struct task_note *note, u64 file)
{
	if (!note || !file)
		return 0;
	if (use_channel(note, channel_of((struct file *)file), CLOSED) & OWED)
		note->messages.is_left = 1;
	return 0;
}

/* A call that sends, receives or connects has returned. */
static __always_inline void note_message(struct task_note *note, u32 what, u64 fd, long result)
{
	struct file *file;
	u32 side;
	u64 now;

	if (what & CLOSES) {
		note_met(note, fd, !result || result == -EINPROGRESS);
		return;
	}
	/* At the end of what it receives there are no more answers. */
	if ((what & SENDS) ? result <= 0 : result < 0)
		return;
	file = (struct file *)current_file(fd);
	side = file ? side_of(file) : NO_SIDE;
	if (side == NO_SIDE)
		return;
	if (side & OF_DATAGRAMS) {
		note_datagrams(note, (u64)file, what, result);
		return;
	}
	now = bpf_ktime_get_ns();
	if (side == SERVER)
		note_served(note, what, result, file, now);
	else
		note_asked(note, what, side, result, file, now);
}

/* What a task's note has of message queues, of System V and of POSIX: a client asks by one, and waits for the answer in
 * another one. */
#pragma once

#include "bpf.h"

enum queue_role {
	UNKNOWN_ROLE = 0,
	ASKS = 1,		/* the first thing that it did was to send something */
	SERVES = 2,		/* it received something first, or before the recording */
};

struct queue_note {
	u64 asked;		/* the queue that it sent a request to, and received nothing since; 0: none */
	u64 asked_ns;
	u64 received;		/* the queue that it received something from last, */
	u64 received_ns;	/* and when; 0: never */
	u32 role;
	u32 unused;
};

static __always_inline void queue_sent(struct queue_note *note, u64 queue, int is_young, u64 now)
{
	if (note->role == UNKNOWN_ROLE)
		note->role = is_young ? ASKS : SERVES;
	if (note->role != ASKS)
		return;
	note->asked = queue;
	note->asked_ns = now;
}

static __always_inline void queue_received(struct queue_note *note, u64 queue, u64 now)
{
	if (note->role == UNKNOWN_ROLE)
		note->role = SERVES;
	note->asked = 0;
	note->received = queue;
	note->received_ns = now;
}

/* Whether what a task sends to a client answers the client's request: it received something from the queue by which the
 * client asked, since the client got its last answer. */
static __always_inline int answers_by_queue(struct queue_note *asking, struct queue_note *sender)
{
	return asking->asked && sender->received == asking->asked && sender->received_ns >= asking->received_ns;
}

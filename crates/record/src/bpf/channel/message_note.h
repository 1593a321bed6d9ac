/* What a task's note has of the messages that it sent and received: as a client, and as a server. */
#pragma once

#include "bpf.h"
#include "channel/note.h"
#include "channel/queue_note.h"

/* Pipes and socket pairs of which a task knows that it asked by them. */
#define ASKED_PAIRS 4

struct message_note {
	u32 asked_pairs;	/* how often it sent something through a pipe or socket pair, and received nothing since */
	u32 answers;		/* it has answered a client: others may wait for it */
	u32 is_left;		/* its client has gone, and it received nothing since: it gives back what that client had */
	u32 unanswered;		/* requests by datagrams */
	u64 asked_ns;		/* its last request */
	u64 asked_by;		/* the connection of that: `connection_of`; 0: none */
	u64 met_by;		/* the connection that it made last */
	u64 met_ns;		/* when it was connected */
	u64 sent_ns;		/* the end of its last call that sent something */
	u64 pairs[ASKED_PAIRS];	/* the last of these: `other_end_of` */
	u64 owed_ns;		/* the last request that it received */
	u64 owed_on;		/* the channel of that; 0: it has waited for a message since */
	u64 unasked;		/* the channel on which it sent something before it received anything */
	u64 datagram_ns;	/* its first request by datagrams, or the last answer since */
	u32 asked_port;		/* the port that it sent those from */
	u32 asked_to;		/* the port that it sent them to */
	struct channel_note channels;
	struct queue_note queues;
};

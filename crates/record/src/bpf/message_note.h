/* What a task's note has of the messages that it sent and received: as a client, and as a server. */
#pragma once

#include "bpf.h"

/* Pipes and socket pairs of which a task knows that it asked by them. */
#define ASKED_PAIRS 4

struct message_note {
	u32 asked_pairs;	/* how often it sent something through a pipe or socket pair, and received nothing since */
	u32 answers;		/* it has answered a client: others may wait for it */
	u32 is_left;		/* its client has gone, and it received nothing since: it gives back what that client had */
	u32 unanswered;		/* requests by datagrams */
	u64 asked;		/* client sockets on which it sent a request and received nothing since: bits, by descriptor */
	u64 answered;		/* those on which it received something since */
	u64 asked_ns;		/* its last request */
	u64 asked_by;		/* the connection of that: `connection_at`; 0: none */
	u64 met;		/* client sockets that it has connected, and through which nothing came or went since: bits, by descriptor */
	u64 met_by;		/* the connection of the last one */
	u64 met_ns;		/* when it was connected */
	u64 sent_ns;		/* the end of its last call that sent something */
	u64 pairs[ASKED_PAIRS];	/* the last of these: `other_end_of` */
	u64 owed;		/* accepted sockets on which it received a request and answered nothing since: bits, by descriptor */
	u64 owed_ns;		/* the last one */
	u64 unasked;		/* those on which it sent something before it received anything: bits, by descriptor */
	u64 datagram_ns;	/* its first request by datagrams, or the last answer since */
	u32 asked_port;		/* the port that it sent those from */
	u32 asked_to;		/* the port that it sent them to */
};

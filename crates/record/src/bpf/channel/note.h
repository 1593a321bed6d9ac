/* What a task's note has of the channels by which it exchanges messages: of each, by the kernel's object, what it waits
 * for or owes there. A descriptor is no name of a channel: it is used again, and two may be of one. */
#pragma once

#include "bpf.h"

/* Of one task. Those beyond are in `channels_beyond`. */
#define CHANNELS 8

enum use_of_channel {
	ASKED = 1,		/* it sent a request, and received nothing since */
	ANSWERED = 2,		/* it received something since */
	MET = 4,		/* it connected, and sent and received nothing since */
	OWED = 8,		/* it received a request, and answered nothing since */
};

enum channel_event {
	REQUEST_SENT = 0,
	ANSWER_RECEIVED = 1,
	CONNECTED = 2,
	REQUEST_RECEIVED = 3,
	ANSWER_SENT = 4,
	CLOSED = 5,
};

struct channel_note {
	u64 channel[CHANNELS];
	u32 uses[CHANNELS];	/* 0: free */
	u32 beyond;		/* how many more are used */
	/* How many have that use. */
	u32 asked;
	u32 answered;
	u32 met;
	u32 owed;
	u32 unused;
};

/* A place for a channel that is used by one task. */
struct one_use {
	u32 tid;
	u32 uses;	/* 0: free */
};

static __always_inline u32 uses_after(u32 before, u32 event)
{
	switch (event) {
	case REQUEST_SENT:
		return (before & ~(ANSWERED | MET)) | ASKED;
	case ANSWER_RECEIVED:
		return before & ASKED ? (before & ~(ASKED | MET)) | ANSWERED : before & ~MET;
	case CONNECTED:
		return MET;
	case REQUEST_RECEIVED:
		return before | OWED;
	case ANSWER_SENT:
		return before & ~OWED;
	default:
		return 0;
	}
}

static __always_inline int is_any_channel(struct channel_note *note)
{
	return note->asked || note->answered || note->met || note->owed;
}

/* The entry of a channel, else one that is free; CHANNELS: neither. */
static __always_inline u32 entry_of_channel(struct channel_note *note, u64 channel)
{
	u32 at, entry = CHANNELS;

	for (at = 0; at < CHANNELS; at++) {
		if (!note->uses[at])
			entry = at;
		else if (note->channel[at] == channel)
			return at;
	}
	return entry;
}

static __always_inline u32 uses_at(struct channel_note *note, u32 entry, u64 channel)
{
	u32 at = entry & (CHANNELS - 1);

	return entry < CHANNELS && note->channel[at] == channel ? note->uses[at] : 0;
}

static __always_inline void set_uses_at(struct channel_note *note, u32 entry, u64 channel, u32 uses)
{
	u32 at = entry & (CHANNELS - 1);

	note->channel[at] = channel;
	note->uses[at] = uses;
}

static __always_inline void count_uses(struct channel_note *note, u32 before, u32 after)
{
	note->asked += (after & ASKED) / ASKED - (before & ASKED) / ASKED;
	note->answered += (after & ANSWERED) / ANSWERED - (before & ANSWERED) / ANSWERED;
	note->met += (after & MET) / MET - (before & MET) / MET;
	note->owed += (after & OWED) / OWED - (before & OWED) / OWED;
}

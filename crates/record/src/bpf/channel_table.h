/* Channels that the current task uses, and those for which its note has no place. */
#pragma once

#include "bpf.h"
#include "channel_note.h"
#include "connection.h"
#include "task.h"

#define CHANNELS_BEYOND 8192

struct channel_of_task {
	u64 channel;
	u64 began_ns;		/* of the task: thread ids are used again */
	u32 tid;
	u32 unused;
};

/* A task uses more than a few channels at a time where it has asked, or serves, that many. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CHANNELS_BEYOND);
	__type(key, struct channel_of_task);
	__type(value, u32);
} channels_beyond SEC(".maps");

/* Returns the channel's uses before that. */
static __noinline u32 use_beyond(struct channel_note *note, u64 channel, u32 event)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct channel_of_task key = {.channel = channel, .began_ns = task->start_time, .tid = task->pid};
	u32 *known, before, after;

	if (!note)
		return 0;
	known = bpf_map_lookup_elem(&channels_beyond, &key);
	before = known ? *known : 0;
	after = uses_after(before, event);
	if (!after && known) {
		bpf_map_delete_elem(&channels_beyond, &key);
		note->beyond--;
	} else if (known) {
		*known = after;
	} else if (after && !bpf_map_update_elem(&channels_beyond, &key, &after, BPF_ANY)) {
		note->beyond++;
	} else {
		return 0;
	}
	count_uses(note, before, after);
	return before;
}

/* The current task did that with a channel. Returns the channel's uses before it. Verified once. */
__noinline int use_channel(struct task_note *note, u64 channel, u32 event)
{
	struct channel_note *channels;
	u32 entry, before, after;

	if (!note || !channel)
		return 0;
	channels = &note->messages.channels;
	entry = entry_of_channel(channels, channel);
	before = uses_at(channels, entry, channel);
	if (!before && (entry == CHANNELS || channels->beyond))
		return use_beyond(channels, channel, event);
	after = uses_after(before, event);
	set_uses_at(channels, entry, channel, after);
	count_uses(channels, before, after);
	return before;
}

/* The channel of a socket, by its address; 0: it is none. */
static __always_inline u64 channel_of(struct file *file)
{
	struct socket *socket;

	if ((BPF_CORE_READ(file, f_inode, i_mode) & FILE_KIND) != SOCKET)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	return (u64)BPF_CORE_READ(socket, sk);
}

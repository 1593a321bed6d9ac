/* Channels that the current task uses, and those for which its note has no place. */
#pragma once

#include "bpf.h"
#include "channel/note.h"
#include "task/task.h"

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

/* How the current task uses a channel of which it is the server. */
static __always_inline u32 uses_of_channel(struct channel_note *note, u64 channel)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct channel_of_task key = {.channel = channel, .began_ns = task->start_time, .tid = task->pid};
	u32 uses = uses_at(note, entry_of_channel(note, channel), channel), *beyond;

	if (uses || !note->beyond)
		return uses;
	beyond = bpf_map_lookup_elem(&channels_beyond, &key);
	return beyond ? *beyond : 0;
}

/* Whether the current task has this channel where only one task has a place. */
static __always_inline int is_own(struct one_use *one)
{
	return one->uses && one->tid == (u32)bpf_get_current_pid_tgid();
}

static __always_inline u32 use_one(struct channel_note *note, struct one_use *one, u32 event)
{
	u32 before = one->uses, after = uses_after(before, event);

	one->tid = bpf_get_current_pid_tgid();
	one->uses = after;
	count_uses(note, before, after);
	return before;
}

/* The current task did that with a channel, which may have a place for `one` task elsewhere: what the caller looked up
 * anyhow. Returns the channel's uses before it. Verified once. */
__noinline int use_channel(struct task_note *note, u64 channel, u32 event, struct one_use *one)
{
	struct channel_note *channels;
	u32 entry, before, after;

	if (!note || !channel)
		return 0;
	channels = &note->messages.channels;
	entry = entry_of_channel(channels, channel);
	before = uses_at(channels, entry, channel);
	if (!before && one && is_own(one))
		return use_one(channels, one, event);
	if (!before && (entry == CHANNELS || channels->beyond))
		return one && !one->uses && !channels->beyond ? use_one(channels, one, event) : use_beyond(channels, channel,
				event);
	after = uses_after(before, event);
	set_uses_at(channels, entry, channel, after);
	count_uses(channels, before, after);
	return before;
}

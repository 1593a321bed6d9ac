/* The sums of what was used: a table for each CPU, and a map for what finds no place there. */
#pragma once

#include "address_hash.h"
#include "bpf.h"
#include "event.h"
#include "ring.h"

#define BPF_MAP_TYPE_PERCPU_HASH 5
#define USAGES 4096
/* Places of each CPU, as a power of two. */
#define USAGE_BITS 9

/* What was used. Of devices: READ and beyond. */
enum use {
	CPU_TIME = 0,
	READ_USE = 1,
	WRITE_USE = 2,
	OTHER_USE = 3,
	METADATA_USE = 4,
	JOURNAL_USE = 5,	/* target: its file system */
	INODE_USE = 6,		/* no target */
};

enum place_state {
	FREE = 0,
	CLAIMED = 1,	/* its key is being written */
	TAKEN = 2,
};

struct usage_key {
	u64 cgroup;	/* number of the bio's cgroup; 0: unknown, or none */
	u32 target;	/* device, file system or CPU */
	u32 tid;	/* of a CPU, journal or inode: the process; 0: unknown */
	u32 use;
	u32 state;	/* of the place; in the map 0 */
};

struct usage {
	u64 count;
	u64 bytes;
	u64 busy_ns;
	u64 throttled;	/* requests of the count that a limit of their cgroup delayed */
};

struct usage_place {
	struct usage_key key;
	struct usage sum;
	u64 unused;
};

/* A hash map costs several times as much for each request. Mappable, and thus each place in one cache line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << USAGE_BITS);
	__type(key, u32);
	__type(value, struct usage_place);
} usage_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, USAGES);
	__type(key, struct usage_key);
	__type(value, struct usage);
} usages SEC(".maps");

static __always_inline void add_to_sum(struct usage *sum, struct usage *more)
{
	sum->count += more->count;
	sum->bytes += more->bytes;
	sum->busy_ns += more->busy_ns;
	sum->throttled += more->throttled;
}

static __always_inline u32 place_of_usage(struct usage_key *key)
{
	u64 mixed = (key->cgroup << 3 | key->use) * 0x9e3779b97f4a7c15ull;

	mixed = (mixed ^ ((u64)key->tid << 32 | key->target)) * 0xff51afd7ed558ccdull;
	return mixed >> (64 - USAGE_BITS);
}

static __always_inline int is_place_of(struct usage_place *place, struct usage_key *key)
{
	return place->key.state == TAKEN && place->key.tid == key->tid && place->key.target == key->target &&
	       place->key.use == key->use && place->key.cgroup == key->cgroup;
}

/* An interrupt may come while the key is written: it finds no place for itself there. */
static __always_inline int takes_place(struct usage_place *place, struct usage_key *key, struct usage *more)
{
	if (place->key.state != FREE || __sync_val_compare_and_swap(&place->key.state, FREE, CLAIMED) != FREE)
		return 0;
	place->key.cgroup = key->cgroup;
	place->key.target = key->target;
	place->key.tid = key->tid;
	place->key.use = key->use;
	place->sum = *more;
	*(volatile u32 *)&place->key.state = TAKEN;
	return 1;
}

/* Before Linux 6.2 the keys and values of a map are on the stack. */
__noinline int add_to_map(struct usage_key *key, struct usage *more)
{
	struct usage_key own = {};
	struct usage *sum, first;

	if (!key || !more)
		return 0;
	own.cgroup = key->cgroup;
	own.target = key->target;
	own.tid = key->tid;
	own.use = key->use;
	first = *more;
	sum = bpf_map_lookup_elem(&usages, &own);
	if (sum)
		add_to_sum(sum, &first);
	else if (bpf_map_update_elem(&usages, &own, &first, BPF_ANY))
		count_loss(USAGE_SUMS);
	return 0;
}

/* Adds to the sum of that key, whose state is 0. */
static __always_inline int add_usage_here(struct usage_key *key, struct usage *more)
{
	struct usage_place *place;
	u32 first, way, at;

	first = bpf_get_smp_processor_id() << USAGE_BITS | place_of_usage(key);
#pragma unroll
	for (way = 0; way < WAYS; way++) {
		at = first ^ way;
		place = bpf_map_lookup_elem(&usage_places, &at);
		if (!place)
			break;
		if (is_place_of(place, key)) {
			add_to_sum(&place->sum, more);
			return 0;
		}
		if (takes_place(place, key, more))
			return 0;
	}
	return add_to_map(key, more);
}

/* Verified once, for callers to which a call costs little. */
__noinline int add_usage(struct usage_key *key, struct usage *more)
{
	return key && more ? add_usage_here(key, more) : 0;
}

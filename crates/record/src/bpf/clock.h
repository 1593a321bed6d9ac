/* What costs less than the kernel's clock: its ticks, and the clock's last readings. */
#pragma once

#include "bpf.h"
#include "settings.h"

/* Of CONFIG_HZ=100. */
#define LONGEST_TICK_NS 10000000ull
/* Operations that begin on a CPU within a tick, each of which reads the clock; of more, one of so many does. */
#define TIMED_OPERATIONS 64
#define UNTIMED_OPERATIONS 16

static __always_inline u32 ticks(void)
{
	return bpf_jiffies64();
}

/* Whether what began in that tick may have lasted for the threshold. The CPU that counts ticks may be late by a few:
 * half of the threshold is for that. */
static __always_inline int may_be_slow(u32 began)
{
	return (u32)(ticks() - began + 1) * LONGEST_TICK_NS >= settings.slow_ns / 2;
}

/* What a CPU last knew of the time. */
struct reading {
	u64 since_ns;	/* the first reading within the tick */
	u64 last_ns;
	u32 tick;
	u16 begun;	/* operations, within the tick */
	u16 untimed;	/* operations since the last reading */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct reading);
} readings SEC(".maps");

static __always_inline struct reading *last_reading(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&readings, &zero);
}

static __always_inline u64 read_clock(struct reading *reading, u32 tick)
{
	u64 now = bpf_ktime_get_ns();

	if (reading->tick != tick) {
		reading->tick = tick;
		reading->since_ns = now;
		reading->begun = 0;
	}
	reading->last_ns = now;
	reading->untimed = 0;
	return now;
}

/* The time now, of a request that got its place at that time, by the kernel's clock. Between them its task ran on the
 * CPU, mostly for microseconds: within one tick, that time stands for both. */
static __always_inline u64 inserted_at(u64 made)
{
	struct reading *reading = last_reading();
	u32 tick = ticks();

	if (!reading)
		return bpf_ktime_get_ns();
	if (reading->tick != tick || made < reading->since_ns)
		return read_clock(reading, tick);
	reading->last_ns = made;
	reading->untimed = 0;
	return made;
}

/* The time now, of an operation that begins. Of very many, the last reading within the tick stands for it: the few
 * microseconds before it are nothing beside the threshold. */
static __always_inline u64 begun_at(void)
{
	struct reading *reading = last_reading();
	u32 tick = ticks();

	if (!reading)
		return bpf_ktime_get_ns();
	if (reading->tick != tick || reading->begun < TIMED_OPERATIONS || reading->untimed >= UNTIMED_OPERATIONS) {
		u64 now = read_clock(reading, tick);

		reading->begun++;
		return now;
	}
	reading->untimed++;
	return reading->last_ns;
}

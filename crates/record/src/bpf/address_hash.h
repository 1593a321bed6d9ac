/* Where a table keeps what the kernel has in flight, by address. */
#pragma once

#include "bpf.h"

/* Programs that calculate with an address. */
enum addresser {
	OF_START = 0,
	OF_INSERT = 1,
	OF_ISSUE = 2,
	OF_MERGE = 3,
	OF_COMPLETE = 4,
	OF_SUBMIT = 5,
	OF_REQUEUE = 6,
	OF_FAULT = 7,
	ADDRESSERS = 8,
};

struct addresses {
	u64 address[ADDRESSERS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct addresses);
} addresses SEC(".maps");

/* The verifier allows no arithmetic on a pointer of the kernel; what is read from a map is a number. A function that is
 * not static gets numbers, too, but a call costs more than all else that many programs do. The kernel does not let a
 * program interrupt itself (before Linux 6.1, an interrupt between the two lines would mix up two requests). */
static __always_inline u64 address_of(const void *pointer, enum addresser program)
{
	u32 zero = 0;
	struct addresses *mine = bpf_map_lookup_elem(&addresses, &zero);

	if (!mine)
		return 0;
	*(volatile u64 *)&mine->address[program] = (u64)pointer;
	return *(volatile u64 *)&mine->address[program];
}

/* Places that one address may have: those of a group. As a power of two, and their number. */
#define WAY_BITS 2
#define WAYS (1 << WAY_BITS)
/* Places in a row, as a power of two: a page of slots. */
#define ROW_BITS 6

/* The first place, in a table of 1 << `bits`. What the kernel allocates together lies 1 << `apart` bytes apart or more,
 * and has neighbouring groups, one for each: all that is in flight takes few pages, whose addresses the CPU still knows
 * at its end. Each row begins anywhere, so that a group overflows as rarely as if all places were random. */
static __always_inline u32 first_way_of(u64 address, u32 apart, u32 bits)
{
	u32 shift = apart - WAY_BITS;
	u32 row = (u32)(address >> (shift + ROW_BITS)) * 0x9e3779b1u >> (32 - (bits - ROW_BITS));

	return row << ROW_BITS | (address >> shift & ((1 << ROW_BITS) - 1));
}

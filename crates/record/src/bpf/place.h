/* Where a table keeps what the kernel has in flight, by address. */
#pragma once

/* Places that one address may have: those of a group. As a power of two, and their number. */
#define WAY_BITS 2
#define WAYS (1 << WAY_BITS)
/* Places in a row, as a power of two: a page of slots. */
#define ROW_BITS 6

/* The first place, in a table of 1 << `bits`. What the kernel allocates together lies 1 << `apart` bytes apart or more, and has
 * neighbouring groups, one for each: all that is in flight takes few pages, whose addresses the CPU still knows at its end. Each
 * row begins anywhere, so that a group overflows as rarely as if all places were random. */
static __always_inline u32 place_of(u64 address, u32 apart, u32 bits)
{
	u32 shift = apart - WAY_BITS;
	u32 row = (u32)(address >> (shift + ROW_BITS)) * 0x9e3779b1u >> (32 - (bits - ROW_BITS));

	return row << ROW_BITS | (address >> shift & ((1 << ROW_BITS) - 1));
}

/* The kernel's ticks: far cheaper than its clock, and enough to see that almost nothing is slow. */
#pragma once

/* Of CONFIG_HZ=100. */
#define LONGEST_TICK_NS 10000000ull

static __always_inline u32 ticks(void)
{
	return bpf_jiffies64();
}

/* Whether what began in that tick may have lasted for the threshold. The CPU that counts ticks may be late by a few: half of the
 * threshold is for that. */
static __always_inline int may_be_slow(u32 began)
{
	return (u32)(ticks() - began + 1) * LONGEST_TICK_NS >= settings.slow_ns / 2;
}

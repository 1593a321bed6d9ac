// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Empty programs on the tracepoints that a load of block requests hits most: the lower bound of the cost of tracing. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>

#define NOTHING(tracepoint) \
	SEC("tp_btf/" #tracepoint) \
	int at_##tracepoint(void *ctx) \
	{ \
		return 0; \
	}

NOTHING(sched_switch)
NOTHING(sched_waking)
NOTHING(sys_enter)
NOTHING(sys_exit)
NOTHING(contention_begin)
NOTHING(contention_end)
NOTHING(block_rq_insert)
NOTHING(block_rq_complete)

char LICENSE[] SEC("license") = "Dual MIT/GPL";

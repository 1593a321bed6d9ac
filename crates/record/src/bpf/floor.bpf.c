// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Programs that do nothing, on the tracepoints that a load of requests meets most: what tracing costs at least. */
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

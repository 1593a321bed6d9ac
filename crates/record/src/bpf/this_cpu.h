/* What a CPU did last. */
#pragma once

#include "bpf.h"
#include "event.h"

/* The request that this CPU completed last, and the task in whose context. */
struct on_cpu {
	u32 tid;
	u32 number;		/* of the request that it emitted last, with all requests recorded */
	struct request_note done;	/* key 0: being written */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct on_cpu);
} cpus SEC(".maps");

static __always_inline struct on_cpu *this_cpu(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/* Kernel work that the completion of a block request queued, and that request. */
#pragma once

#include "bpf.h"
#include "event.h"

#define WORKS 1024

/* Requests whose completion queued a work, by work. The worker that does it need not have been asleep. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WORKS);
	__type(key, u64);
	__type(value, struct request_note);
} works SEC(".maps");

/* 0: none. */
static __always_inline struct request_note *request_behind(u64 work)
{
	return work ? bpf_map_lookup_elem(&works, &work) : 0;
}

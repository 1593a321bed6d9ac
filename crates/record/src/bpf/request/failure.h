/* Requests that failed at the device: they timed out, or came back with an error, and were issued again or not.
 * Programs of requests that succeed only test for it. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "request/failed.h"
#include "request/table.h"

#define FAILING 1024
/* Requests that failed at once: a disk that is gone fails all of them. */
#define MOST_A_SECOND 1000
#define SECOND_NS 1000000000ull

/* By request; those that are issued again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FAILING);
	__type(key, u64);
	__type(value, struct failed);
} failing SEC(".maps");

struct failing_second {
	u64 since_ns;
	u64 count;
};

struct failing_second failing_second SEC(".data.failing") = {};

/* A failure after which the request is issued again. */
__noinline int note_failure(struct slot *slot, struct view *view)
{
	struct failed fresh = {}, *failed = 0;
	u64 key, issued;

	if (!slot || !view)
		return 0;
	key = view->key;
	/* What an earlier request at this address left counts no more. */
	if (slot->is_retried)
		failed = bpf_map_lookup_elem(&failing, &key);
	if (!failed) {
		issued = slot->issued_ns ? slot->issued_ns : view->issued_ns;
		if (issued < slot->inserted_ns || issued < slot->got_ns)
			issued = slot->inserted_ns ? slot->inserted_ns : slot->got_ns;
		fresh.first_issued_ns = issued;
		fresh.failures = add_failure(0, is_timed_out(view->rq_flags), 1);
		add_scsi(&fresh, key, slot->device);
		bpf_map_update_elem(&failing, &key, &fresh, BPF_ANY);
	} else {
		add_scsi(failed, key, slot->device);
		failed->failures = add_failure(failed->failures, is_timed_out(view->rq_flags), 1);
	}
	slot->is_retried = 1;
	/* Its last issue is the one that counts. */
	slot->issued_ns = 0;
	return 0;
}

/* Whether a request that failed and was not issued again is recorded. */
static __always_inline int is_among_first(u64 now)
{
	if (now - failing_second.since_ns >= SECOND_NS) {
		failing_second.since_ns = now;
		failing_second.count = 0;
	}
	return ++failing_second.count <= MOST_A_SECOND;
}

/* The failures of a request that completes. */
__noinline int describe_failures(struct request_note *note, struct view *view, u32 is_retried)
{
	struct failed failed = {}, *known = 0;
	u64 key;

	if (!note || !view)
		return 0;
	key = view->key;
	if (is_retried)
		known = bpf_map_lookup_elem(&failing, &key);
	if (known) {
		failed = *known;
		bpf_map_delete_elem(&failing, &key);
	}
	if (is_timed_out(view->rq_flags))
		failed.failures = add_failure(failed.failures, 1, 0);
	if (is_failure(view->status, view->flags)) {
		add_scsi(&failed, key, note->device);
		if (failed.failures || is_among_first(view->now_ns))
			failed.failures |= FAILED;
	}
	note->first_issued_ns = failed.first_issued_ns;
	note->scsi_result = failed.scsi_result;
	note->scsi_sense = failed.scsi_sense;
	note->failures = failed.failures;
	return 0;
}

/* Requests that failed at the device: they timed out, or came back with an error, and were issued again or not. Programs of requests that
 * succeed only test for it. */
#pragma once

#define FAILING 1024
#define NOT_SUPPORTED 1
#define TRY_AGAIN 12
/* REQ_OP_DRV_IN and beyond. */
#define COMMANDS 32
/* Requests that failed at once: a disk that is gone fails all of them. */
#define MOST_A_SECOND 1000
#define SECOND_NS 1000000000ull

struct failed {
	u64 first_issued_ns;
	u32 failures;
	u32 scsi_result;
	u32 scsi_sense;
	u32 unused;
};

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

/* The kernel clears the flag when it requeues a request, after the tracepoint. */
static __always_inline int is_timed_out(struct view *view)
{
	return (view->rq_flags & 1u << settings.timed_out_bit) != 0;
}

/* One more failure among those of a request. */
static __always_inline u32 add_failure(u32 failures, int is_timeout, int is_retry)
{
	if (is_timeout && (failures & TIMEOUTS) != TIMEOUTS)
		failures += 0x100;
	if (is_retry && (failures & RETRIES) != RETRIES)
		failures++;
	return failures;
}

/* Disks of the SCSI driver (Documentation/admin-guide/devices.txt), also of SATA and USB, and drives for discs. */
static __always_inline int is_scsi(u32 device)
{
	u32 major = device >> 20;

	return major == 8 || major == 11 || (major >= 65 && major <= 71) || (major >= 128 && major <= 135);
}

/* What the driver knows of the request's last failure: its command follows the request in memory. The driver clears the result of some
 * commands before it requeues them, and the sense data when it issues them. */
static __always_inline void add_scsi(struct failed *failed, u64 key, u32 device)
{
	u64 command = key + bpf_core_type_size(struct request), sense = 0, first = 0, second = 0;
	u32 result = 0, format;

	failed->scsi_result = 0;
	failed->scsi_sense = 0;
	if (!settings.scsi_result || !settings.scsi_sense || !is_scsi(device))
		return;
	bpf_probe_read_kernel(&result, sizeof(result), (void *)(command + settings.scsi_result));
	failed->scsi_result = (result >> 16 & 0xff) << 8 | (result & 0xff);
	bpf_probe_read_kernel(&sense, sizeof(sense), (void *)(command + settings.scsi_sense));
	if (!sense)
		return;
	/* Numbers, big-endian: of an array the compiler would calculate with pointers, which the verifier refuses. */
	bpf_probe_read_kernel(&first, sizeof(first), (void *)sense);
	bpf_probe_read_kernel(&second, sizeof(second), (void *)(sense + 8));
	first = __builtin_bswap64(first);
	second = __builtin_bswap64(second);
	format = first >> 56 & 0x7f;
	/* Descriptors have key, code and qualifier in bytes 1 to 3, the fixed format in 2, 12 and 13. */
	if (format == 0x72 || format == 0x73)
		failed->scsi_sense = first >> 32 & 0xfffff;
	else if (format == 0x70 || format == 0x71)
		failed->scsi_sense = (first >> 40 & 0xf) << 16 | (second >> 16 & 0xffff);
}

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
		fresh.failures = add_failure(0, is_timed_out(view), 1);
		add_scsi(&fresh, key, slot->device);
		bpf_map_update_elem(&failing, &key, &fresh, BPF_ANY);
	} else {
		add_scsi(failed, key, slot->device);
		failed->failures = add_failure(failed->failures, is_timed_out(view), 1);
	}
	slot->is_retried = 1;
	/* Its last issue is the one that counts. */
	slot->issued_ns = 0;
	return 0;
}

/* Whether a status is that of a failure of the device, and not of a command or of what it does not support. */
static __always_inline int is_failure(struct view *view)
{
	return view->status && view->status != NOT_SUPPORTED && view->status != TRY_AGAIN && (view->flags & 0xff) < COMMANDS;
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
	if (is_timed_out(view))
		failed.failures = add_failure(failed.failures, 1, 0);
	if (is_failure(view)) {
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

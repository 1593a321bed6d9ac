/* What is known of the failures of one request. */
#pragma once

#include "bpf.h"
#include "driver.h"
#include "event.h"
#include "settings.h"

/* blk_status_t. */
#define NOT_SUPPORTED 1
#define TRY_AGAIN 12
/* REQ_OP_DRV_IN and beyond. */
#define COMMANDS 32
/* SDEV_OFFLINE and SDEV_TRANSPORT_OFFLINE (Linux 3.5 to 7.3). */
#define SCSI_OFFLINE 6
#define SCSI_TRANSPORT_OFFLINE 7

struct failed {
	u64 first_issued_ns;
	u32 failures;
	u32 scsi_result;
	u32 scsi_sense;
	u32 unused;
};

/* The kernel clears the flag when it requeues a request, after the tracepoint. */
static __always_inline int is_timed_out(u32 rq_flags)
{
	return (rq_flags & 1u << settings.timed_out_bit) != 0;
}

/* Whether a status is that of a failure of the device, and not of a command or of what it does not support. */
static __always_inline int is_failure(u32 status, u32 flags)
{
	return status && status != NOT_SUPPORTED && status != TRY_AGAIN && (flags & 0xff) < COMMANDS;
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

/* The device's state (enum scsi_device_state) if it is offline: error handling gave it up, or its transport did. 0: it
 * is not. */
static __always_inline u32 offline(u64 command)
{
	u64 device = 0;
	u32 state = 0;

	/* A command may begin with its device. */
	if (!drivers.scsi_state)
		return 0;
	bpf_probe_read_kernel(&device, sizeof(device), (void *)(command + drivers.scsi_device));
	bpf_probe_read_kernel(&state, sizeof(state), (void *)(device + drivers.scsi_state));
	return state == SCSI_OFFLINE || state == SCSI_TRANSPORT_OFFLINE ? state : 0;
}

/* What the driver knows of the request's last failure: its command follows the request in memory. The driver clears the
 * result of some commands before it requeues them, and the sense data when it issues them. */
static __always_inline void add_scsi(struct failed *failed, u64 key, u32 device)
{
	u64 command = key + bpf_core_type_size(struct request), sense = 0, first = 0, second = 0;
	u32 result = 0, format;

	failed->scsi_result = 0;
	failed->scsi_sense = 0;
	if (!drivers.scsi_result || !drivers.scsi_sense || !is_scsi(device))
		return;
	bpf_probe_read_kernel(&result, sizeof(result), (void *)(command + drivers.scsi_result));
	failed->scsi_result = offline(command) << 16 | (result >> 16 & 0xff) << 8 | (result & 0xff);
	bpf_probe_read_kernel(&sense, sizeof(sense), (void *)(command + drivers.scsi_sense));
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

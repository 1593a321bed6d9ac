/* Histograms of the times of completed requests, by device and class. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "model.h"
#include "request/table.h"
#include "request/traffic.h"
#include "ring.h"

#define HISTOGRAMS 256

struct histogram {
	u64 count;
	u64 bytes;
	u32 queue[BUCKETS];
	u32 device[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HISTOGRAMS);
	__type(key, u32);
	__type(value, struct histogram);
} histograms SEC(".maps");

u32 next_histogram SEC(".data") = 0;

/* model::stall::request_bucket */
static __always_inline u32 bucket_of(u64 ns)
{
	u32 shift = 0;
	u64 rest = ns >> BUCKET_BITS;
	u32 index;

	if (!rest)
		return ns;
	if (rest >> 32)
		return BUCKETS - 1;
	if (rest >> 16)
		shift += 16;
	if (rest >> shift >> 8)
		shift += 8;
	if (rest >> shift >> 4)
		shift += 4;
	if (rest >> shift >> 2)
		shift += 2;
	if (rest >> shift >> 1)
		shift += 1;
	index = (shift << BUCKET_BITS) + (u32)(ns >> shift);
	return index < BUCKETS ? index : BUCKETS - 1;
}

static __always_inline void add_to_histogram(struct device *device, struct request_note *note)
{
	u32 at, bucket, class = class_of(note->flags);
	struct histogram *histogram;

	if (class >= CLASSES)
		return;
	at = device->histogram[class];
	if (!at) {
		at = __sync_fetch_and_add(&next_histogram, 1) + 1;
		if (__sync_val_compare_and_swap(&device->histogram[class], 0, at))
			at = device->histogram[class];
	}
	at--;
	histogram = bpf_map_lookup_elem(&histograms, &at);
	if (!histogram) {
		count_loss(DEVICES_BEYOND);
		return;
	}
	histogram->count++;
	histogram->bytes += note->bytes;
	if (!note->issued_ns)
		return;
	if (note->inserted_ns && note->inserted_ns <= note->issued_ns) {
		bucket = bucket_of(note->issued_ns - note->inserted_ns);
		if (bucket < BUCKETS)
			histogram->queue[bucket]++;
	}
	bucket = bucket_of((note->data_ns ? note->data_ns : note->completed_ns) - note->issued_ns);
	if (bucket < BUCKETS)
		histogram->device[bucket]++;
}

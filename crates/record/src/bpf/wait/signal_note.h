/* What a task's note has of the kernel's signals: spans that it is in, and the mark of its next wait. */
#pragma once

#include "bpf.h"
#include "event.h"
#include "model.h"

struct signal_note {
	u32 mark;		/* announces the next wait */
	u32 spans;		/* bits of the spans that the task is in */
	u64 mark_ns;		/* if the wait begins soon after */
	struct detail detail;	/* of the mark, or of that of the wait */
	u64 span_ns[PAIRED];
};

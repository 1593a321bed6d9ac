// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The core of the tracer for kernels before 5.17: system calls, waits with stacks and wakers, block requests. The programs of
 * `stall.bpf.c` need storage of tasks, typed pointers to the running task, its registers, atomic exchange, and functions that
 * take pointers. The events are the same. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "event.h"
#include "settings.h"
#include "ring.h"
#include "task_state.h"
#include "early_task.h"
#include "early_request.h"
#include "completing.h"
#include "early_work.h"
#include "early_wait.h"
#include "early_call.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

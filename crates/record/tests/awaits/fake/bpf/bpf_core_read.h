/* In place of libbpf's: structures are laid out as kernel.h has them, and have all fields. As in the kernel, what
 * cannot be read is 0. */
#pragma once

#define READ_1(from, a) ({ __typeof__(&*(from)) from_ = (from); from_ ? from_->a : (__typeof__(from_->a)){0}; })
#define READ_2(from, a, b) READ_1(READ_1(from, a), b)
#define READ_3(from, a, b, c) READ_1(READ_2(from, a, b), c)
#define READ_4(from, a, b, c, d) READ_1(READ_3(from, a, b, c), d)
#define READ_N(from, a, b, c, d, name, ...) name
#define BPF_CORE_READ(from, ...) READ_N(from, __VA_ARGS__, READ_4, READ_3, READ_2, READ_1)(from, __VA_ARGS__)
#define BPF_CORE_READ_BITFIELD(from, field) ((from)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(from, field) ((from)->field)
#define bpf_core_field_exists(...) 1
#define bpf_core_field_offset(type, field) __builtin_offsetof(type, field)
#define bpf_core_type_exists(type) 1
#define bpf_core_type_size(type) sizeof(type)

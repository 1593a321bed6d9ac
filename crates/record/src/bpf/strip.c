// SPDX-License-Identifier: MIT
/* Copies a BPF object without what only a debugger reads, by libbpf's own linker: strip INPUT OUTPUT NAMES. It also
 * removes types that occur twice. NAMES gets the names of its types, one on each line. */
#include <stdio.h>
#include <string.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

static int strip(const char *from, const char *to)
{
	struct bpf_linker *linker = bpf_linker__new(to, NULL);
	int error;

	if (!linker)
		return -1;
	error = bpf_linker__add_file(linker, from, NULL);
	if (!error)
		error = bpf_linker__finalize(linker);
	bpf_linker__free(linker);
	return error;
}

/* Only types that are looked for in the kernel: no functions and variables. */
static int write_names(const char *from, const char *to)
{
	struct btf *types = btf__parse(from, NULL);
	FILE *names = fopen(to, "w");
	const struct btf_type *type;
	unsigned int id;

	if (!types || !names)
		return -1;
	for (id = 1; id < btf__type_cnt(types); id++) {
		type = btf__type_by_id(types, id);
		if (btf_is_func(type) || btf_is_var(type) || btf_is_datasec(type) || !type->name_off)
			continue;
		fprintf(names, "%s\n", btf__name_by_offset(types, type->name_off));
	}
	btf__free(types);
	return fclose(names);
}

int main(int count, char **arguments)
{
	if (count != 4)
		return 2;
	if (strip(arguments[1], arguments[2]) || write_names(arguments[2], arguments[3])) {
		fprintf(stderr, "%s: cannot be stripped\n", arguments[1]);
		return 1;
	}
	return 0;
}

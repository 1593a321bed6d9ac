// SPDX-License-Identifier: MIT
/* Copies a BPF object without what only a debugger reads, by libbpf's own linker: strip INPUT OUTPUT. It also removes
 * types that occur twice. */
#include <stdio.h>
#include <string.h>
#include <bpf/libbpf.h>

int main(int count, char **arguments)
{
	struct bpf_linker *linker;
	int error;

	if (count != 3)
		return 2;
	linker = bpf_linker__new(arguments[2], NULL);
	if (!linker) {
		perror(arguments[2]);
		return 1;
	}
	error = bpf_linker__add_file(linker, arguments[1], NULL);
	if (!error)
		error = bpf_linker__finalize(linker);
	bpf_linker__free(linker);
	if (error)
		fprintf(stderr, "%s: %s\n", arguments[1], strerror(-error));
	return error ? 1 : 0;
}

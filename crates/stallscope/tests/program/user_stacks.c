/* One process holds a lock of a file while another one waits for it: the lines of hold() and want() are known to the
 * test. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int own, ready[2];

/* Until the parent sleeps in flock. */
static void await_victim(void)
{
	char path[64];
	long call;

	snprintf(path, sizeof(path), "/proc/%d/syscall", getppid());
	do {
		FILE *file = fopen(path, "r");

		call = -1;
		if (!file || fscanf(file, "%ld", &call) < 0)
			exit(1);
		fclose(file);
		usleep(10000);
	} while (call != SYS_flock);
}

/* The recorder reads the memory map of a program that is still there, at its next poll. */
static void stay(void)
{
	sleep(3);
}

__attribute__((noinline)) static int hold(const char *path)
{
	int file = open(path, O_RDWR);

	if (flock(file, LOCK_EX) || write(ready[1], "x", 1) != 1)
		return 1;
	await_victim();
	usleep(700000); /* its sleep */
	flock(file, LOCK_UN);
	stay();
	return close(file);
}

__attribute__((noinline)) static int want(void)
{
	char byte;

	if (read(ready[0], &byte, 1) != 1)
		return 1;
	if (flock(own, LOCK_EX)) /* the wait */
		return 1;
	return flock(own, LOCK_UN);
}

int main(int count, char **words)
{
	int failed;

	own = open(words[count - 1], O_RDWR | O_CREAT, 0600);
	if (own < 0 || pipe(ready))
		return 1;
	if (!fork())
		return hold(words[count - 1]);
	failed = want();
	wait(NULL);
	return failed;
}

/* Whom a task waits for, asked in user space with two fake tasks: one that waits, and one that wakes it. A line of
 * numbers on the standard input is a question, a line on the standard output its answer. */
#include "bpf.h"
/* The test sets them. */
#define const
#include "settings.h"
#undef const
#include "wait/awaits.h"
#include "channel/table.h"

int scanf(const char *format, ...);
int printf(const char *format, ...);
int fflush(void *file);

struct task_struct *running;
u64 now_ns = 1000;

/* --- Maps: few entries, in a list. --- */

#define ENTRIES 4096

static struct {
	void *map;
	char key[32];
	char value[256];
} entries[ENTRIES];

static int at_key(void *map, const void *key, u32 bytes)
{
	int at;

	for (at = 0; at < ENTRIES; at++)
		if (entries[at].map == map && (!key || !__builtin_memcmp(entries[at].key, key, bytes)))
			return at;
	return -1;
}

void *fake_lookup(void *map, const void *key, u32 bytes)
{
	int at = at_key(map, key, bytes);

	return at < 0 ? 0 : entries[at].value;
}

long fake_update(void *map, const void *key, u32 bytes, const void *value, u32 value_bytes)
{
	int at = at_key(map, key, bytes);

	if (at < 0)
		at = at_key(0, 0, 0);
	if (at < 0 || bytes > sizeof(entries[at].key) || value_bytes > sizeof(entries[at].value))
		return -1;
	entries[at].map = map;
	__builtin_memcpy(entries[at].key, key, bytes);
	__builtin_memcpy(entries[at].value, value, value_bytes);
	return 0;
}

long fake_delete(void *map, const void *key, u32 bytes)
{
	int at = at_key(map, key, bytes);

	if (at >= 0)
		entries[at].map = 0;
	return at < 0;
}

long fake_read(void *to, u32 bytes, const void *from)
{
	if ((u64)from < 4096) {
		__builtin_memset(to, 0, bytes);
		return -14;
	}
	__builtin_memcpy(to, from, bytes);
	return 0;
}

/* --- Tasks. --- */

enum kind_of_file { NO_FILE, REGULAR_FILE, PIPE, CLIENT_SOCKET, SERVER_SOCKET };

struct fake_task {
	struct task_struct task;
	struct task_note note;
	struct pt_regs registers;
	struct signal_struct signal;
	struct files_struct files;
	struct fdtable table;
	struct file file, *descriptors[4];
	struct inode inode;
	struct socket socket;
	struct unix_sock sock, peer;
};

static struct task_struct init = {.pid = 1, .tgid = 1};
static struct fake_task waiting, waking;

static struct fake_task *fake_of(struct task_struct *task)
{
	return task == &waiting.task ? &waiting : task == &waking.task ? &waking : 0;
}

void *fake_note(struct task_struct *task)
{
	return fake_of(task) ? &fake_of(task)->note : 0;
}

struct pt_regs *fake_registers(struct task_struct *task)
{
	return fake_of(task) ? &fake_of(task)->registers : 0;
}

#define DESCRIPTOR 3

static void open_file(struct fake_task *fake, u32 kind)
{
	static const u16 modes[] = {0, 0100000, FIFO, SOCKET, SOCKET};

	fake->inode.i_mode = modes[kind];
	fake->file.f_inode = &fake->inode;
	fake->file.private_data = &fake->socket;
	fake->socket.sk = &fake->sock.sk;
	fake->sock.sk.__sk_common.skc_family = AF_UNIX;
	fake->sock.sk.sk_type = SOCK_STREAM;
	fake->sock.peer = &fake->peer.sk;
	/* The socket of a server has the address that it listened at. */
	fake->sock.addr = kind == SERVER_SOCKET ? (struct unix_address *)fake : 0;
	fake->peer.addr = kind == CLIENT_SOCKET ? (struct unix_address *)fake : 0;
	fake->descriptors[DESCRIPTOR] = kind == NO_FILE ? 0 : &fake->file;
}

static void make(struct fake_task *fake, int tgid, int pid, u32 call, u32 kind)
{
	__builtin_memset(fake, 0, sizeof(*fake));
	fake->task.tgid = tgid;
	fake->task.pid = pid;
	fake->task.real_parent = &init;
	fake->task.signal = &fake->signal;
	fake->task.files = &fake->files;
	fake->signal.nr_threads = 2;
	fake->files.fdt = &fake->table;
	fake->table.max_fds = 4;
	fake->table.fd = fake->descriptors;
	fake->registers.orig_ax = call;
	fake->registers.di = DESCRIPTOR;
	open_file(fake, kind);
}

/* --- Questions. --- */

#define WAITING_CALL 1
#define WAKING_CALL 2

static u32 number(void)
{
	u32 value = 0;

	if (scanf("%u", &value) != 1)
		__builtin_trap();
	return value;
}

/* Something happens to each of some channels of the waiting task. */
static void use(u64 first, u32 count, u32 event)
{
	struct task_struct *other = running;
	u32 at;

	running = &waiting.task;
	for (at = 0; at < count; at++)
		use_channel(&waiting.note, first + at, event, 0);
	running = other;
}

static void ask_whom(void)
{
	u32 what = number(), waking_what = number(), state = number();
	u32 file = number(), waking_file = number(), relation = number(), is_exiting = number(), answered;
	static u32 word;

	settings.others[WAITING_CALL] = what;
	settings.others[WAKING_CALL] = waking_what;
	settings.ioctl = settings.nanosleep = settings.clock_nanosleep = CALLS;
	__builtin_memset(entries, 0, sizeof(entries));
	make(&waiting, 100, 100, WAITING_CALL, file);
	make(&waking, relation == 2 ? 100 : 200, 200, waking_what ? WAKING_CALL : -1, waking_file);
	if (relation == 1)
		waking.task.real_parent = &waiting.task;
	waking.task.flags = is_exiting ? PF_EXITING : 0;
	running = &waking.task;
	waiting.note.wait.out_state = state;
	use(1 << 10, number(), REQUEST_SENT);
	answered = number();
	use(1 << 20, answered, REQUEST_SENT);
	use(1 << 20, answered, ANSWER_RECEIVED);
	use(1 << 21, number(), REQUEST_RECEIVED);
	waking.note.messages.channels.owed = number();
	waiting.registers.si = number();
	waiting.registers.dx = number();
	word = number();
	if (waking_what & WAITS_FOR_THREAD)
		waking.registers.di = (u64)&word;
	waiting.note.messages.queues.asked = number();
	waking.note.messages.queues.received = number();
	waking.note.messages.queues.received_ns = waking.note.messages.queues.received ? now_ns : 0;
	printf("%u\n", awaited_by(&waiting.task, &waiting.note));
}

#define PLACES 512

static struct one_use places[PLACES];

/* What becomes of a task's channels: how many have each use, after each of the events. */
static void use_channels(void)
{
	struct channel_note *channels = &waiting.note.messages.channels;
	u32 left = number(), at;

	make(&waiting, 100, 100, WAITING_CALL, NO_FILE);
	__builtin_memset(entries, 0, sizeof(entries));
	/* Some places are free, and some are another task's. */
	for (at = 0; at < PLACES; at++)
		places[at] = (struct one_use){.tid = 999, .uses = at & 2 ? ASKED : 0};
	running = &waiting.task;
	while (left--) {
		u32 channel = number(), event = number();
		struct one_use *one = channel & 1 ? &places[channel % PLACES] : 0;
		int before = use_channel(&waiting.note, channel, event, one);

		printf("%d %u %u %u %u ", before, channels->asked, channels->answered, channels->met, channels->owed);
	}
	printf("\n");
}

int main(void)
{
	u32 question;

	while (scanf("%u", &question) == 1) {
		if (question)
			use_channels();
		else
			ask_whom();
		fflush(0);
	}
	return 0;
}

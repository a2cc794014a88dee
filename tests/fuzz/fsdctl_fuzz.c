/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppicefsd's control socket, with a real store below it: bytes as they
 * come, or a program that makes requests of the right form with any values
 * in any order.  Every request must be answered once, whatever the others
 * do, and the server must answer the next connection.
 */

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "coppicefsd.h"
#include "ctl.h"
#include "watch.h"

#define	REQUESTS	12	/* in one input */
#define	WAIT_MS		8000

static char path[] = "/tmp/fsdctl_fuzz.XXXXXX";
static char sock[sizeof(path) + 8];
static char store[sizeof(path) + 8];
static struct config conf;
static struct server server;
static uint64_t asked, answered;

int LLVMFuzzerInitialize(int *, char ***);
int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
fail(const char *what)
{

	(void)fprintf(stderr, "%s\n", what);
	abort();
}

/*
 * What the rest of the server would do.
 */
void
server_stop(struct server *s)
{

	(void)s;
}

void
server_poke(struct server *s)
{

	(void)s;
}

void
server_log(struct server *s, enum co_level level, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	(void)s;
	(void)level;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
}

void
watch_mute(struct watch *w, bool on)
{

	(void)w;
	(void)on;
}

void
watch_stats(struct watch *w, struct watch_stats *st)
{

	(void)w;
	memset(st, 0, sizeof(*st));
}

int
sandbox_peer(int fd, uid_t *uid)
{

	(void)fd;
	*uid = 0;
	return (0);
}

int
sandbox_scratch(void)
{

	return (memfd_create("diff", MFD_CLOEXEC));
}

static void
no_stats(struct server *s, nvlist_t *nv)
{

	(void)s;
	nvlist_add_bool(nv, "nothing", true);
}

static const struct transport nothing = {
	.name = "nothing", .stats = no_stats
};

/*
 * The world.
 */
static void
empty(int dir)
{
	struct dirent *d;
	DIR *dp;
	int fd;

	if ((dp = fdopendir(dup(dir))) == NULL)
		return;
	rewinddir(dp);
	while ((d = readdir(dp)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0 ||
		    unlinkat(dir, d->d_name, 0) == 0)
			continue;
		if ((fd = openat(dir, d->d_name, O_RDONLY |
		    O_DIRECTORY)) != -1) {
			empty(fd);
			(void)close(fd);
		}
		(void)unlinkat(dir, d->d_name, AT_REMOVEDIR);
	}
	(void)closedir(dp);
}

static void
cleanup(void)
{
	int fd;

	control_stop(server.control);
	control_free(server.control);
	share_close(server.share);
	undo_close(server.undo);
	if ((fd = open(path, O_RDONLY | O_DIRECTORY)) != -1) {
		empty(fd);
		(void)close(fd);
	}
	(void)rmdir(path);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct undo_options o = { .quiet_ms = 1, .ambient_ms = 1 };
	char tree[sizeof(path) + 8];
	struct co_error e;
	int fd = -1;

	(void)argc;
	(void)argv;
	if (mkdtemp(path) == NULL)
		fail("mkdtemp");
	(void)snprintf(sock, sizeof(sock), "%s/sock", path);
	(void)snprintf(store, sizeof(store), "%s/store", path);
	(void)snprintf(tree, sizeof(tree), "%s/tree", path);
	if (mkdir(tree, 0700) == -1 ||
	    (fd = open(tree, O_RDONLY | O_DIRECTORY)) == -1)
		fail("tree");
	conf.control = sock;
	server.conf = &conf;
	server.transport = &nothing;
	o.event = event_undo;
	o.event_arg = &server;
	if (control_new(&server, &server.control, &e) == -1 ||
	    undo_open(fd, store, &o, &server.undo, &e) == -1 ||
	    share_open(fd, server.undo, NULL, &server.share, &e) == -1 ||
	    control_start(server.control, &e) == -1)
		fail(e.message);
	(void)close(fd);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)atexit(cleanup);
	return (0);
}

/* Something to undo: only what no safeguard holds. */
static void
mutate(uint8_t which)
{
	const struct share_cred cred = { .umask = 022 };
	struct share_node *n, *root;
	struct share_file *f;
	struct share_attr a;
	char name[16];
	size_t done;

	if (share_type(root = share_root(server.share)) == 0)
		fail("no root");
	(void)snprintf(name, sizeof(name), "f%u", which);
	if (share_create(server.share, &cred, root, name, SHARE_O_WRITE |
	    SHARE_O_EXCL, 0644, &n, &a, &f) == 0) {
		(void)share_write(server.share, f, "text\n", 5, 0, 0, &done);
		share_file_close(server.share, f);
		share_put(server.share, n);
	}
	share_put(server.share, root);
}

/*
 * A program: bytes that are taken from the front, zero at the end.
 */
struct prog {
	const uint8_t	*p;
	size_t		 left;
};

static uint8_t
byte(struct prog *g)
{

	if (g->left == 0)
		return (0);
	g->left--;
	return (*g->p++);
}

static void
add_field(nvlist_t *nv, struct prog *g)
{
	static const char *const names[] = { "id", "n", "force", "max", "on",
	    "allow", "name", "kind", "exit", "paths", "deletes", "op",
	    "overwrites", "timeout_ms", "max_step_count", "max_log_size" };
	static const char *const words[] = { "", "api", "command", "f0",
	    "../x", "\xff\xfe" };
	const char *name = names[byte(g) & 15];
	uint8_t what = byte(g);
	const char *list[4];
	size_t i;

	if (nvlist_exists(nv, name))
		return;
	for (i = 0; i < 4; i++)
		list[i] = words[(what + i) % 6];
	switch (what & 3) {
	case 0:
		nvlist_add_number(nv, name, what < 0xf0 ? what >> 4 :
		    UINT64_MAX - byte(g));
		break;
	case 1:
		nvlist_add_bool(nv, name, (what & 4) != 0);
		break;
	case 2:
		nvlist_add_string(nv, name, list[0]);
		break;
	default:
		nvlist_add_string_array(nv, name, list, 1 + (what >> 2 & 3));
	}
}

static void
on_message(void *arg, nvlist_t *nv, int *fds, size_t nfds)
{
	struct co_error e;

	(void)arg;
	ctl_close_fds(fds, nfds);
	if (ctl_flag(nv, "done", false)) {
		answered++;
		if (ctl_uint(nv, "req", 0) == 0 ||
		    ctl_uint(nv, "req", 0) > asked)
			fail("an answer to nothing");
		if (ctl_error_get(nv, &e) && e.message[0] == '\0')
			fail("an error without a word");
	} else if (!nvlist_exists_string(nv, "event"))
		fail("neither event nor answer");
	nvlist_destroy(nv);
}

static void
turn(struct ctl *c, co_moment until)
{
	struct pollfd p = { .fd = ctl_fd(c), .events = (short)ctl_want(c) };
	struct co_error e;

	if (poll(&p, 1, co_left(until)) == 0)
		fail("no answer");
	if (ctl_dispatch(c, p.revents, on_message, NULL, &e) == -1)
		fail("it hung up");
}

static void
run(struct prog *g)
{
	static const char *const ops[] = { "step.begin", "step.complete",
	    "step.abandon", "undo", "redo", "history", "redoable",
	    "changes", "diff", "limits", "safeguard.set",
	    "safeguard.answer", "barrier", "discard", "stats", "readonly",
	    "stop", "events", "nonsense", "" };
	co_moment until = co_after(WAIT_MS);
	uint64_t open = 0;
	struct co_error e;
	struct ctl *c;
	nvlist_t *nv;
	uint8_t op, n;
	int fd;

	if (ctl_connect(sock, &c, &e) == -1)
		fail(e.message);
	asked = answered = 0;
	fd = memfd_create("out", MFD_CLOEXEC);
	while (g->left > 0 && asked < REQUESTS) {
		op = byte(g);
		if ((op & 0xc0) == 0xc0) {
			mutate(op & 0x3f);
			continue;
		}
		op %= sizeof(ops) / sizeof(ops[0]);
		nv = nvlist_create(0);
		nvlist_add_string(nv, "op", ops[op]);
		nvlist_add_number(nv, "req", ++asked);
		for (n = byte(g) & 3; n > 0; n--)
			add_field(nv, g);
		if (strcmp(ops[op], "events") == 0)
			open++;
		if (ctl_send(c, nv, &fd, byte(g) & 1, &e) == -1)
			fail(e.message);
		nvlist_destroy(nv);
		/* One after the other, or all at once. */
		while ((op & 1) == 0 && answered + open < asked)
			turn(c, until);
	}
	while (answered + open < asked)
		turn(c, until);
	(void)close(fd);
	ctl_free(c);
}

static void
say(const uint8_t *data, size_t size)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct pollfd p;
	char buf[4096];
	int fd;

	memcpy(sa.sun_path, sock, sizeof(sock));
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1 ||
	    connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == -1)
		fail("connect");
	(void)send(fd, data, size, MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	do {
		p = (struct pollfd){ .fd = fd, .events = POLLIN };
		if (poll(&p, 1, WAIT_MS) == 0)
			fail("it was not hung up");
	} while (read(fd, buf, sizeof(buf)) > 0);
	(void)close(fd);
}

/* As it was: no step, no guard, no history, no files, not read-only. */
static void
restore(void)
{
	static const struct undo_safeguards none;
	char tree[sizeof(path) + 8];
	struct co_error e;
	int64_t id;
	int fd;

	share_readonly(server.share, false);
	undo_configure(server.undo, NULL, &none);
	if ((id = undo_step_current(server.undo)) > 0)
		(void)undo_step_abandon(server.undo, id, &e);
	if (undo_discard(server.undo, &e) == -1)
		fail(e.message);
	(void)snprintf(tree, sizeof(tree), "%s/tree", path);
	if ((fd = open(tree, O_RDONLY | O_DIRECTORY)) == -1)
		fail("tree");
	empty(fd);
	(void)close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct prog g;

	if (size < 2)
		return (0);
	g = (struct prog){ data + 1, size - 1 };
	if (data[0] % 4 == 0)
		say(data + 1, size - 1);
	else
		run(&g);
	restore();
	return (0);
}

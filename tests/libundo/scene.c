/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The scenes.  Operations may fail when faults are injected and the scene
 * goes on; management calls that fail end it.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coppice.h>

#include "chaos.h"
#include "fsops.h"
#include "scene.h"
#include "snap.h"

static char bytes[3 << 20];

/* Bytes that do not shrink, or that do. */
static void
bytes_fill(uint64_t seed, size_t len, bool text)
{
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = text ? "int main(void);\n"[i % 16] :
		    (char)chaos_random(&seed);
}

static void
broke(struct stage *s, const char *what, const struct co_error *e)
{

	s->broken = true;
	if (!s->tolerant && s->why[0] == '\0')
		(void)snprintf(s->why, sizeof(s->why), "%s: %s", what,
		    e->message);
}

/*
 * The life of steps.
 */
static void
begin(struct stage *s)
{
	struct co_error e;

	if (s->broken)
		return;
	if (undo_step_begin(s->u, s->nextid, UNDO_COMMAND, "play", &e) == -1)
		broke(s, "begin", &e);
}

/* Complete the step and wait until it is final. */
static void
complete(struct stage *s)
{
	struct timespec t = { .tv_nsec = 300000 };
	struct co_error e;
	unsigned int i;

	if (s->broken)
		return;
	s->mark(s, LEDGER_CANDIDATE, (unsigned int)s->nextid);
	if (undo_step_complete(s->u, s->nextid, 0, &e) == -1) {
		broke(s, "complete", &e);
		return;
	}
	for (i = 0; i < 200 && undo_step_current(s->u) != 0; i++) {
		(void)undo_tick(s->u);
		if (undo_step_current(s->u) != 0)
			(void)nanosleep(&t, NULL);
	}
	if (i == 200) {
		(void)snprintf(e.message, sizeof(e.message), "not final");
		broke(s, "complete", &e);
		return;
	}
	s->nextid++;
	s->pos++;
	s->mark(s, LEDGER_COMMIT, 0);
}

static void
rollback(struct stage *s, unsigned int n)
{
	struct co_error e;

	if (s->broken)
		return;
	s->mark(s, LEDGER_BACK, n);
	if (undo_rollback(s->u, n, false, NULL, NULL, &e) == -1) {
		broke(s, "rollback", &e);
		return;
	}
	s->pos -= n;
	s->mark(s, LEDGER_AT, s->pos);
}

static void
redo(struct stage *s, unsigned int n)
{
	struct co_error e;

	if (s->broken)
		return;
	s->mark(s, LEDGER_FORTH, n);
	if (undo_redo(s->u, n, NULL, NULL, &e) == -1) {
		broke(s, "redo", &e);
		return;
	}
	s->pos += n;
	s->mark(s, LEDGER_AT, s->pos);
}

static void
reopen(struct stage *s)
{
	struct co_error e;

	if (s->broken)
		return;
	undo_close(s->u);
	if (undo_open(s->rootfd, s->store, &s->o, &s->u, &e) == -1) {
		s->u = NULL;
		broke(s, "open", &e);
	}
	fsops_undo(s->fs, s->u);
}

/*
 * Operations.  They may fail when faults are injected, and where the
 * filesystem does not have them.
 */
static void
did(struct stage *s, int error, const char *what)
{

	if (error == 0 || error == EOPNOTSUPP || s->tolerant ||
	    s->why[0] != '\0')
		return;
	(void)snprintf(s->why, sizeof(s->why), "%s: %s", what,
	    strerror(error));
}

/* Do it unless the scene has ended. */
#define	DO(s, call)	do {						\
	if (!(s)->broken)						\
		did(s, call, #call);					\
} while (0)

static void
write_at(struct stage *s, const char *path, size_t len, off_t off, bool text)
{
	struct fsops_file *f;

	if (s->broken || fsops_open(s->fs, path, &f) != 0)
		return;
	bytes_fill(len + (uint64_t)off, len, text);
	did(s, fsops_write(s->fs, f, bytes, len, off), path);
	fsops_close(s->fs, f);
}

static void
create(struct stage *s, const char *path, size_t len)
{
	struct fsops_file *f;
	int error;

	if (s->broken)
		return;
	error = fsops_create(s->fs, path, 0640, &f);
	did(s, error, path);
	if (error != 0)
		return;
	bytes_fill(len, len, true);
	if (len > 0)
		did(s, fsops_write(s->fs, f, bytes, len, 0), path);
	fsops_close(s->fs, f);
}

static void
allocate(struct stage *s, const char *path, enum plat_alloc how, off_t off,
    off_t len)
{
	struct fsops_file *f;

	if (s->broken || fsops_open(s->fs, path, &f) != 0)
		return;
	did(s, fsops_allocate(s->fs, f, how, off, len), path);
	fsops_close(s->fs, f);
}


static void
play_write(struct stage *s)
{

	begin(s);
	write_at(s, "text", 100, 0, true);
	write_at(s, "text", 5000, 3000, false);
	write_at(s, "noise", 10, 4000, false);
	write_at(s, "sparse", 4096, 1 << 22, true);
	write_at(s, "hard1", 50, 0, true);
	write_at(s, "hard2", 50, 100, true);
	write_at(s, "empty", 50, 0, true);
	complete(s);
}

static void
play_truncate(struct stage *s)
{

	begin(s);
	DO(s, fsops_truncate(s->fs, "text", 10));
	DO(s, fsops_truncate(s->fs, "noise", 100000));
	DO(s, fsops_open_trunc(s->fs, "hard1", NULL));
	DO(s, fsops_truncate(s->fs, "sparse", 5000));
	write_at(s, "text", 10, 100, true);
	complete(s);
}

static void
play_allocate(struct stage *s)
{
	struct fsops_file *f, *g;

	begin(s);
	allocate(s, "text", PLAT_EXTEND, 0, 100000);
	allocate(s, "noise", PLAT_PUNCH, 0, 4096);
	allocate(s, "hard1", PLAT_ZERO, 100, 5000);
	allocate(s, "sparse", PLAT_COLLAPSE, 4096, 4096);
	if (!s->broken && fsops_open(s->fs, "noise", &f) == 0) {
		if (fsops_open(s->fs, "empty", &g) == 0) {
			DO(s, fsops_copy(s->fs, f, 0, g, 4096, 8192));
			fsops_close(s->fs, g);
		}
		fsops_close(s->fs, f);
	}
	complete(s);
}

static void
play_large(struct stage *s)
{

	begin(s);
	write_at(s, "large", 10, 1 << 20, true);
	complete(s);
	rollback(s, 1);
}

static void
play_make(struct stage *s)
{

	begin(s);
	create(s, "new", 3000);
	DO(s, fsops_mkdir(s->fs, "newdir", 02750));
	create(s, "newdir/new", 0);
	DO(s, fsops_symlink(s->fs, "../x", "newdir/link"));
	DO(s, fsops_mknod(s->fs, "dir/sock", S_IFSOCK | 0600, 0));
	DO(s, fsops_link(s->fs, "noise", "newdir/noise"));
	DO(s, fsops_link(s->fs, "newdir/new", "dir/new"));
	write_at(s, "newdir/noise", 10, 0, true);
	complete(s);
}

static void
play_unlink(struct stage *s)
{

	begin(s);
	DO(s, fsops_unlink(s->fs, "text"));
	DO(s, fsops_unlink(s->fs, "hard1"));
	write_at(s, "hard2", 10, 0, true);
	DO(s, fsops_unlink(s->fs, "hard2"));
	DO(s, fsops_unlink(s->fs, "link"));
	DO(s, fsops_unlink(s->fs, "fifo"));
	create(s, "text", 10);
	DO(s, fsops_unlink(s->fs, "text"));
	create(s, "text", 20);
	complete(s);
}

static void
unlink_many(struct stage *s, const char *dir, unsigned int n)
{
	char path[64];
	unsigned int i;

	for (i = 0; i < n; i++) {
		(void)snprintf(path, sizeof(path), "%s/%u", dir, i);
		DO(s, fsops_unlink(s->fs, path));
	}
}

/*
 * A folder goes whole.  The writes before are there so that the step is not
 * an empty one, whichever call fails.
 */
static void
play_whole(struct stage *s)
{

	begin(s);
	write_at(s, "text", 10, 0, true);
	write_at(s, "noise", 10, 0, true);
	write_at(s, "dir/many/4", 10, 5, true);
	unlink_many(s, "dir/many", 7);
	DO(s, fsops_rmdir(s->fs, "dir/many/sub"));
	DO(s, fsops_rename(s->fs, "dir/many", "moved", 0));
	DO(s, fsops_rmdir(s->fs, "moved"));
	complete(s);
	rollback(s, 1);
	redo(s, 1);
}

/* The same, but something came into the folder meanwhile. */
static void
play_mixed(struct stage *s)
{

	begin(s);
	write_at(s, "text", 10, 0, true);
	write_at(s, "noise", 10, 0, true);
	unlink_many(s, "dir/many", 5);
	DO(s, fsops_rename(s->fs, "dir/many/5", "dir/many/4", 0));
	DO(s, fsops_unlink(s->fs, "dir/many/4"));
	create(s, "dir/many/3", 20);
	DO(s, fsops_unlink(s->fs, "dir/many/3"));
	DO(s, fsops_unlink(s->fs, "dir/many/6"));
	DO(s, fsops_rmdir(s->fs, "dir/many/sub"));
	DO(s, fsops_rmdir(s->fs, "dir/many"));
	complete(s);
	rollback(s, 1);
}

static void
play_rmtree(struct stage *s)
{

	begin(s);
	DO(s, fsops_unlink(s->fs, "dir/sub/leaf"));
	DO(s, fsops_unlink(s->fs, "dir/sub/\xff\xfe"));
	DO(s, fsops_rmdir(s->fs, "dir/sub"));
	DO(s, fsops_unlink(s->fs, "dir/hard3"));
	DO(s, fsops_rmdir(s->fs, "dir"));
	DO(s, fsops_mkdir(s->fs, "dir", 0700));
	create(s, "dir/sub", 5);
	complete(s);
}

static void
play_rename(struct stage *s)
{

	begin(s);
	DO(s, fsops_rename(s->fs, "text", "moved", 0));
	DO(s, fsops_rename(s->fs, "noise", "dir/sub/leaf", 0));
	DO(s, fsops_rename(s->fs, "hard1", "hard2", 0));
	DO(s, fsops_rename(s->fs, "empty", "hard2", 0));
	DO(s, fsops_rename(s->fs, "dir", "bare", 0));
	DO(s, fsops_rename(s->fs, "bare/sub", "up", UNDO_NOREPLACE));
	write_at(s, "up/leaf", 20, 0, true);
	complete(s);
}

static void
play_exchange(struct stage *s)
{

	begin(s);
	DO(s, fsops_rename(s->fs, "text", "dir", UNDO_EXCHANGE));
	DO(s, fsops_rename(s->fs, "noise", "link", UNDO_EXCHANGE));
	DO(s, fsops_rename(s->fs, "text/sub", "bare", UNDO_EXCHANGE));
	DO(s, fsops_rename(s->fs, "bare", "text/sub/in", 0));
	DO(s, fsops_unlink(s->fs, "text/sub/in/leaf"));
	complete(s);
}

static void
play_attributes(struct stage *s)
{
	static const struct timespec t[2] = { { 1, 2 }, { 3, 4 } };

	begin(s);
	DO(s, fsops_chmod(s->fs, "text", 04751));
	DO(s, fsops_chown(s->fs, "text", getuid(), getgid()));
	DO(s, fsops_utimens(s->fs, "link", t));
	DO(s, fsops_utimens(s->fs, "", t));
	DO(s, fsops_chmod(s->fs, "dir", 0700));
	DO(s, fsops_setxattr(s->fs, "noise", "user.new", "1", 1));
	DO(s, fsops_setxattr(s->fs, "text", "user.old", "2", 1));
	DO(s, fsops_removexattr(s->fs, "dir", "user.old"));
	write_at(s, "text", 10, 0, true);
	complete(s);
}

/* Files that lose their names while open, in this step and before. */
static void
play_unlinked(struct stage *s)
{
	struct fsops_file *f, *g;

	if (fsops_open(s->fs, "text", &f) != 0)
		return;
	begin(s);
	DO(s, fsops_unlink(s->fs, "text"));
	DO(s, fsops_write(s->fs, f, "here", 4, 10));
	complete(s);
	begin(s);
	DO(s, fsops_write(s->fs, f, "there", 5, 20));
	DO(s, fsops_ftruncate(s->fs, f, 12));
	if (!s->broken && fsops_create(s->fs, "brief", 0600, &g) == 0) {
		DO(s, fsops_unlink(s->fs, "brief"));
		DO(s, fsops_write(s->fs, g, "brief", 5, 0));
		fsops_close(s->fs, g);
	}
	/* Possible only while the library keeps a link of it. */
	if (!s->broken)
		(void)fsops_relink(s->fs, f, "again");
	DO(s, fsops_write(s->fs, f, "more", 4, 30));
	complete(s);
	rollback(s, 2);
	fsops_close(s->fs, f);
}

static void
play_chaos(struct stage *s)
{
	struct chaos *c;
	unsigned int i;

	c = chaos_new(s->rootfd, s->fs, geteuid() == 0 ? CHAOS_ROOT : 0);
	begin(s);
	for (i = 0; i < 30 && !s->broken; i++)
		(void)chaos_op(c, 4711 + i * 31, NULL, 0);
	DO(s, fsops_mkdir(s->fs, "sure", 0755));
	complete(s);
	chaos_free(c);
	fsops_how(s->fs, 0);
	rollback(s, 1);
}

static void
play_steps(struct stage *s)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		begin(s);
		write_at(s, "text", 10 + i, 0, true);
		DO(s, fsops_rename(s->fs, i & 1 ? "b" : "a",
		    i & 1 ? "a" : "b", 0));
		complete(s);
	}
	reopen(s);
}

static void
play_rollback(struct stage *s)
{

	begin(s);
	DO(s, fsops_unlink(s->fs, "text"));
	DO(s, fsops_rename(s->fs, "noise", "text", 0));
	write_at(s, "hard1", 10, 0, true);
	DO(s, fsops_mkdir(s->fs, "x", 0755));
	DO(s, fsops_rename(s->fs, "dir", "x/dir", 0));
	complete(s);
	rollback(s, 1);
	redo(s, 1);
	rollback(s, 3);
	redo(s, 2);
	reopen(s);
	redo(s, 1);
}

/* A rollback whose redo is thrown away by the next step. */
static void
play_redo_lost(struct stage *s)
{

	rollback(s, 2);
	begin(s);
	DO(s, fsops_unlink(s->fs, "noise"));
	complete(s);
	rollback(s, 1);
}

static void
play_evict(struct stage *s)
{
	static const char *const names[] = { "text", "hard1", "hard2" };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		s->mark(s, LEDGER_NEED, s->pos - 1);
		begin(s);
		write_at(s, "noise", 10, i * 10, true);
		DO(s, fsops_unlink(s->fs, names[i]));
		complete(s);
	}
}

static void
play_discard(struct stage *s)
{
	struct co_error e;

	begin(s);
	DO(s, fsops_unlink(s->fs, "noise"));
	complete(s);
	rollback(s, 1);
	s->mark(s, LEDGER_NEED, s->pos);
	if (!s->broken && undo_discard(s->u, &e) == -1)
		broke(s, "discard", &e);
	s->mark(s, LEDGER_VOID, 0);
}

static void
play_abandon(struct stage *s)
{
	struct co_error e;

	begin(s);
	DO(s, fsops_unlink(s->fs, "noise"));
	write_at(s, "text", 10, 0, true);
	DO(s, fsops_rename(s->fs, "dir", "elsewhere", 0));
	if (!s->broken && undo_step_abandon(s->u, s->nextid, &e) == -1)
		broke(s, "abandon", &e);
	s->mark(s, LEDGER_AT, s->pos);
}

const struct scene scenes[] = {
	{ "write", play_write, 0, false },
	{ "truncate", play_truncate, 0, false },
	{ "allocate", play_allocate, 0, false },
	{ "large", play_large, 0, false },
	{ "make", play_make, 0, false },
	{ "unlink", play_unlink, 0, true },
	{ "rmtree", play_rmtree, 0, true },
	{ "whole", play_whole, 0, true },
	{ "mixed", play_mixed, 0, false },
	{ "rename", play_rename, 0, true },
	{ "exchange", play_exchange, 0, false },
	{ "attributes", play_attributes, 0, false },
	{ "unlinked", play_unlinked, 0, true },
	{ "chaos", play_chaos, 0, true },
	{ "steps", play_steps, 0, false },
	{ "rollback", play_rollback, 0, true },
	{ "redo-lost", play_redo_lost, 0, false },
	{ "evict", play_evict, 2, false },
	{ "discard", play_discard, 0, false },
	{ "abandon", play_abandon, 0, false },
	{ NULL, NULL, 0, false }
};

/*
 * Before the scene.
 */
/* Enough in one folder to be kept together. */
static void
set_many(struct stage *s)
{
	char path[64];
	unsigned int i;

	DO(s, fsops_mkdir(s->fs, "dir/many", 0751));
	DO(s, fsops_setxattr(s->fs, "dir/many", "user.old", "value", 5));
	for (i = 0; i < 5; i++) {
		(void)snprintf(path, sizeof(path), "dir/many/%u", i);
		create(s, path, i * 10);
	}
	DO(s, fsops_link(s->fs, "dir/many/4", "dir/many/5"));
	DO(s, fsops_symlink(s->fs, "4", "dir/many/6"));
	DO(s, fsops_mkdir(s->fs, "dir/many/sub", 0700));
}

static void
set_folder(struct stage *s)
{
	static const char *const order[] = {
		"dir/sub/leaf", "dir/sub/\xff\xfe", "dir/sub", "dir/hard3",
		"dir", "bare", "text", "noise", "sparse", "hard1", "empty",
		"large", "link", "fifo", "a", ""
	};
	struct timespec t[2];
	size_t i;

	DO(s, fsops_mkdir(s->fs, "dir", 0755));
	DO(s, fsops_mkdir(s->fs, "dir/sub", 02755));
	DO(s, fsops_mkdir(s->fs, "bare", 01777));
	create(s, "text", 20000);
	create(s, "noise", 0);
	write_at(s, "noise", 9000, 0, false);
	create(s, "sparse", 5000);
	write_at(s, "sparse", 5000, 1 << 20, true);
	create(s, "hard1", 6000);
	create(s, "empty", 0);
	create(s, "a", 10);
	create(s, "dir/sub/leaf", 30);
	create(s, "dir/sub/\xff\xfe", 40);
	create(s, "large", 0);
	if (strcmp(s->scene->name, "large") == 0)
		write_at(s, "large", sizeof(bytes), 0, false);
	if (strcmp(s->scene->name, "whole") == 0 ||
	    strcmp(s->scene->name, "mixed") == 0)
		set_many(s);
	DO(s, fsops_link(s->fs, "hard1", "hard2"));
	DO(s, fsops_link(s->fs, "hard1", "dir/hard3"));
	DO(s, fsops_symlink(s->fs, "dir/sub", "link"));
	DO(s, fsops_mknod(s->fs, "fifo", S_IFIFO | 0644, 0));
	DO(s, fsops_setxattr(s->fs, "text", "user.old", "value", 5));
	DO(s, fsops_setxattr(s->fs, "dir", "user.old", "value", 5));
	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		t[0].tv_sec = t[1].tv_sec = (time_t)(1000000 * (i + 1));
		t[0].tv_nsec = t[1].tv_nsec = (long)(1000 * i + 1);
		DO(s, fsops_utimens(s->fs, order[i], t));
	}
}

void
scene_set(struct stage *s)
{
	struct co_error e;

	s->fs = fsops_new(s->rootfd, NULL);
	set_folder(s);
	s->nextid = 1;
	s->o.quiet_ms = 1;
	s->o.limits.max_step_count = s->scene->keep;
	if (undo_open(s->rootfd, s->store, &s->o, &s->u, &e) == -1) {
		s->tolerant = false;
		broke(s, "open", &e);
		return;
	}
	fsops_undo(s->fs, s->u);
	s->mark(s, LEDGER_AT, 0);
	begin(s);
	write_at(s, "text", 10, 50, true);
	DO(s, fsops_rename(s->fs, "a", "b", 0));
	complete(s);
	begin(s);
	DO(s, fsops_rename(s->fs, "b", "a", 0));
	DO(s, fsops_unlink(s->fs, "dir/hard3"));
	create(s, "dir/hard3", 50);
	complete(s);
}

void
scene_play(struct stage *s)
{

	if (!s->broken) {
		s->arm(s, true);
		s->scene->play(s);
		if (s->u != NULL)
			undo_close(s->u);
		s->arm(s, false);
	} else if (s->u != NULL)
		undo_close(s->u);
	s->u = NULL;
	fsops_free(s->fs);
	s->fs = NULL;
}

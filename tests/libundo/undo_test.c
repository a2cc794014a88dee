/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What undo.h promises, function by function, with hand-picked cases; the
 * random ones are in model_test.c, the cruel ones in crash_test.c.
 */

#include <sys/types.h>
#include <sys/stat.h>

#include <atf-c.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coppice.h>
#include <undo.h>

#define	ROOT	"root"
#define	STORE	"store"
#define	MAXEV	64

/* What came by event. */
struct seen {
	enum undo_event_type type[MAXEV];
	int64_t		 step[MAXEV];
	uint64_t	 count[MAXEV];
	size_t		 n;
	char		 guard[32];
	int		 answer;	/* -1: none, 0: deny, 1: allow */
	char		 sample[64];
	struct undo	*u;
};

struct fix {
	int		 rootfd;
	struct undo	*u;
	struct undo_options o;
	struct seen	 seen;
};

static void
on_event(void *arg, const struct undo_event *ev)
{
	struct seen *s = arg;
	struct co_error e;

	if (s->n < MAXEV) {
		s->type[s->n] = ev->type;
		s->step[s->n] = ev->step;
		s->count[s->n] = ev->count;
		s->n++;
	}
	ATF_CHECK(ev->message != NULL);
	if (ev->type != UNDO_EV_SAFEGUARD)
		return;
	(void)snprintf(s->guard, sizeof(s->guard), "%s", ev->safeguard);
	if (ev->npaths > 0)
		(void)snprintf(s->sample, sizeof(s->sample), "%s",
		    ev->paths[ev->npaths - 1]);
	if (s->answer >= 0)
		ATF_CHECK_EQ(0, undo_safeguard_answer(s->u, ev->safeguard,
		    s->answer == 1, &e));
}

static size_t
events(const struct fix *f, enum undo_event_type type)
{
	size_t i, n;

	for (i = n = 0; i < f->seen.n; i++)
		n += f->seen.type[i] == type;
	return (n);
}

static void
reopen(struct fix *f)
{
	struct co_error e;

	undo_close(f->u);
	f->u = NULL;
	f->o.event = on_event;
	f->o.event_arg = &f->seen;
	ATF_REQUIRE_MSG(undo_open(f->rootfd, STORE, &f->o, &f->u, &e) == 0,
	    "%s", e.message);
	f->seen.u = f->u;
}

static void
start(struct fix *f)
{

	memset(f, 0, sizeof(*f));
	f->seen.answer = -1;
	f->o.quiet_ms = 1;
	ATF_REQUIRE(mkdir(ROOT, 0755) == 0 || errno == EEXIST);
	f->rootfd = open(ROOT, O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE(f->rootfd != -1);
	reopen(f);
}

static void
stop(struct fix *f)
{

	undo_close(f->u);
	close(f->rootfd);
}

static struct undo_ref
ref(const char *path)
{
	struct undo_ref r = { path, -1, NULL, -1, NULL };

	return (r);
}

/*
 * A server's operations: hook, deed, done.
 */
static int
put(struct fix *f, const char *path, const char *text)
{
	struct undo_ref r;
	struct undo_op op;
	struct stat st;
	int error, fd;

	r = ref(path);
	if (fstatat(f->rootfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		error = undo_pre_open_trunc(f->u, &op, &r);
	else
		error = undo_pre_create(f->u, &op, &r);
	if (error != 0)
		return (error);
	fd = openat(f->rootfd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	error = fd == -1 ? errno : 0;
	undo_done(f->u, &op, error);
	if (fd == -1)
		return (error);
	r.fd = fd;
	if ((error = undo_pre_write(f->u, &op, &r)) == 0) {
		if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
			error = EIO;
		undo_done(f->u, &op, error);
	}
	close(fd);
	return (error);
}

static int
rm(struct fix *f, const char *path)
{
	struct undo_ref r;
	struct undo_op op;
	bool taken;
	int error;

	r = ref(path);
	if ((error = undo_pre_unlink(f->u, &op, &r, &taken)) != 0)
		return (error);
	if (!taken && unlinkat(f->rootfd, path, 0) == -1)
		error = errno;
	undo_done(f->u, &op, error);
	return (error);
}

static int
mv(struct fix *f, const char *from, const char *to)
{
	struct undo_ref a, b;
	struct undo_op op;
	int error;

	a = ref(from);
	b = ref(to);
	if ((error = undo_pre_rename(f->u, &op, &a, &b, 0)) != 0)
		return (error);
	if (renameat(f->rootfd, from, f->rootfd, to) == -1)
		error = errno;
	undo_done(f->u, &op, error);
	return (error);
}

static int
md(struct fix *f, const char *path)
{
	struct undo_ref r;
	struct undo_op op;
	int error;

	r = ref(path);
	if ((error = undo_pre_mkdir(f->u, &op, &r)) != 0)
		return (error);
	if (mkdirat(f->rootfd, path, 0755) == -1)
		error = errno;
	undo_done(f->u, &op, error);
	return (error);
}

static int
rd(struct fix *f, const char *path)
{
	struct undo_ref r;
	struct undo_op op;
	int error;

	r = ref(path);
	if ((error = undo_pre_rmdir(f->u, &op, &r)) != 0)
		return (error);
	if (unlinkat(f->rootfd, path, AT_REMOVEDIR) == -1)
		error = errno;
	undo_done(f->u, &op, error);
	return (error);
}

static int
ln(struct fix *f, const char *old, const char *path)
{
	struct undo_ref r, target;
	struct undo_op op;
	int error;

	r = ref(path);
	target = ref(old);
	if ((error = undo_pre_link(f->u, &op, &r, &target)) != 0)
		return (error);
	if (linkat(f->rootfd, old, f->rootfd, path, 0) == -1)
		error = errno;
	undo_done(f->u, &op, error);
	return (error);
}

static int
chmod_(struct fix *f, const char *path, mode_t mode)
{
	struct undo_ref r;
	struct undo_op op;
	int error;

	r = ref(path);
	if ((error = undo_pre_setattr(f->u, &op, &r, false)) != 0)
		return (error);
	if (fchmodat(f->rootfd, path, mode, 0) == -1)
		error = errno;
	undo_done(f->u, &op, error);
	return (error);
}

/* Behind the library's back. */
static void
outside(struct fix *f, const char *path, const char *text)
{
	int fd;

	fd = openat(f->rootfd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ATF_REQUIRE(fd != -1);
	ATF_REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static bool
there(struct fix *f, const char *path)
{
	struct stat st;

	return (fstatat(f->rootfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0);
}

static void
has(struct fix *f, const char *path, const char *text)
{
	char buf[4096];
	ssize_t n;
	int fd;

	fd = openat(f->rootfd, path, O_RDONLY);
	ATF_REQUIRE_MSG(fd != -1, "%s: %s", path, strerror(errno));
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	ATF_REQUIRE(n >= 0);
	buf[n] = '\0';
	ATF_CHECK_STREQ_MSG(text, buf, "%s", path);
}

static void
begin(struct fix *f, int64_t id)
{
	struct co_error e;

	ATF_REQUIRE_MSG(undo_step_begin(f->u, id, UNDO_COMMAND, "cmd", &e) ==
	    0, "%s", e.message);
	ATF_CHECK_EQ(id, undo_step_current(f->u));
}

/* Tick until nothing is open. */
static void
settle(struct fix *f)
{
	struct timespec ts = { .tv_nsec = 2000000 };
	int i;

	for (i = 0; i < 1000 && undo_step_current(f->u) != 0; i++) {
		(void)undo_tick(f->u);
		(void)nanosleep(&ts, NULL);
	}
	ATF_REQUIRE_EQ(0, undo_step_current(f->u));
}

static void
end(struct fix *f, int64_t id)
{
	struct co_error e;

	ATF_REQUIRE_EQ(0, undo_step_complete(f->u, id, 0, &e));
	settle(f);
}

static void
back(struct fix *f, unsigned int n)
{
	struct co_error e;

	ATF_REQUIRE_MSG(undo_rollback(f->u, n, false, NULL, NULL, &e) == 0,
	    "%s", e.message);
}

static int
refused(struct fix *f, unsigned int n)
{
	struct co_error e;

	ATF_REQUIRE_EQ(-1, undo_rollback(f->u, n, false, NULL, NULL, &e));
	ATF_CHECK(e.message[0] != '\0');
	return ((int)e.code);
}

static int
count_steps(void *arg, const struct undo_step *s, const struct undo_stamp *b)
{
	size_t *n = arg;

	n[0] += s != NULL;
	n[1] += b != NULL;
	return (0);
}

static size_t
nsteps(struct fix *f)
{
	struct co_error e;
	size_t n[2] = { 0, 0 };

	ATF_REQUIRE_EQ(0, undo_history(f->u, count_steps, n, &e));
	return (n[0]);
}

static size_t
nredo(struct fix *f)
{
	struct co_error e;
	size_t n[2] = { 0, 0 };

	ATF_REQUIRE_EQ(0, undo_redoable(f->u, count_steps, n, &e));
	return (n[0]);
}

ATF_TC_WITHOUT_HEAD(hooks);
ATF_TC_BODY(hooks, tc)
{
	struct fix f;
	struct stat before, after;

	start(&f);
	outside(&f, "keep", "keep");
	outside(&f, "over", "old");
	outside(&f, "text", "one\n");
	ATF_REQUIRE_EQ(0, mkdirat(f.rootfd, "empty", 0750));
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "keep", &before, 0));
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "new", "new"));
	ATF_CHECK_EQ(0, put(&f, "text", "two\n"));
	ATF_CHECK_EQ(0, rm(&f, "keep"));
	ATF_CHECK(!there(&f, "keep"));
	ATF_CHECK_EQ(0, md(&f, "dir"));
	ATF_CHECK_EQ(0, mv(&f, "new", "dir/moved"));
	ATF_CHECK_EQ(0, mv(&f, "dir/moved", "over"));
	ATF_CHECK_EQ(0, rd(&f, "empty"));
	ATF_CHECK_EQ(0, ln(&f, "text", "dir/link"));
	ATF_CHECK_EQ(0, chmod_(&f, "text", 0600));
	ATF_CHECK_EQ(EEXIST, md(&f, "dir"));
	ATF_CHECK_EQ(ENOENT, rm(&f, "nothing"));
	ATF_CHECK_EQ(ENOTDIR, rd(&f, "text"));
	end(&f, 1);
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_STEP));
	has(&f, "over", "new");
	back(&f, 1);
	has(&f, "keep", "keep");
	has(&f, "over", "old");
	has(&f, "text", "one\n");
	ATF_CHECK(!there(&f, "dir"));
	ATF_CHECK(!there(&f, "new"));
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "empty", &after, 0));
	ATF_CHECK_EQ(0750, after.st_mode & 07777);
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "keep", &after, 0));
	ATF_CHECK_EQ(before.st_ino, after.st_ino);
	ATF_CHECK_EQ(before.st_mtime, after.st_mtime);
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "text", &after, 0));
	ATF_CHECK_EQ(0644, after.st_mode & 07777);
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_ROLLBACK));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(kept_links);
ATF_TC_BODY(kept_links, tc)
{
	struct undo_stats s;
	struct stat st;
	struct fix f;

	start(&f);
	outside(&f, "a", "x");
	ATF_REQUIRE_EQ(0, linkat(f.rootfd, "a", f.rootfd, "b", 0));
	begin(&f, 1);
	ATF_CHECK_EQ(0, rm(&f, "a"));
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "b", &st, 0));
	ATF_CHECK_EQ(1, st.st_nlink - undo_kept_links(f.u,
	    (uint64_t)st.st_dev, (uint64_t)st.st_ino));
	end(&f, 1);
	undo_stats(f.u, &s);
	ATF_CHECK_EQ(1, s.kept);
	ATF_CHECK_EQ(1, s.steps);
	ATF_CHECK_EQ(0, s.inflight);
	reopen(&f);
	ATF_CHECK_EQ(1, undo_kept_links(f.u, (uint64_t)st.st_dev,
	    (uint64_t)st.st_ino));
	back(&f, 1);
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "a", &st, 0));
	ATF_CHECK_EQ(2, st.st_nlink);
	ATF_CHECK_EQ(0, undo_kept_links(f.u, (uint64_t)st.st_dev,
	    (uint64_t)st.st_ino));
	stop(&f);
}

/* The word of the server saves the work, and is worth nothing later. */
ATF_TC_WITHOUT_HEAD(seen_word);
ATF_TC_BODY(seen_word, tc)
{
	struct undo_stats a, b;
	struct undo_ref r;
	struct undo_op op;
	uint64_t word;
	struct fix f;
	int64_t id;

	start(&f);
	outside(&f, "f", "0");
	word = 0;
	r = ref("f");
	r.seen = &word;
	for (id = 1; id <= 2; id++) {
		begin(&f, id);
		ATF_REQUIRE_EQ(0, undo_pre_write(f.u, &op, &r));
		outside(&f, "f", id == 1 ? "1" : "2");
		undo_done(f.u, &op, 0);
		ATF_CHECK(word != 0);
		undo_stats(f.u, &a);
		ATF_REQUIRE_EQ(0, undo_pre_write(f.u, &op, &r));
		undo_done(f.u, &op, 0);
		undo_stats(f.u, &b);
		ATF_CHECK_EQ(a.captured_bytes, b.captured_bytes);
		end(&f, id);
	}
	back(&f, 1);
	has(&f, "f", "1");
	back(&f, 1);
	has(&f, "f", "0");
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(steps);
ATF_TC_BODY(steps, tc)
{
	struct co_error e;
	struct fix f;

	start(&f);
	ATF_CHECK_EQ(-1, undo_step_begin(f.u, 0, UNDO_COMMAND, "", &e));
	begin(&f, 5);
	ATF_CHECK_EQ(-1, undo_step_begin(f.u, 6, UNDO_API, "", &e));
	ATF_CHECK_EQ(CO_EUNDO_BUSY, e.code);
	ATF_CHECK_EQ(CO_EUNDO_BUSY, refused(&f, 1));
	ATF_CHECK_EQ(-1, undo_step_complete(f.u, 6, 0, &e));
	ATF_CHECK_EQ(CO_EUNDO_NOSTEP, e.code);
	ATF_CHECK_EQ(0, put(&f, "a", "a"));
	ATF_CHECK_EQ(0, undo_step_abandon(f.u, 5, &e));
	ATF_CHECK(!there(&f, "a"));
	ATF_CHECK_EQ(0, undo_step_current(f.u));
	ATF_CHECK_EQ(0, nsteps(&f));
	begin(&f, 7);
	ATF_CHECK_EQ(0, put(&f, "a", "a"));
	end(&f, 7);
	ATF_CHECK_EQ(1, nsteps(&f));
	ATF_CHECK_EQ(-1, undo_step_begin(f.u, 7, UNDO_API, "", &e));
	ATF_CHECK_EQ(0, undo_step_begin(f.u, 8, UNDO_API, "api", &e));
	ATF_CHECK_EQ(0, put(&f, "b", "b"));
	end(&f, 8);
	ATF_CHECK_EQ(CO_EUNDO_NOSTEP, refused(&f, 3));
	stop(&f);
}

/* What changed nothing is no step, and a redo outlives it. */
ATF_TC_WITHOUT_HEAD(nothing);
ATF_TC_BODY(nothing, tc)
{
	struct co_error e;
	struct fix f;

	start(&f);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "a"));
	end(&f, 1);
	begin(&f, 2);
	end(&f, 2);
	ATF_CHECK_EQ(1, nsteps(&f));
	back(&f, 1);
	ATF_CHECK(!there(&f, "a"));
	begin(&f, 3);
	end(&f, 3);
	ATF_CHECK_EQ(0, nsteps(&f));
	ATF_REQUIRE_MSG(undo_redo(f.u, 1, NULL, NULL, &e) == 0, "%s",
	    e.message);
	ATF_CHECK(there(&f, "a"));
	stop(&f);
}

/* Late mutations still belong to the step. */
ATF_TC_WITHOUT_HEAD(quiescence);
ATF_TC_BODY(quiescence, tc)
{
	struct undo_ref r;
	struct undo_op op;
	struct co_error e;
	struct fix f;
	int i;

	start(&f);
	begin(&f, 1);
	r = ref("a");
	ATF_REQUIRE_EQ(0, undo_pre_create(f.u, &op, &r));
	ATF_REQUIRE_EQ(0, undo_step_complete(f.u, 1, 0, &e));
	for (i = 0; i < 20; i++) {
		ATF_CHECK(undo_tick(f.u) != 0);
		ATF_CHECK_EQ(1, undo_step_current(f.u));
	}
	outside(&f, "a", "late");
	undo_done(f.u, &op, 0);
	settle(&f);
	ATF_CHECK_EQ(1, nsteps(&f));
	back(&f, 1);
	ATF_CHECK(!there(&f, "a"));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(ambient);
ATF_TC_BODY(ambient, tc)
{
	struct fix f;

	start(&f);
	f.o.ambient_ms = 20;
	reopen(&f);
	ATF_CHECK_EQ(0, put(&f, "a", "a"));
	ATF_CHECK_EQ(-1, undo_step_current(f.u));
	settle(&f);
	ATF_CHECK_EQ(0, put(&f, "b", "b"));
	ATF_CHECK_EQ(-2, undo_step_current(f.u));
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "c", "c"));
	end(&f, 1);
	ATF_CHECK_EQ(3, nsteps(&f));
	back(&f, 2);
	ATF_CHECK(there(&f, "a"));
	ATF_CHECK(!there(&f, "b"));
	ATF_CHECK(!there(&f, "c"));
	/* An ambient step in progress is closed and counts. */
	ATF_CHECK_EQ(0, put(&f, "d", "d"));
	back(&f, 1);
	ATF_CHECK(!there(&f, "d"));
	ATF_CHECK(there(&f, "a"));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(redo);
ATF_TC_BODY(redo, tc)
{
	struct co_error e;
	struct fix f;

	start(&f);
	outside(&f, "a", "0");
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "1"));
	end(&f, 1);
	begin(&f, 2);
	ATF_CHECK_EQ(0, rm(&f, "a"));
	ATF_CHECK_EQ(0, put(&f, "b", "2"));
	end(&f, 2);
	ATF_CHECK_EQ(-1, undo_redo(f.u, 1, NULL, NULL, &e));
	ATF_CHECK_EQ(CO_EUNDO_NOREDO, e.code);
	back(&f, 2);
	has(&f, "a", "0");
	ATF_CHECK_EQ(2, nredo(&f));
	reopen(&f);
	ATF_CHECK_EQ(2, nredo(&f));
	ATF_REQUIRE_EQ(0, undo_redo(f.u, 1, NULL, NULL, &e));
	has(&f, "a", "1");
	ATF_REQUIRE_EQ(0, undo_redo(f.u, 1, NULL, NULL, &e));
	ATF_CHECK(!there(&f, "a"));
	has(&f, "b", "2");
	ATF_CHECK_EQ(2, nsteps(&f));
	ATF_CHECK_EQ(2, events(&f, UNDO_EV_REDO));
	back(&f, 1);
	has(&f, "a", "1");
	ATF_CHECK_EQ(0, put(&f, "c", "c"));
	ATF_CHECK_EQ(0, nredo(&f));
	ATF_CHECK_EQ(-1, undo_redo(f.u, 1, NULL, NULL, &e));
	stop(&f);
}

static struct undo_safeguards
guards(uint32_t deletes, uint32_t overwrites, uint32_t renames)
{
	struct undo_safeguards g;

	memset(&g, 0, sizeof(g));
	g.deletes = deletes;
	g.overwrites = overwrites;
	g.overwrite_size = 10;
	g.renames_over = renames;
	return (g);
}

ATF_TC_WITHOUT_HEAD(guard_allow);
ATF_TC_BODY(guard_allow, tc)
{
	struct undo_safeguards g;
	struct co_error e;
	struct fix f;

	start(&f);
	outside(&f, "a", "0123456789");
	outside(&f, "b", "0123456789");
	outside(&f, "c", "0123456789");
	g = guards(2, 0, 0);
	undo_configure(f.u, NULL, &g);
	f.seen.answer = 1;
	begin(&f, 1);
	ATF_CHECK_EQ(0, rm(&f, "a"));
	ATF_CHECK_EQ(0, events(&f, UNDO_EV_SAFEGUARD));
	ATF_CHECK_EQ(0, rm(&f, "b"));
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_SAFEGUARD));
	ATF_CHECK_STREQ("b", f.seen.sample);
	/* Not asked again in this step. */
	ATF_CHECK_EQ(0, rm(&f, "c"));
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_SAFEGUARD));
	ATF_CHECK_EQ(-1, undo_safeguard_answer(f.u, f.seen.guard, true, &e));
	ATF_CHECK_EQ(CO_ESAFEGUARD_UNKNOWN, e.code);
	end(&f, 1);
	back(&f, 1);
	has(&f, "c", "0123456789");
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(guard_deny);
ATF_TC_BODY(guard_deny, tc)
{
	struct undo_safeguards g;
	struct fix f;

	start(&f);
	outside(&f, "a", "0123456789");
	outside(&f, "b", "0123456789");
	g = guards(0, 2, 1);
	undo_configure(f.u, NULL, &g);
	f.seen.answer = 0;
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "new", "x"));
	ATF_CHECK_EQ(0, put(&f, "a", "x"));
	ATF_CHECK_EQ(EPERM, put(&f, "b", "x"));
	/* All of it is back, and the step is over. */
	has(&f, "a", "0123456789");
	ATF_CHECK(!there(&f, "new"));
	ATF_CHECK_EQ(EPERM, put(&f, "new", "x"));
	end(&f, 1);
	ATF_CHECK_EQ(0, nsteps(&f));
	begin(&f, 2);
	ATF_CHECK_EQ(EPERM, mv(&f, "a", "b"));
	end(&f, 2);
	has(&f, "b", "0123456789");
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(guard_timeout);
ATF_TC_BODY(guard_timeout, tc)
{
	struct undo_safeguards g;
	struct fix f;

	start(&f);
	outside(&f, "a", "a");
	g = guards(1, 0, 0);
	g.timeout_ms = 20;
	undo_configure(f.u, NULL, &g);
	begin(&f, 1);
	ATF_CHECK_EQ(EPERM, rm(&f, "a"));
	ATF_CHECK(there(&f, "a"));
	end(&f, 1);
	stop(&f);
}

static void *
rm_thread(void *arg)
{
	struct fix *f = arg;
	int *error;

	ATF_REQUIRE((error = malloc(sizeof(*error))) != NULL);
	*error = rm(f, "a");
	return (error);
}

/* More than max_held are turned away. */
ATF_TC_WITHOUT_HEAD(guard_overflow);
ATF_TC_BODY(guard_overflow, tc)
{
	struct timespec ts = { .tv_nsec = 1000000 };
	struct undo_safeguards g;
	struct undo_stats s;
	struct co_error e;
	struct fix f;
	pthread_t t;
	void *result;
	int i;

	start(&f);
	outside(&f, "a", "a");
	g = guards(1, 0, 0);
	g.max_held = 1;
	undo_configure(f.u, NULL, &g);
	begin(&f, 1);
	ATF_REQUIRE_EQ(0, pthread_create(&t, NULL, rm_thread, &f));
	for (i = 0, s.held = 0; i < 5000 && s.held == 0; i++) {
		(void)nanosleep(&ts, NULL);
		undo_stats(f.u, &s);
	}
	ATF_REQUIRE_EQ(1, s.held);
	ATF_CHECK_EQ(ENOSPC, put(&f, "b", "b"));
	ATF_REQUIRE_EQ(0, undo_safeguard_answer(f.u, f.seen.guard, true,
	    &e));
	ATF_REQUIRE_EQ(0, pthread_join(t, &result));
	ATF_CHECK_EQ(0, *(int *)result);
	free(result);
	ATF_CHECK(!there(&f, "a"));
	ATF_CHECK_EQ(0, put(&f, "b", "b"));
	end(&f, 1);
	stop(&f);
}

static void
spoil(const char *path, off_t off)
{
	struct stat st;
	char c;
	int fd;

	fd = open(path, O_RDWR);
	ATF_REQUIRE_MSG(fd != -1, "%s: %s", path, strerror(errno));
	ATF_REQUIRE_EQ(0, fstat(fd, &st));
	if (off < 0)
		off += st.st_size;
	ATF_REQUIRE_EQ(1, pread(fd, &c, 1, off));
	c = (char)(c ^ 0x55);
	ATF_REQUIRE_EQ(1, pwrite(fd, &c, 1, off));
	close(fd);
}

ATF_TC_WITHOUT_HEAD(barriers);
ATF_TC_BODY(barriers, tc)
{
	const char *paths[] = { "a" };
	struct co_error e;
	struct fix f;
	size_t n[2] = { 0, 0 };

	start(&f);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "1"));
	end(&f, 1);
	outside(&f, "a", "outside");
	ATF_REQUIRE_EQ(0, undo_barrier(f.u, paths, 1, &e));
	ATF_REQUIRE_EQ(0, undo_barrier(f.u, paths, 1, &e));
	ATF_CHECK_EQ(2, events(&f, UNDO_EV_BARRIER));
	ATF_REQUIRE_EQ(0, undo_history(f.u, count_steps, n, &e));
	ATF_CHECK_EQ(1, n[1]);
	reopen(&f);
	ATF_REQUIRE_EQ(-1, undo_rollback(f.u, 1, false, NULL, NULL, &e));
	ATF_CHECK_EQ(CO_EUNDO_BARRIER, e.code);
	ATF_CHECK_STREQ("a", e.what);
	ATF_CHECK(strstr(e.message, "changed from outside at 2") != NULL);
	has(&f, "a", "outside");
	/* What comes after the barrier can be undone. */
	begin(&f, 2);
	ATF_CHECK_EQ(0, put(&f, "b", "2"));
	end(&f, 2);
	back(&f, 1);
	ATF_CHECK_EQ(CO_EUNDO_BARRIER, refused(&f, 1));
	ATF_REQUIRE_EQ(0, undo_rollback(f.u, 1, true, NULL, NULL, &e));
	ATF_CHECK(!there(&f, "a"));
	/* Even so nothing is lost. */
	ATF_REQUIRE_EQ(0, undo_redo(f.u, 1, NULL, NULL, &e));
	has(&f, "a", "outside");
	stop(&f);
}

/* A barrier can't be read: the good ones count, and it is said. */
ATF_TC_WITHOUT_HEAD(corrupt_barrier);
ATF_TC_BODY(corrupt_barrier, tc)
{
	const char *paths[] = { "a" };
	struct co_error e;
	struct fix f;
	int64_t id;

	start(&f);
	for (id = 1; id <= 2; id++) {
		begin(&f, id);
		ATF_CHECK_EQ(0, put(&f, "a", "1"));
		end(&f, id);
		ATF_REQUIRE_EQ(0, undo_barrier(f.u, paths, 1, &e));
	}
	undo_close(f.u);
	f.u = NULL;
	spoil(STORE "/barriers", -1);
	reopen(&f);
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_DAMAGE));
	back(&f, 1);
	ATF_CHECK_EQ(CO_EUNDO_BARRIER, refused(&f, 1));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(policy_lock);
ATF_TC_BODY(policy_lock, tc)
{
	const char *paths[] = { "x" };
	struct co_error e;
	struct fix f;

	start(&f);
	f.o.policy = UNDO_LOCK;
	reopen(&f);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "1"));
	end(&f, 1);
	ATF_REQUIRE_EQ(0, undo_barrier(f.u, paths, 1, &e));
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_BARRIER));
	ATF_CHECK_EQ(CO_EUNDO_BARRIER, refused(&f, 1));
	ATF_CHECK(there(&f, "a"));
	ATF_REQUIRE_EQ(0, undo_rollback(f.u, 1, true, NULL, NULL, &e));
	ATF_CHECK(!there(&f, "a"));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(policy_warn);
ATF_TC_BODY(policy_warn, tc)
{
	const char *paths[] = { "x" };
	struct co_error e;
	struct fix f;

	start(&f);
	f.o.policy = UNDO_WARN;
	reopen(&f);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "1"));
	end(&f, 1);
	ATF_REQUIRE_EQ(0, undo_barrier(f.u, paths, 1, &e));
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_BARRIER));
	back(&f, 1);
	ATF_CHECK(!there(&f, "a"));
	stop(&f);
}

static off_t
size_of(struct fix *f, const char *path)
{
	struct stat st;

	ATF_REQUIRE_EQ(0, fstatat(f->rootfd, path, &st, 0));
	return (st.st_size);
}

ATF_TC_WITHOUT_HEAD(limit_count);
ATF_TC_BODY(limit_count, tc)
{
	struct undo_limits l = { 0, 2, 0 };
	struct fix f;
	int64_t id;
	char name[16];

	start(&f);
	undo_configure(f.u, &l, NULL);
	for (id = 1; id <= 4; id++) {
		begin(&f, id);
		(void)snprintf(name, sizeof(name), "f%d", (int)id);
		ATF_CHECK_EQ(0, put(&f, name, "x"));
		end(&f, id);
	}
	ATF_CHECK_EQ(2, nsteps(&f));
	ATF_CHECK_EQ(2, events(&f, UNDO_EV_EVICTED));
	ATF_CHECK_EQ(CO_EUNDO_NOSTEP, refused(&f, 3));
	back(&f, 2);
	ATF_CHECK(there(&f, "f2"));
	ATF_CHECK(!there(&f, "f3"));
	stop(&f);
}

/* A file of ${size} bytes that do not shrink. */
static void
noise(struct fix *f, const char *path, size_t size)
{
	char *buf;
	int fd;

	ATF_REQUIRE((buf = malloc(size)) != NULL);
	co_random(buf, size);
	fd = openat(f->rootfd, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ATF_REQUIRE(fd != -1);
	ATF_REQUIRE(write(fd, buf, size) == (ssize_t)size);
	close(fd);
	free(buf);
}

/* The log has a size; the newest step is kept whatever it takes. */
ATF_TC_WITHOUT_HEAD(limit_log);
ATF_TC_BODY(limit_log, tc)
{
	struct undo_limits l = { 100000, 0, 0 };
	struct undo_stats s;
	struct fix f;
	int64_t id;
	char name[16];

	start(&f);
	undo_configure(f.u, &l, NULL);
	for (id = 1; id <= 5; id++) {
		(void)snprintf(name, sizeof(name), "f%d", (int)id);
		noise(&f, name, 40000);
		begin(&f, id);
		ATF_CHECK_EQ(0, put(&f, name, "x"));
		end(&f, id);
		undo_stats(f.u, &s);
		ATF_CHECK(s.store_bytes <= l.max_log_size);
	}
	ATF_CHECK_EQ(2, nsteps(&f));
	ATF_CHECK_EQ(3, events(&f, UNDO_EV_EVICTED));
	ATF_CHECK_EQ(CO_EUNDO_NOSTEP, refused(&f, 3));
	noise(&f, "large", 300000);
	begin(&f, 6);
	ATF_CHECK_EQ(0, put(&f, "large", "x"));
	end(&f, 6);
	ATF_CHECK_EQ(1, nsteps(&f));
	back(&f, 1);
	ATF_CHECK_EQ(300000, size_of(&f, "large"));
	stop(&f);
}

/* What goes is moved, not copied, and a directory is one record. */
ATF_TC_WITHOUT_HEAD(no_copies);
ATF_TC_BODY(no_copies, tc)
{
	struct undo_stats s;
	struct stat a, b;
	struct fix f;
	char name[32];
	int i;

	start(&f);
	noise(&f, "large", 1 << 20);
	noise(&f, "over", 1 << 20);
	outside(&f, "new", "new");
	ATF_REQUIRE_EQ(0, mkdirat(f.rootfd, "dir", 0755));
	for (i = 0; i < 500; i++) {
		(void)snprintf(name, sizeof(name), "dir/%d", i);
		outside(&f, name, name);
	}
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "over", &a, 0));
	begin(&f, 1);
	ATF_CHECK_EQ(0, rm(&f, "large"));
	ATF_CHECK_EQ(0, mv(&f, "new", "over"));
	ATF_CHECK_EQ(0, mv(&f, "dir", "moved"));
	end(&f, 1);
	undo_stats(f.u, &s);
	ATF_CHECK_EQ(2, s.kept);
	ATF_CHECK_EQ(0, s.captured_bytes);
	ATF_CHECK_EQ(0, s.copied + s.cloned);
	ATF_REQUIRE_EQ(0, stat(STORE "/steps/1/journal", &b));
	ATF_CHECK_MSG(b.st_size < 4096, "%jd bytes", (intmax_t)b.st_size);
	back(&f, 1);
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "over", &b, 0));
	ATF_CHECK_EQ(a.st_ino, b.st_ino);
	ATF_CHECK_EQ(1 << 20, size_of(&f, "large"));
	has(&f, "dir/499", "dir/499");
	has(&f, "new", "new");
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(limit_step);
ATF_TC_BODY(limit_step, tc)
{
	struct undo_limits l = { 0, 0, 100000 };
	struct fix f;

	start(&f);
	noise(&f, "big", 200000);
	outside(&f, "small", "s");
	undo_configure(f.u, &l, NULL);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "small", "t"));
	end(&f, 1);
	begin(&f, 2);
	ATF_CHECK_EQ(0, put(&f, "big", "gone"));
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_UNPROTECTED));
	ATF_CHECK_EQ(0, rm(&f, "small"));
	end(&f, 2);
	begin(&f, 3);
	ATF_CHECK_EQ(0, put(&f, "c", "c"));
	end(&f, 3);
	back(&f, 1);
	ATF_CHECK(!there(&f, "c"));
	ATF_CHECK_EQ(CO_EUNDO_UNPROTECTED, refused(&f, 1));
	has(&f, "big", "gone");
	/* An unprotected step that was interrupted stays. */
	noise(&f, "big", 200000);
	begin(&f, 4);
	ATF_CHECK_EQ(0, put(&f, "big", "again"));
	reopen(&f);
	has(&f, "big", "again");
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_RECOVERY));
	ATF_CHECK_EQ(CO_EUNDO_UNPROTECTED, refused(&f, 1));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(recovery);
ATF_TC_BODY(recovery, tc)
{
	struct fix f;

	start(&f);
	outside(&f, "a", "a");
	outside(&f, "b", "b");
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "changed"));
	ATF_CHECK_EQ(0, rm(&f, "b"));
	ATF_CHECK_EQ(0, put(&f, "c", "c"));
	f.seen.n = 0;
	reopen(&f);
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_RECOVERY));
	ATF_CHECK_EQ(1, f.seen.step[0]);
	ATF_CHECK_EQ(3, f.seen.count[0]);
	has(&f, "a", "a");
	has(&f, "b", "b");
	ATF_CHECK(!there(&f, "c"));
	ATF_CHECK_EQ(0, nsteps(&f));
	stop(&f);
}

/* A final step whose journal is damaged is refused, and harms no other. */
ATF_TC_WITHOUT_HEAD(corrupt_step);
ATF_TC_BODY(corrupt_step, tc)
{
	struct fix f;
	int64_t id;

	start(&f);
	for (id = 1; id <= 2; id++) {
		begin(&f, id);
		ATF_CHECK_EQ(0, put(&f, id == 1 ? "a" : "b", "x"));
		end(&f, id);
	}
	spoil(STORE "/steps/1/journal", -3);
	ATF_CHECK_EQ(CO_EUNDO_CORRUPT, refused(&f, 2));
	ATF_CHECK(there(&f, "b"));
	reopen(&f);
	ATF_CHECK(events(&f, UNDO_EV_DAMAGE) > 0);
	back(&f, 1);
	ATF_CHECK(!there(&f, "b"));
	ATF_CHECK_EQ(CO_EUNDO_UNPROTECTED, refused(&f, 1));
	ATF_CHECK(there(&f, "a"));
	stop(&f);
}

/* Of an unfinished step the good part of the journal is used. */
ATF_TC_WITHOUT_HEAD(corrupt_tail);
ATF_TC_BODY(corrupt_tail, tc)
{
	struct fix f;
	struct stat st;
	char buf[1024];
	off_t last;
	ssize_t n;
	int fd;

	start(&f);
	outside(&f, "a", "a");
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "changed"));
	ATF_CHECK_EQ(0, put(&f, "zzz", "new"));
	undo_close(f.u);
	f.u = NULL;
	/* Find the last record by the name in it. */
	fd = open(STORE "/wal/in_progress/journal", O_RDONLY);
	ATF_REQUIRE(fd != -1);
	ATF_REQUIRE_EQ(0, fstat(fd, &st));
	n = pread(fd, buf, sizeof(buf), 0);
	close(fd);
	for (last = -1; n >= 3; n--)
		if (memcmp(buf + n - 3, "zzz", 3) == 0) {
			last = n - 3;
			break;
		}
	ATF_REQUIRE(last > 0);
	spoil(STORE "/wal/in_progress/journal", last);
	reopen(&f);
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_DAMAGE));
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_RECOVERY));
	has(&f, "a", "a");
	ATF_CHECK(there(&f, "zzz"));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(version);
ATF_TC_BODY(version, tc)
{
	struct co_error e;
	struct fix f;
	FILE *v;

	start(&f);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "a"));
	end(&f, 1);
	undo_close(f.u);
	f.u = NULL;
	ATF_REQUIRE((v = fopen(STORE "/version", "w")) != NULL);
	fprintf(v, "999\n");
	fclose(v);
	reopen(&f);
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_VERSION));
	ATF_CHECK_EQ(CO_EUNDO_VERSION, refused(&f, 1));
	/* Mutations pass, and history stays as it is. */
	begin(&f, 2);
	ATF_CHECK_EQ(0, put(&f, "b", "b"));
	ATF_REQUIRE_EQ(0, undo_step_complete(f.u, 2, 0, &e));
	ATF_CHECK_EQ(0, access(STORE "/steps/1/manifest", R_OK));
	ATF_REQUIRE_EQ(0, undo_discard(f.u, &e));
	ATF_CHECK_EQ(0, nsteps(&f));
	ATF_CHECK_EQ(-1, access(STORE "/steps/1", F_OK));
	begin(&f, 3);
	ATF_CHECK_EQ(0, put(&f, "c", "c"));
	end(&f, 3);
	back(&f, 1);
	ATF_CHECK(!there(&f, "c"));
	reopen(&f);
	ATF_CHECK_EQ(1, events(&f, UNDO_EV_VERSION));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(discard);
ATF_TC_BODY(discard, tc)
{
	struct co_error e;
	struct fix f;

	start(&f);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "a"));
	ATF_CHECK_EQ(-1, undo_discard(f.u, &e));
	ATF_CHECK_EQ(CO_EUNDO_BUSY, e.code);
	end(&f, 1);
	ATF_REQUIRE_EQ(0, undo_discard(f.u, &e));
	ATF_CHECK_EQ(0, nsteps(&f));
	ATF_CHECK_EQ(CO_EUNDO_NOSTEP, refused(&f, 1));
	ATF_CHECK(there(&f, "a"));
	stop(&f);
}

ATF_TC_WITHOUT_HEAD(stores);
ATF_TC_BODY(stores, tc)
{
	struct undo_options o;
	struct co_error e;
	struct undo *u;
	struct stat st;
	struct fix f;

	start(&f);
	memset(&o, 0, sizeof(o));
	ATF_CHECK_EQ(-1, undo_open(f.rootfd, STORE, &o, &u, &e));
	ATF_CHECK_EQ(CO_EUNDO_BUSY, e.code);
	ATF_CHECK_EQ(-1, undo_open(f.rootfd, ROOT "/inside", &o, &u, &e));
	ATF_CHECK_EQ(CO_EUNDO_STORE, e.code);
	ATF_REQUIRE_EQ(0, stat(STORE, &st));
	ATF_CHECK_EQ(0700, st.st_mode & 07777);
	undo_close(NULL);
	stop(&f);
}

struct list {
	char		 text[1024];
};

static int
list_path(void *arg, const struct undo_path *p)
{
	static const char letters[] = "CMDRA";
	struct list *l = arg;
	size_t n;

	n = strlen(l->text);
	(void)snprintf(l->text + n, sizeof(l->text) - n, "%c %s%s%s %ju %ju\n",
	    letters[p->change], p->from == NULL ? "" : p->from,
	    p->from == NULL ? "" : ">", p->path, (uintmax_t)p->before,
	    (uintmax_t)p->after);
	return (0);
}

ATF_TC_WITHOUT_HEAD(changes);
ATF_TC_BODY(changes, tc)
{
	struct co_error e;
	struct list l;
	struct fix f;

	start(&f);
	outside(&f, "a", "12345");
	outside(&f, "b", "123");
	outside(&f, "gone", "1234");
	outside(&f, "mode", "1");
	ATF_REQUIRE_EQ(0, mkdirat(f.rootfd, "dir", 0755));
	outside(&f, "dir/x", "x");
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "1234567"));
	ATF_CHECK_EQ(0, put(&f, "new", "12"));
	ATF_CHECK_EQ(0, put(&f, "tmp", "1"));
	ATF_CHECK_EQ(0, rm(&f, "tmp"));
	ATF_CHECK_EQ(0, rm(&f, "gone"));
	ATF_CHECK_EQ(0, mv(&f, "b", "c"));
	ATF_CHECK_EQ(0, mv(&f, "dir", "dir2"));
	ATF_CHECK_EQ(0, chmod_(&f, "mode", 0600));
	end(&f, 1);
	/* A later step does not change what the first one did. */
	begin(&f, 2);
	ATF_CHECK_EQ(0, put(&f, "a", "1"));
	ATF_CHECK_EQ(0, rm(&f, "new"));
	end(&f, 2);
	l.text[0] = '\0';
	ATF_REQUIRE_EQ(0, undo_changes(f.u, 1, list_path, &l, &e));
	ATF_CHECK_STREQ("M a 5 7\nR b>c 3 3\nR dir>dir2 0 0\nD gone 4 0\n"
	    "A mode 1 1\nC new 0 2\n", l.text);
	ATF_CHECK_EQ(-1, undo_changes(f.u, 9, list_path, &l, &e));
	ATF_CHECK_EQ(CO_EUNDO_NOSTEP, e.code);
	stop(&f);
}

static void
diff(struct fix *f, int64_t id, char *buf, size_t size)
{
	struct co_error e;
	ssize_t n;
	int fd;

	fd = open("diff.out", O_RDWR | O_CREAT | O_TRUNC, 0600);
	ATF_REQUIRE(fd != -1);
	ATF_REQUIRE_MSG(undo_diff(f->u, id, fd, 0, &e) == 0, "%s", e.message);
	n = pread(fd, buf, size - 1, 0);
	ATF_REQUIRE(n >= 0);
	buf[n] = '\0';
	close(fd);
}

ATF_TC_WITHOUT_HEAD(diffs);
ATF_TC_BODY(diffs, tc)
{
	struct co_error e;
	char buf[8192];
	struct fix f;

	start(&f);
	outside(&f, "t", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	noise(&f, "bin", 5000);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "t", "1\n2\n3\n4\nfive\n6\n7\n8\n9\nten"));
	ATF_CHECK_EQ(0, put(&f, "bin", "text"));
	ATF_CHECK_EQ(0, put(&f, "n", "new\n"));
	end(&f, 1);
	begin(&f, 2);
	ATF_CHECK_EQ(0, rm(&f, "t"));
	ATF_CHECK_EQ(0, put(&f, "n", "other\n"));
	end(&f, 2);
	diff(&f, 1, buf, sizeof(buf));
	ATF_CHECK(strstr(buf, "--- a/t\n+++ b/t\n@@ -2,8 +2,9 @@\n 2\n 3\n 4\n"
	    "-5\n+five\n 6\n 7\n 8\n 9\n+ten\n"
	    "\\ No newline at end of file\n") != NULL);
	ATF_CHECK(strstr(buf, "Binary files a/bin and b/bin differ "
	    "(5000 -> 4 bytes)\n") != NULL);
	ATF_CHECK(strstr(buf, "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+new\n")
	    != NULL);
	diff(&f, 2, buf, sizeof(buf));
	ATF_CHECK(strstr(buf, "--- a/t\n+++ /dev/null\n@@ -1,10 +0,0 @@\n")
	    != NULL);
	ATF_CHECK(strstr(buf, "-new\n+other\n") != NULL);
	ATF_CHECK_EQ(-1, undo_diff(f.u, 3, 1, 0, &e));
	ATF_CHECK_EQ(CO_EUNDO_NOSTEP, e.code);
	stop(&f);
}

/* Open and unlinked in an earlier step, written in a later one. */
ATF_TC_WITHOUT_HEAD(nameless);
ATF_TC_BODY(nameless, tc)
{
	struct undo_ref r;
	struct undo_op op;
	struct fix f;
	int fd;

	start(&f);
	outside(&f, "a", "old");
	fd = openat(f.rootfd, "a", O_RDWR);
	ATF_REQUIRE(fd != -1);
	begin(&f, 1);
	ATF_CHECK_EQ(0, rm(&f, "a"));
	end(&f, 1);
	begin(&f, 2);
	r = ref(NULL);
	r.fd = fd;
	ATF_REQUIRE_EQ(0, undo_pre_write(f.u, &op, &r));
	ATF_REQUIRE_EQ(3, pwrite(fd, "new", 3, 0));
	undo_done(f.u, &op, 0);
	end(&f, 2);
	back(&f, 2);
	has(&f, "a", "old");
	close(fd);
	stop(&f);
}

/* A directory goes whole, one of its files open, and written to later. */
ATF_TC_WITHOUT_HEAD(whole);
ATF_TC_BODY(whole, tc)
{
	struct stat now, st[9];
	struct undo_ref r;
	struct undo_op op;
	struct fix f;
	char path[16];
	int fd, i;

	start(&f);
	ATF_REQUIRE_EQ(0, mkdirat(f.rootfd, "d", 0751));
	for (i = 0; i < 9; i++) {
		(void)snprintf(path, sizeof(path), "d/%d", i);
		outside(&f, path, "old");
		ATF_REQUIRE_EQ(0, fstatat(f.rootfd, path, &st[i], 0));
	}
	ATF_REQUIRE((fd = openat(f.rootfd, "d/8", O_RDWR)) != -1);
	begin(&f, 1);
	for (i = 0; i < 9; i++) {
		(void)snprintf(path, sizeof(path), "d/%d", i);
		ATF_CHECK_EQ(0, rm(&f, path));
	}
	ATF_CHECK_EQ(0, rd(&f, "d"));
	end(&f, 1);
	begin(&f, 2);
	r = ref(NULL);
	r.fd = fd;
	ATF_REQUIRE_EQ(0, undo_pre_write(f.u, &op, &r));
	ATF_REQUIRE_EQ(3, pwrite(fd, "new", 3, 0));
	undo_done(f.u, &op, 0);
	end(&f, 2);
	reopen(&f);
	for (i = 0; i < 9; i++)
		ATF_CHECK_EQ(1, undo_kept_links(f.u, (uint64_t)st[i].st_dev,
		    (uint64_t)st[i].st_ino));
	back(&f, 2);
	for (i = 0; i < 9; i++) {
		(void)snprintf(path, sizeof(path), "d/%d", i);
		has(&f, path, "old");
		ATF_REQUIRE_EQ(0, fstatat(f.rootfd, path, &now, 0));
		ATF_CHECK_EQ(st[i].st_ino, now.st_ino);
		ATF_CHECK_EQ(0, undo_kept_links(f.u, (uint64_t)now.st_dev,
		    (uint64_t)now.st_ino));
	}
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "d", &now, 0));
	ATF_CHECK_EQ(0751, now.st_mode & 07777);
	close(fd);
	stop(&f);
}

/* Its link in the store went with a redo; what has that number is another. */
ATF_TC_WITHOUT_HEAD(nameless_dropped);
ATF_TC_BODY(nameless_dropped, tc)
{
	struct undo_ref r;
	struct undo_op op;
	struct co_error e;
	struct fix f;
	int fd;

	start(&f);
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "old"));
	end(&f, 1);
	fd = openat(f.rootfd, "a", O_RDWR);
	ATF_REQUIRE(fd != -1);
	back(&f, 1);
	begin(&f, 2);
	r = ref(NULL);
	r.fd = fd;
	ATF_REQUIRE_EQ(0, undo_pre_write(f.u, &op, &r));
	ATF_REQUIRE_EQ(3, pwrite(fd, "new", 3, 0));
	undo_done(f.u, &op, 0);
	r = ref("link");
	ATF_REQUIRE_EQ(0, undo_pre_symlink(f.u, &op, &r));
	ATF_REQUIRE_EQ(0, symlinkat("a", f.rootfd, "link"));
	undo_done(f.u, &op, 0);
	/* Without a tick, which would sweep the redo away. */
	ATF_REQUIRE_EQ(0, undo_step_complete(f.u, 2, 0, &e));
	back(&f, 1);
	ATF_CHECK(!there(&f, "link"));
	ATF_CHECK(!there(&f, "a"));
	close(fd);
	stop(&f);
}

/* A link has attributes, too, but can't be opened. */
ATF_TC_WITHOUT_HEAD(nameless_link);
ATF_TC_BODY(nameless_link, tc)
{
	const struct timespec t[2] = { { 1, 2 }, { 3, 4 } };
	struct stat before, after;
	struct undo_ref r;
	struct undo_op op;
	struct fix f;
	int fd;

	start(&f);
	ATF_REQUIRE_EQ(0, symlinkat("target", f.rootfd, "link"));
	fd = openat(f.rootfd, "link", O_PATH | O_NOFOLLOW);
	ATF_REQUIRE(fd != -1);
	ATF_REQUIRE_EQ(0, fstat(fd, &before));
	begin(&f, 1);
	ATF_CHECK_EQ(0, rm(&f, "link"));
	end(&f, 1);
	begin(&f, 2);
	r = ref(NULL);
	r.fd = fd;
	ATF_REQUIRE_EQ(0, undo_pre_setattr(f.u, &op, &r, false));
	ATF_REQUIRE_EQ(0, utimensat(fd, "", t, AT_EMPTY_PATH));
	undo_done(f.u, &op, 0);
	end(&f, 2);
	back(&f, 2);
	ATF_REQUIRE_EQ(0, fstatat(f.rootfd, "link", &after,
	    AT_SYMLINK_NOFOLLOW));
	ATF_CHECK_EQ(before.st_ino, after.st_ino);
	ATF_CHECK_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	ATF_CHECK_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
	close(fd);
	stop(&f);
}

/* Power durability takes other ways to the same end. */
ATF_TC_WITHOUT_HEAD(power);
ATF_TC_BODY(power, tc)
{
	struct co_error e;
	struct fix f;

	start(&f);
	f.o.durability = UNDO_POWER;
	reopen(&f);
	outside(&f, "a", "a");
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "b"));
	ATF_CHECK_EQ(0, mv(&f, "a", "c"));
	ATF_CHECK_EQ(0, put(&f, "a", "d"));
	end(&f, 1);
	back(&f, 1);
	has(&f, "a", "a");
	ATF_CHECK(!there(&f, "c"));
	ATF_REQUIRE_EQ(0, undo_redo(f.u, 1, NULL, NULL, &e));
	has(&f, "c", "b");
	has(&f, "a", "d");
	stop(&f);
}

static void
on_progress(void *arg, const struct undo_progress *p)
{
	uint64_t *last = arg;

	ATF_CHECK_EQ(1, p->step);
	ATF_CHECK(p->done > last[0] && p->done <= p->total);
	last[0] = p->done;
	last[1] = p->total;
}

ATF_TC_WITHOUT_HEAD(progress);
ATF_TC_BODY(progress, tc)
{
	uint64_t last[2] = { 0, 1 };
	struct co_error e;
	struct fix f;
	char name[16];
	int i;

	start(&f);
	begin(&f, 1);
	for (i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		ATF_CHECK_EQ(0, put(&f, name, name));
	}
	end(&f, 1);
	ATF_REQUIRE_EQ(0, undo_rollback(f.u, 1, false, on_progress, last,
	    &e));
	ATF_CHECK_EQ(last[0], last[1]);
	stop(&f);
}

/* Who comes while a rollback runs waits for its end. */
struct late {
	struct fix	*f;
	pthread_t	 t;
	bool		 begun;
	_Atomic int	 done;
	int		 error;
};

static void *
late_thread(void *arg)
{
	struct late *l = arg;

	l->error = put(l->f, "late", "late");
	atomic_store(&l->done, 1);
	return (NULL);
}

static void
late_progress(void *arg, const struct undo_progress *p)
{
	struct timespec ts = { .tv_nsec = 50000000 };
	struct late *l = arg;

	(void)p;
	if (!l->begun) {
		l->begun = true;
		ATF_REQUIRE_EQ(0, pthread_create(&l->t, NULL, late_thread,
		    l));
		(void)nanosleep(&ts, NULL);
	}
	ATF_CHECK_EQ(0, atomic_load(&l->done));
	ATF_CHECK(!there(l->f, "late"));
}

ATF_TC_WITHOUT_HEAD(rollback_waits);
ATF_TC_BODY(rollback_waits, tc)
{
	struct co_error e;
	struct late l;
	struct fix f;

	start(&f);
	outside(&f, "a", "a");
	begin(&f, 1);
	ATF_CHECK_EQ(0, put(&f, "a", "b"));
	ATF_CHECK_EQ(0, put(&f, "c", "c"));
	end(&f, 1);
	memset(&l, 0, sizeof(l));
	l.f = &f;
	ATF_REQUIRE_EQ(0, undo_rollback(f.u, 1, false, late_progress, &l,
	    &e));
	ATF_REQUIRE(l.begun);
	ATF_REQUIRE_EQ(0, pthread_join(l.t, NULL));
	ATF_CHECK_EQ(0, l.error);
	has(&f, "a", "a");
	ATF_CHECK(!there(&f, "c"));
	has(&f, "late", "late");
	/* It became a step of its own. */
	back(&f, 1);
	ATF_CHECK(!there(&f, "late"));
	stop(&f);
}

/*
 * Compression in idle time does not change what comes back.  With their
 * heads and ends the last ones fill whole buffers.
 */
static const size_t packed_sizes[] = {
	65537, 100000, 131072, (128 << 10) - 32, (256 << 10) - 32, 1 << 20
};
#define	OBJECT		STORE "/steps/1/o/0000000000000000000000000001"
#define	PACKED		(sizeof(packed_sizes) / sizeof(packed_sizes[0]))

static void
packed_check(struct fix *f, const char *name, const char *text, size_t size)
{
	char *got;
	int fd;

	ATF_REQUIRE((got = malloc(size + 1)) != NULL);
	fd = openat(f->rootfd, name, O_RDONLY);
	ATF_REQUIRE(fd != -1);
	ATF_CHECK_EQ((ssize_t)size, read(fd, got, size + 1));
	ATF_CHECK_EQ(0, memcmp(got, text, size));
	close(fd);
	free(got);
}

ATF_TC_WITHOUT_HEAD(packed);
ATF_TC_BODY(packed, tc)
{
	struct undo_stats s;
	struct fix f;
	char name[16], *text;
	size_t i;

	start(&f);
	ATF_REQUIRE((text = calloc(1, (1 << 20) + 1)) != NULL);
	begin(&f, 1);
	for (i = 0; i < PACKED; i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		memset(text, "coppice\n"[i % 8], packed_sizes[i]);
		text[packed_sizes[i]] = '\0';
		outside(&f, name, text);
		ATF_CHECK_EQ(0, put(&f, name, "short"));
	}
	end(&f, 1);
	for (i = 0; i < 1000 && undo_tick(f.u) >= 0; i++)
		;
	undo_stats(f.u, &s);
	if (s.cloned == 0) {
		ATF_CHECK_EQ(-1, access(OBJECT, F_OK));
		ATF_CHECK_EQ(0, access(OBJECT ".z", F_OK));
		ATF_CHECK(s.store_bytes < 65536);
	}
	back(&f, 1);
	for (i = 0; i < PACKED; i++) {
		(void)snprintf(name, sizeof(name), "%zu", i);
		memset(text, "coppice\n"[i % 8], packed_sizes[i]);
		packed_check(&f, name, text, packed_sizes[i]);
	}
	free(text);
	stop(&f);
}

/*
 * Small files of several threads share a heap; compressed or not, each gets
 * its own bytes back, whoever came first.
 */
#define	HEAP_THREADS	8
#define	HEAP_FILES	48
#define	HEAP_SIZE	50000

struct heap_job {
	struct fix	*f;
	int		 first;
	int		 error;
};

static void
heap_text(int i, char *text)
{
	int k, len;

	len = HEAP_SIZE / (i % 7 + 1);
	for (k = 0; k < len; k++)
		text[k] = "coppice\n"[(k + i) % 8];
	(void)snprintf(text, 12, "file %05u\n", (unsigned int)i % 100000);
	text[11] = '.';
	text[len] = '\0';
}

static void *
heap_thread(void *arg)
{
	struct heap_job *j = arg;
	char name[16];
	int i;

	for (i = j->first; i < HEAP_FILES * HEAP_THREADS && j->error == 0;
	    i += HEAP_THREADS) {
		(void)snprintf(name, sizeof(name), "%d", i);
		j->error = put(j->f, name, "short");
	}
	return (NULL);
}

static void
heap_check(struct fix *f)
{
	static char got[HEAP_SIZE + 1], want[HEAP_SIZE + 1];
	char name[16];
	ssize_t n;
	int fd, i;

	for (i = 0; i < HEAP_FILES * HEAP_THREADS; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		ATF_REQUIRE((fd = openat(f->rootfd, name, O_RDONLY)) != -1);
		n = read(fd, got, sizeof(got) - 1);
		close(fd);
		ATF_REQUIRE(n >= 0);
		got[n] = '\0';
		heap_text(i, want);
		ATF_REQUIRE_MSG(strcmp(want, got) == 0, "file %d differs", i);
	}
}

ATF_TC_WITHOUT_HEAD(heap);
ATF_TC_BODY(heap, tc)
{
	static char text[HEAP_SIZE + 1];
	struct heap_job job[HEAP_THREADS];
	pthread_t t[HEAP_THREADS];
	struct co_error e;
	struct fix f;
	char name[16];
	int i;

	start(&f);
	for (i = 0; i < HEAP_FILES * HEAP_THREADS; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		heap_text(i, text);
		outside(&f, name, text);
	}
	begin(&f, 1);
	for (i = 0; i < HEAP_THREADS; i++) {
		job[i] = (struct heap_job){ &f, i, 0 };
		ATF_REQUIRE_EQ(0, pthread_create(&t[i], NULL, heap_thread,
		    &job[i]));
	}
	for (i = 0; i < HEAP_THREADS; i++) {
		ATF_REQUIRE_EQ(0, pthread_join(t[i], NULL));
		ATF_CHECK_EQ(0, job[i].error);
	}
	end(&f, 1);
	for (i = 0; i < 1000 && access(STORE "/steps/1/o/heap", F_OK) == 0;
	    i++)
		(void)undo_tick(f.u);
	ATF_REQUIRE_EQ(0, access(STORE "/steps/1/o/heap.z", F_OK));
	ATF_CHECK_EQ(-1, access(STORE "/steps/1/o/heap.t", F_OK));
	back(&f, 1);
	heap_check(&f);
	ATF_REQUIRE_EQ(0, undo_redo(f.u, 1, NULL, NULL, &e));
	has(&f, "0", "short");
	back(&f, 1);
	heap_check(&f);
	stop(&f);
}

static uint64_t
number_of(struct fix *f, const char *path)
{
	struct stat st;

	ATF_REQUIRE_EQ(0, fstatat(f->rootfd, path, &st, 0));
	return ((uint64_t)st.st_ino);
}

ATF_TC(number_reused);
ATF_TC_HEAD(number_reused, tc)
{

	atf_tc_set_md_var(tc, "descr", "One thread makes a file with the "
	    "inode number of one that another removes meanwhile");
}
ATF_TC_BODY(number_reused, tc)
{
	struct undo_ref r = ref("b");
	struct undo_op op;
	struct fix f;
	uint64_t a;
	int fd, i, reused = 0;

	start(&f);
	/* Most file systems give out a number again at once, but not all. */
	for (i = 1; i <= 20; i++) {
		begin(&f, i);
		ATF_REQUIRE_EQ(0, put(&f, "a", ""));
		a = number_of(&f, "a");
		ATF_REQUIRE_EQ(0, undo_pre_create(f.u, &op, &r));
		ATF_REQUIRE_EQ(0, rm(&f, "a"));
		fd = openat(f.rootfd, "b", O_WRONLY | O_CREAT | O_EXCL, 0644);
		ATF_REQUIRE(fd != -1);
		undo_done(f.u, &op, 0);
		close(fd);
		reused += number_of(&f, "b") == a;
		end(&f, i);
		back(&f, 1);
		ATF_CHECK_EQ(-1, faccessat(f.rootfd, "b", F_OK, 0));
	}
	printf("%d of 20 numbers given out again\n", reused);
	stop(&f);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, hooks);
	ATF_TP_ADD_TC(tp, number_reused);
	ATF_TP_ADD_TC(tp, kept_links);
	ATF_TP_ADD_TC(tp, seen_word);
	ATF_TP_ADD_TC(tp, steps);
	ATF_TP_ADD_TC(tp, nothing);
	ATF_TP_ADD_TC(tp, quiescence);
	ATF_TP_ADD_TC(tp, ambient);
	ATF_TP_ADD_TC(tp, redo);
	ATF_TP_ADD_TC(tp, guard_allow);
	ATF_TP_ADD_TC(tp, guard_deny);
	ATF_TP_ADD_TC(tp, guard_timeout);
	ATF_TP_ADD_TC(tp, guard_overflow);
	ATF_TP_ADD_TC(tp, barriers);
	ATF_TP_ADD_TC(tp, corrupt_barrier);
	ATF_TP_ADD_TC(tp, policy_lock);
	ATF_TP_ADD_TC(tp, policy_warn);
	ATF_TP_ADD_TC(tp, limit_count);
	ATF_TP_ADD_TC(tp, limit_log);
	ATF_TP_ADD_TC(tp, limit_step);
	ATF_TP_ADD_TC(tp, no_copies);
	ATF_TP_ADD_TC(tp, recovery);
	ATF_TP_ADD_TC(tp, corrupt_step);
	ATF_TP_ADD_TC(tp, corrupt_tail);
	ATF_TP_ADD_TC(tp, version);
	ATF_TP_ADD_TC(tp, discard);
	ATF_TP_ADD_TC(tp, stores);
	ATF_TP_ADD_TC(tp, changes);
	ATF_TP_ADD_TC(tp, diffs);
	ATF_TP_ADD_TC(tp, nameless);
	ATF_TP_ADD_TC(tp, whole);
	ATF_TP_ADD_TC(tp, nameless_dropped);
	ATF_TP_ADD_TC(tp, nameless_link);
	ATF_TP_ADD_TC(tp, power);
	ATF_TP_ADD_TC(tp, progress);
	ATF_TP_ADD_TC(tp, rollback_waits);
	ATF_TP_ADD_TC(tp, packed);
	ATF_TP_ADD_TC(tp, heap);
	return (atf_no_error());
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * cp: files and folders between the host and a sandbox.  What a sandbox
 * says of its names is not believed: on this side every name is one
 * component below a directory's descriptor, and no link is followed.
 */

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppicectl.h"

#define	WINDOW	(256 * 1024)
#define	CHUNK	(64 * 1024)
#define	MAXDEPTH	200

/* One copy: which sandbox, as whom, and how it goes. */
struct copy {
	const char	*id;
	const char	*user;
	bool		 recursive;
	int		 bad;		/* things that could not be copied */
	uint64_t	 bytes;		/* done so far, for progress */
};

/* One file on its way. */
struct transfer {
	struct copy	*c;
	const char	*name;		/* for messages */
	int		 fd;
	uint64_t	 window;
	bool		 eof;
	int		 error;		/* errno of this side */
};

static void
skip(struct copy *c, const char *name, const char *why)
{

	progress_end();
	fprintf(stderr, "coppicectl: %s: %s\n", safe(name), why);
	c->bad++;
}

static nvlist_t *
about(const struct copy *c, const char *op, const char *path)
{
	nvlist_t *nv = request(op, c->id);

	nvlist_add_string(nv, "path", path);
	if (c->user != NULL)
		nvlist_add_string(nv, "user", c->user);
	return (nv);
}

static char *
join(const char *dir, const char *name)
{
	size_t len = strlen(dir), room = len + strlen(name) + 2;
	char *s = malloc(room);

	if (s == NULL)
		fail("out of memory");
	snprintf(s, room, "%s%s%s", dir,
	    len > 0 && dir[len - 1] == '/' ? "" : "/", name);
	return (s);
}

/* The last component of a path, without slashes at its end. */
static char *
last(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	return (strndup(path + start, end - start));
}

static void
moved(struct copy *c, const char *name, size_t n)
{

	c->bytes += n;
	progress("%s  %s", name, human(c->bytes));
}

static bool
feed(void *arg, uint64_t req)
{
	struct transfer *t = arg;
	char buf[CHUNK];
	size_t room = t->window < sizeof(buf) ? (size_t)t->window :
	    sizeof(buf);
	nvlist_t *nv;
	ssize_t n;

	if (t->eof || room == 0)
		return (false);
	do
		n = read(t->fd, buf, room);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		t->error = errno;
		t->eof = true;
		tell(request("cancel", NULL), req);
		return (true);
	}
	nv = request("input", NULL);
	if (n > 0)
		nvlist_add_binary(nv, "data", buf, (size_t)n);
	else {
		nvlist_add_bool(nv, "eof", true);
		t->eof = true;
	}
	t->window -= (uint64_t)n;
	tell(nv, req);
	moved(t->c, t->name, (size_t)n);
	return (true);
}

static void
grant(void *arg, const nvlist_t *nv)
{
	struct transfer *t = arg;

	if (strcmp(ctl_string(nv, "event", ""), "room") == 0)
		t->window += ctl_uint(nv, "bytes", 0);
}

static void
put_file(struct copy *c, int fd, const char *name, const char *to,
    mode_t mode, bool atomic)
{
	struct transfer t = { .c = c, .name = name, .fd = fd,
	    .window = WINDOW };
	nvlist_t *nv = about(c, "file.write", to);

	nvlist_add_number(nv, "mode", mode & 07777);
	if (atomic)
		nvlist_add_bool(nv, "atomic", true);
	if (ask_feeding(nv, feed, grant, &t) != 0)
		c->bad++;
	if (t.error != 0)
		skip(c, name, strerror(t.error));
}

/* There is no request for links: the sandbox's own program makes one. */
static void
put_link(struct copy *c, int dir, const char *name, const char *to)
{
	const char *argv[] = { "ln", "-sfn", "--", NULL, to };
	char target[PATH_MAX];
	nvlist_t *nv, *answer;
	ssize_t n;

	n = readlinkat(dir, name, target, sizeof(target) - 1);
	if (n < 0) {
		skip(c, name, strerror(errno));
		return;
	}
	target[n] = '\0';
	argv[3] = target;
	nv = request("exec", c->id);
	nvlist_add_string_array(nv, "argv", argv, 5);
	if (c->user != NULL)
		nvlist_add_string(nv, "user", c->user);
	if (ask(nv, NULL, NULL, &answer) != 0) {
		skip(c, to, "a link, which the sandbox has no ln(1) to make");
		return;
	}
	if (ctl_uint(answer, "exit_code", 0) != 0)
		skip(c, to, "a link, which the sandbox could not make");
	nvlist_destroy(answer);
}

static void put_dir(struct copy *, int, const char *, mode_t, int);

static void
put_any(struct copy *c, int dir, const char *name, const char *to, int depth)
{
	struct stat st;
	int fd;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		skip(c, name, strerror(errno));
		return;
	}
	if (S_ISLNK(st.st_mode)) {
		put_link(c, dir, name, to);
		return;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		skip(c, name, "neither a file nor a folder; left out");
		return;
	}
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1) {
		skip(c, name, strerror(errno));
		return;
	}
	if (S_ISDIR(st.st_mode))
		put_dir(c, fd, to, st.st_mode, depth + 1);
	else
		put_file(c, fd, name, to, st.st_mode, true);
	close(fd);
}

/* Copy the directory fd, which stays the caller's. */
static void
put_dir(struct copy *c, int fd, const char *to, mode_t mode, int depth)
{
	nvlist_t *nv = about(c, "file.mkdir", to);
	struct dirent *d;
	char *path;
	DIR *dp;
	int copy;

	nvlist_add_number(nv, "mode", mode & 07777);
	nvlist_add_bool(nv, "parents", true);
	if (depth > MAXDEPTH || ask(nv, NULL, NULL, NULL) != 0) {
		c->bad++;
		return;
	}
	copy = dup(fd);
	dp = copy != -1 ? fdopendir(copy) : NULL;
	if (dp == NULL) {
		skip(c, to, strerror(errno));
		return;
	}
	while ((d = readdir(dp)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		path = join(to, d->d_name);
		put_any(c, fd, d->d_name, path, depth);
		free(path);
	}
	closedir(dp);
}

/* What kind of thing a path of the sandbox is, or "" if there is none. */
static const char *
kind_of(struct copy *c, const char *path, mode_t *mode)
{
	nvlist_t *nv = about(c, "file.stat", path);
	static char kind[16];
	struct co_error e;

	kind[0] = '\0';
	nvlist_add_bool(nv, "follow", true);
	if (ask_quietly(nv, NULL, NULL, &nv, &e) != 0) {
		if (e.code == CO_ESANDBOX_NOTFOUND ||
		    e.code == CO_ESANDBOX_STATE ||
		    e.code == CO_EPROTO_DENIED) {
			complain(c->id, &e);
			exit(failure());
		}
		return (kind);
	}
	snprintf(kind, sizeof(kind), "%s", ctl_string(nv, "kind", ""));
	if (mode != NULL)
		*mode = (mode_t)ctl_uint(nv, "mode", 0644) & 0777;
	nvlist_destroy(nv);
	return (kind);
}

static void
upload(struct copy *c, const char *from, const char *to)
{
	char *name = last(from), *path;
	const char *kind;
	struct stat st;
	bool into;
	int fd;

	kind = kind_of(c, to, NULL);
	into = strcmp(kind, "dir") == 0;
	if (strcmp(from, "-") == 0) {
		put_file(c, STDIN_FILENO, from, to, 0644, *kind == '\0' ||
		    strcmp(kind, "file") == 0);
		free(name);
		return;
	}
	fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) != 0)
		fail("%s: %s", from, strerror(errno));
	path = into && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ?
	    join(to, name) : strdup(to);
	if (path == NULL)
		fail("out of memory");
	if (!S_ISDIR(st.st_mode))
		put_file(c, fd, from, path, st.st_mode, into ||
		    *kind == '\0' || strcmp(kind, "file") == 0);
	else if (c->recursive)
		put_dir(c, fd, path, st.st_mode, 0);
	else
		fail("%s is a folder; copy it by \"cp -r\"", from);
	close(fd);
	free(path);
	free(name);
}

static void
take(void *arg, const nvlist_t *nv)
{
	struct transfer *t = arg;
	const void *data;
	size_t len;

	if (strcmp(ctl_string(nv, "event", ""), "data") != 0 ||
	    !nvlist_exists_binary(nv, "data"))
		return;
	data = nvlist_get_binary(nv, "data", &len);
	if (t->error == 0) {
		t->error = co_write_all(t->fd, data, len);
		if (t->error != 0)
			tell(request("cancel", NULL),
			    ctl_uint(nv, "req", 0));
	}
	acknowledge(nv, len);
	moved(t->c, t->name, len);
}

static void
get_file(struct copy *c, const char *from, int fd)
{
	struct transfer t = { .c = c, .name = from, .fd = fd };

	if (ask(about(c, "file.read", from), take, &t, NULL) != 0)
		c->bad++;
	if (t.error != 0)
		skip(c, from, strerror(t.error));
}

/* One thing of a folder, as the sandbox tells it. */
struct entry {
	char	*name;
	char	 kind[16];
	mode_t	 mode;
	char	*target;
};

struct entries {
	struct copy	*c;
	const char	*dir;
	struct entry	*list;
	size_t		 n;
};

/* The name of a path directly below dir; NULL if it is anything else. */
static const char *
below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	while (n > 0 && dir[n - 1] == '/')
		n--;
	if (strncmp(path, dir, n) == 0 && path[n] == '/')
		path += n + 1;
	if (*path == '\0' || strchr(path, '/') != NULL ||
	    strcmp(path, ".") == 0 || strcmp(path, "..") == 0 ||
	    strlen(path) > NAME_MAX)
		return (NULL);
	return (path);
}

static void
collect(void *arg, const nvlist_t *nv)
{
	struct entries *l = arg;
	struct entry *p;
	const char *name;

	if (strcmp(ctl_string(nv, "event", ""), "entry") != 0)
		return;
	name = below(l->dir, ctl_string(nv, "path", ""));
	if (name == NULL) {
		skip(l->c, ctl_string(nv, "path", ""),
		    "a name that leads elsewhere; left out");
		return;
	}
	p = realloc(l->list, (l->n + 1) * sizeof(*p));
	if (p == NULL)
		fail("out of memory");
	l->list = p;
	p += l->n++;
	p->name = strdup(name);
	p->target = strdup(ctl_string(nv, "target", ""));
	if (p->name == NULL || p->target == NULL)
		fail("out of memory");
	p->mode = (mode_t)ctl_uint(nv, "mode", 0644) & 0777;
	snprintf(p->kind, sizeof(p->kind), "%s", ctl_string(nv, "kind", ""));
}

static void get_dir(struct copy *, const char *, int, int);

static void
get_any(struct copy *c, const char *from, const struct entry *n, int dir,
    int depth)
{
	int fd;

	if (strcmp(n->kind, "link") == 0) {
		(void)unlinkat(dir, n->name, 0);
		if (symlinkat(n->target, dir, n->name) != 0)
			skip(c, from, strerror(errno));
		return;
	}
	if (strcmp(n->kind, "dir") == 0) {
		if (mkdirat(dir, n->name, 0700) != 0 && errno != EEXIST) {
			skip(c, from, strerror(errno));
			return;
		}
		fd = openat(dir, n->name, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC);
		if (fd != -1)
			get_dir(c, from, fd, depth + 1);
	} else if (strcmp(n->kind, "file") == 0) {
		fd = openat(dir, n->name, O_WRONLY | O_CREAT | O_TRUNC |
		    O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
		if (fd != -1)
			get_file(c, from, fd);
	} else {
		skip(c, from, "neither a file nor a folder; left out");
		return;
	}
	if (fd == -1) {
		skip(c, from, strerror(errno));
		return;
	}
	(void)fchmod(fd, n->mode);
	close(fd);
}

static void
get_dir(struct copy *c, const char *from, int dir, int depth)
{
	struct entries l = { .c = c, .dir = from };
	char *path;

	if (depth > MAXDEPTH) {
		skip(c, from, "too deep; left out");
		return;
	}
	if (ask(about(c, "file.list", from), collect, &l, NULL) != 0)
		c->bad++;
	for (size_t i = 0; i < l.n; i++) {
		path = join(from, l.list[i].name);
		get_any(c, path, &l.list[i], dir, depth);
		free(path);
		free(l.list[i].name);
		free(l.list[i].target);
	}
	free(l.list);
}

static void
download_dir(struct copy *c, const char *from, const char *to)
{
	int fd;

	if (mkdir(to, 0777) != 0 && errno != EEXIST)
		fail("%s: %s", to, strerror(errno));
	fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		fail("%s: %s", to, strerror(errno));
	get_dir(c, from, fd, 0);
	close(fd);
}

static void
download(struct copy *c, const char *from, const char *to)
{
	char *name = last(from), *path;
	const char *kind;
	mode_t mode = 0644;
	struct stat st;
	bool isdir;
	int fd;

	if (strcmp(to, "-") == 0) {
		get_file(c, from, STDOUT_FILENO);
		free(name);
		return;
	}
	kind = kind_of(c, from, &mode);
	if (*kind == '\0')
		fail("%s: the sandbox has no such file, or not for this user",
		    from);
	isdir = strcmp(kind, "dir") == 0;
	if (isdir && !c->recursive)
		fail("%s is a folder; copy it by \"cp -r\"", from);
	path = stat(to, &st) == 0 && S_ISDIR(st.st_mode) &&
	    below("", name) != NULL ? join(to, name) : strdup(to);
	if (path == NULL)
		fail("out of memory");
	if (isdir)
		download_dir(c, from, path);
	else {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    mode);
		if (fd == -1)
			fail("%s: %s", path, strerror(errno));
		get_file(c, from, fd);
		if (close(fd) != 0)
			skip(c, path, strerror(errno));
	}
	free(path);
	free(name);
}

/* Split "sandbox:path"; NULL if it is a path of the host. */
static char *
remote(char *arg)
{
	char *colon = strchr(arg, ':');

	if (colon == NULL || colon == arg ||
	    memchr(arg, '/', (size_t)(colon - arg)) != NULL)
		return (NULL);
	*colon = '\0';
	return (colon[1] != '\0' ? colon + 1 : colon);
}

int
cmd_cp(int argc, char **argv)
{
	struct copy c = { 0 };
	char *from, *to;
	int ch;

	while ((ch = getopt(argc, argv, "+ru:")) != -1)
		switch (ch) {
		case 'r':
			c.recursive = true;
			break;
		case 'u':
			c.user = optarg;
			break;
		default:
			usage();
		}
	if (argc - optind != 2)
		usage();
	from = remote(argv[optind]);
	to = remote(argv[optind + 1]);
	if ((from == NULL) == (to == NULL))
		fail("one of source and target must be sandbox:path, and "
		    "only one; write ./name for a file of the host with a "
		    "colon");
	c.id = from != NULL ? argv[optind] : argv[optind + 1];
	if (from != NULL)
		download(&c, *from != '\0' ? from : "/", argv[optind + 1]);
	else
		upload(&c, argv[optind], *to != '\0' ? to : "/");
	return (c.bad == 0 ? 0 : failure());
}

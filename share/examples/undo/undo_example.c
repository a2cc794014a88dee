/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How a file server uses libundo, in one screen each: announce a mutation,
 * perform it, say what came of it.  This one "serves" two commands on a
 * folder that it makes itself: an edit, and the removal of everything.
 * Run by "make run".
 */

#include <sys/stat.h>

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "undo.h"

static struct undo *u;
static int root;

static _Noreturn void
fail(int error, const char *path)
{

	errno = error;
	err(1, "%s", path);
}

static void
put(const char *path, const char *text)
{
	int fd;

	fd = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd == -1 || co_write_all(fd, text, strlen(text)) != 0)
		err(1, "%s", path);
	close(fd);
}

static void
append(const char *path, const char *text)
{
	struct undo_ref ref = { .path = path, .dirfd = -1 };
	struct undo_op op;
	int error;

	ref.fd = openat(root, path, O_RDWR | O_APPEND);
	if (ref.fd == -1)
		err(1, "%s", path);
	error = undo_pre_write(u, &op, &ref);
	if (error != 0)
		fail(error, path);
	error = co_write_all(ref.fd, text, strlen(text));
	undo_done(u, &op, error);
	close(ref.fd);
}

static void
erase(int dirfd, const char *name, const char *path, bool dir)
{
	struct undo_ref ref = { .path = path, .dirfd = dirfd, .name = name,
	    .fd = -1 };
	struct undo_op op;
	bool taken = false;
	int error;

	error = dir ? undo_pre_rmdir(u, &op, &ref) :
	    undo_pre_unlink(u, &op, &ref, &taken);
	if (error != 0)
		fail(error, path);
	if (!taken && unlinkat(dirfd, name, dir ? AT_REMOVEDIR : 0) != 0)
		error = errno;
	undo_done(u, &op, error);
}

/* rm -rf of what is in the directory fd, which path names. */
static void
erase_all(int fd, const char *path)
{
	char sub[1024];
	struct dirent *d;
	struct stat st;
	DIR *dir;
	int child;

	dir = fdopendir(dup(fd));
	if (dir == NULL)
		err(1, "%s", path);
	rewinddir(dir);
	while ((d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0)
			continue;
		snprintf(sub, sizeof(sub), "%s%s%s", path,
		    *path == '\0' ? "" : "/", d->d_name);
		if (fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			err(1, "%s", sub);
		if (S_ISDIR(st.st_mode)) {
			child = openat(fd, d->d_name, O_RDONLY | O_DIRECTORY |
			    O_NOFOLLOW);
			if (child == -1)
				err(1, "%s", sub);
			erase_all(child, sub);
			close(child);
		}
		erase(fd, d->d_name, sub, S_ISDIR(st.st_mode));
	}
	closedir(dir);
}

static int
show_step(void *arg, const struct undo_step *s, const struct undo_stamp *b)
{

	(void)arg;
	if (s != NULL)
		printf("  step %lld: %-24s %llu paths, exit %d\n",
		    (long long)s->id, s->command,
		    (unsigned long long)s->paths, s->exit);
	else
		printf("  barrier %llu\n", (unsigned long long)b->id);
	return (0);
}

static int
show_path(void *arg, const struct undo_path *p)
{
	static const char mark[] = {
		[UNDO_CREATED] = '+', [UNDO_MODIFIED] = 'M',
		[UNDO_DELETED] = '-', [UNDO_RENAMED] = 'R', [UNDO_META] = 'm'
	};

	(void)arg;
	printf("  %c %s\n", mark[p->change], p->path);
	return (0);
}

static void
list(const char *title)
{
	struct dirent *d;
	DIR *dir;
	int n = 0;

	printf("%s:", title);
	dir = fdopendir(openat(root, ".", O_RDONLY | O_DIRECTORY));
	if (dir == NULL)
		err(1, "opendir");
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.') {
			printf(" %s", d->d_name);
			n++;
		}
	printf(n == 0 ? " (empty)\n" : "\n");
	closedir(dir);
}

static void
must(int ret, const struct co_error *e)
{

	if (ret != 0)
		errx(1, "%s: %s", co_error_symbol(e->code), e->message);
}

static void
prepare(const char *work)
{
	struct undo_options o = { .quiet_ms = 1 };
	struct co_error e;
	char store[1024];

	root = open(work, O_RDONLY | O_DIRECTORY);
	if (root == -1 || mkdirat(root, "folder", 0755) != 0)
		err(1, "%s", work);
	close(root);
	snprintf(store, sizeof(store), "%s/folder", work);
	root = open(store, O_RDONLY | O_DIRECTORY);
	if (root == -1 || mkdirat(root, "src", 0755) != 0)
		err(1, "%s", store);
	put("README", "a project\n");
	put("src/main.c", "int main(void) { return (0); }\n");
	put("src/util.c", "int util;\n");
	snprintf(store, sizeof(store), "%s/undo", work);
	must(undo_open(root, store, &o, &u, &e), &e);
}

int
main(int argc, char *argv[])
{
	struct co_error e;

	if (argc != 2) {
		fprintf(stderr, "usage: undo_example empty-directory\n");
		return (2);
	}
	prepare(argv[1]);
	list("the folder");

	printf("\n$ echo more >> README\n");
	must(undo_step_begin(u, 1, UNDO_COMMAND, "echo more >> README", &e),
	    &e);
	append("README", "more\n");
	must(undo_step_complete(u, 1, 0, &e), &e);

	printf("$ rm -rf *\n");
	must(undo_step_begin(u, 2, UNDO_COMMAND, "rm -rf *", &e), &e);
	erase_all(root, "");
	must(undo_step_complete(u, 2, 0, &e), &e);
	while (undo_step_current(u) != 0) {
		usleep(2000);
		undo_tick(u);
	}
	list("the folder");

	printf("\nhistory, newest first:\n");
	must(undo_history(u, show_step, NULL, &e), &e);
	printf("what step 2 did:\n");
	must(undo_changes(u, 2, show_path, NULL, &e), &e);
	printf("\nundo 1 step\n");
	must(undo_rollback(u, 1, false, NULL, NULL, &e), &e);
	list("the folder");
	printf("\nwhat step 1 did:\n");
	fflush(stdout);
	must(undo_diff(u, 1, STDOUT_FILENO, 0, &e), &e);
	undo_close(u);
	close(root);
	return (0);
}

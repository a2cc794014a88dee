/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * See fixture.h.
 */

#include <sys/stat.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "fixture.h"

const struct share_cred as_root = { .umask = 022 };
const struct share_cred as_user = { .uid = 1001, .gid = 1001, .umask = 022 };

void
fixture_open(struct fixture *f, const struct share_options *o, struct undo *u)
{
	struct co_error e;

	ATF_REQUIRE(mkdir("in", 0755) == 0 || errno == EEXIST);
	ATF_REQUIRE(mkdir("out", 0755) == 0 || errno == EEXIST);
	f->in = open("in", O_RDONLY | O_DIRECTORY);
	f->out = open("out", O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE(f->in != -1 && f->out != -1);
	ATF_REQUIRE_MSG(share_open(f->in, u, o, &f->s, &e) == 0, "%s",
	    e.message);
	f->root = share_root(f->s);
}

void
fixture_close(struct fixture *f)
{

	share_put(f->s, f->root);
	share_close(f->s);
	(void)close(f->in);
	(void)close(f->out);
}

struct share_node *
find(struct fixture *f, struct share_node *dir, const char *name)
{
	struct share_node *n;
	struct share_attr a;

	REQUIRE_ERR(0, share_lookup(f->s, &as_root, dir, name, &n, &a));
	return (n);
}

int
look(struct fixture *f, struct share_node *dir, const char *name)
{
	struct share_node *n;
	struct share_attr a;
	int error;

	if ((error = share_lookup(f->s, &as_root, dir, name, &n, &a)) == 0)
		share_put(f->s, n);
	return (error);
}

struct share_node *
put(struct fixture *f, struct share_node *dir, const char *name,
    const char *text)
{
	struct share_file *file;
	struct share_node *n;
	struct share_attr a;
	size_t done;

	REQUIRE_ERR(0, share_create(f->s, &as_root, dir, name,
	    SHARE_O_WRITE | SHARE_O_TRUNC, 0644, &n, &a, &file));
	REQUIRE_ERR(0, share_write(f->s, file, text, strlen(text), 0, 0,
	    &done));
	ATF_REQUIRE_EQ(strlen(text), done);
	share_file_close(f->s, file);
	return (n);
}

bool
holds(struct fixture *f, struct share_node *n, const char *text)
{
	struct share_file *file;
	char buf[4096];
	size_t len;

	REQUIRE_ERR(0, share_file_open(f->s, &as_root, n, SHARE_O_READ,
	    &file));
	REQUIRE_ERR(0, share_read(f->s, file, buf, sizeof(buf), 0, &len));
	share_file_close(f->s, file);
	return (len == strlen(text) && memcmp(buf, text, len) == 0);
}

void
host_file(int dir, const char *name, const char *text)
{
	int fd;

	fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ATF_REQUIRE(fd != -1);
	ATF_REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	ATF_REQUIRE(close(fd) == 0);
}

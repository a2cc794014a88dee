/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The name of a template: SHA-256 of its manifest and of all that is in its
 * tree: paths, types, permissions, owners and contents, but not times.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

#define	CHUNK	(64 * 1024)

struct hash {
	SHA256_CTX	ctx;
	char		buf[CHUNK];
};

/* Every text goes with its length, so that no two trees look the same. */
static void
add_text(struct hash *h, const char *s, size_t len)
{
	char head[32];
	int n;

	n = snprintf(head, sizeof(head), "%zu:", len);
	SHA256_Update(&h->ctx, (const uint8_t *)head, (size_t)n);
	SHA256_Update(&h->ctx, (const uint8_t *)s, len);
}

static int
add_file(struct hash *h, int dir, const char *name, uint64_t size)
{
	uint64_t done = 0;
	ssize_t n;
	int error = 0, fd;

	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1)
		return (errno);
	for (;;) {
		n = read(fd, h->buf, sizeof(h->buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		SHA256_Update(&h->ctx, (const uint8_t *)h->buf, (size_t)n);
		done += (uint64_t)n;
	}
	if (n < 0)
		error = errno;
	else if (done != size)
		error = EBUSY;
	close(fd);
	return (error);
}

static int
add_link(struct hash *h, int dir, const char *name)
{
	char target[PATH_MAX];
	ssize_t n;

	n = readlinkat(dir, name, target, sizeof(target));
	if (n < 0)
		return (errno);
	add_text(h, target, (size_t)n);
	return (0);
}

static int
add(void *arg, int dir, const char *name, const char *path,
    const struct stat *st, struct co_error *e)
{
	struct hash *h = arg;
	char head[128];
	uint64_t size;
	int error = 0, n;

	size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	add_text(h, path, strlen(path));
	n = snprintf(head, sizeof(head), "%o %ju %ju %" PRIu64 ";",
	    (unsigned int)st->st_mode, (uintmax_t)st->st_uid,
	    (uintmax_t)st->st_gid, size);
	SHA256_Update(&h->ctx, (const uint8_t *)head, (size_t)n);
	if (S_ISREG(st->st_mode))
		error = add_file(h, dir, name, size);
	else if (S_ISLNK(st->st_mode))
		error = add_link(h, dir, name);
	if (error != 0)
		return (co_error_errno(e, error, path, "can't read \"%s\"",
		    path));
	return (0);
}

int
template_hash(int root, const char *manifest, char hash[TEMPLATE_HASHSIZE],
    struct co_error *e)
{
	uint8_t digest[32];
	struct hash *h;
	int ret;

	h = malloc(sizeof(*h));
	if (h == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	SHA256_Init(&h->ctx);
	add_text(h, manifest, strlen(manifest));
	ret = template_walk(root, add, h, e);
	SHA256_Final(digest, &h->ctx);
	free(h);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(hash + 2 * i, 3, "%02x", digest[i]);
	return (ret);
}

static int
add_size(void *arg, int dir, const char *name, const char *path,
    const struct stat *st, struct co_error *e)
{
	uint64_t *size = arg;

	(void)dir;
	(void)name;
	(void)path;
	(void)e;
	if (S_ISREG(st->st_mode))
		*size += (uint64_t)st->st_size;
	return (0);
}

int
template_size(int root, uint64_t *size, struct co_error *e)
{

	*size = 0;
	return (template_walk(root, add_size, size, e));
}

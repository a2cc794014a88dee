/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Which numbers a user of a template has.  Its passwd(5) is a stranger's:
 * lines that are too long or make no sense are passed over.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

#define	ID_MAX		65535	/* all that a sandbox has */
#define	LINES_MAX	100000

static bool
number(const char *s, const char *ends, uid_t *id, const char **next)
{
	unsigned long n;
	char *end;

	if (*s < '0' || *s > '9')
		return (false);
	n = strtoul(s, &end, 10);
	if (n > ID_MAX || strchr(ends, *end) == NULL)
		return (false);
	*id = (uid_t)n;
	*next = end;
	return (true);
}

/* "name:password:uid:gid:..." */
static bool
passwd_line(const char *line, const char *user, uid_t *uid, gid_t *gid)
{
	size_t len = strlen(user);
	const char *p;

	if (strncmp(line, user, len) != 0 || line[len] != ':' ||
	    (p = strchr(line + len + 1, ':')) == NULL)
		return (false);
	return (number(p + 1, ":", uid, &p) && *p == ':' &&
	    number(p + 1, ":", gid, &p) && *p == ':');
}

/* Without following links, which lead out of the tree. */
static FILE *
open_passwd(const char *root)
{
	int dir, etc, fd = -1;
	FILE *fp;

	dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		return (NULL);
	etc = openat(dir, "etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	(void)close(dir);
	if (etc != -1) {
		fd = openat(etc, "passwd", O_RDONLY | O_NOFOLLOW |
		    O_NONBLOCK | O_CLOEXEC);
		(void)close(etc);
	}
	if (fd == -1 || (fp = fdopen(fd, "r")) == NULL) {
		if (fd != -1)
			(void)close(fd);
		return (NULL);
	}
	return (fp);
}

void
template_user(const struct template *t, const char *user, uid_t *uid,
    gid_t *gid)
{
	char line[1024];
	const char *p;
	FILE *fp;

	*uid = 0;
	*gid = 0;
	if (number(user, ":", uid, &p)) {
		*gid = *uid;
		if (*p == ':')
			(void)number(p + 1, "", gid, &p);
		return;
	}
	if ((fp = open_passwd(t->root)) == NULL)
		return;
	for (int i = 0; i < LINES_MAX; i++)
		if (fgets(line, sizeof(line), fp) == NULL ||
		    passwd_line(line, user, uid, gid))
			break;
	(void)fclose(fp);
}

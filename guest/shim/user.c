/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Readers of passwd(5) and group(5).  Lines that are too long or malformed
 * are passed over.
 */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "guest.h"
#include "user.h"

#define	PASSWD		"/etc/passwd"
#define	GROUP		"/etc/group"
#define	LINE		8192
#define	MAXLINES	100000

/* Split s at colons into n fields; false if there are fewer. */
static bool
split(char *s, char **field, int n)
{

	s[strcspn(s, "\n")] = '\0';
	for (int i = 0; i < n; i++) {
		field[i] = s;
		s += strcspn(s, ":");
		if (*s == '\0' && i < n - 1)
			return (false);
		if (*s != '\0')
			*s++ = '\0';
	}
	return (true);
}

static bool
number(const char *s, unsigned *n)
{
	int64_t v;

	if (conf_number(s, 0, UINT_MAX - 1, &v) != 0)
		return (false);
	*n = (unsigned)v;
	return (true);
}

/* Call fn for each line of fields until it returns true. */
static bool
each(const char *path, int n, bool (*fn)(char **, void *), void *arg)
{
	char line[LINE], *field[8];
	bool found = false;
	FILE *fp;
	int c;

	if ((fp = fopen(path, "re")) == NULL)
		return (false);
	for (int i = 0; i < MAXLINES && !found; i++) {
		if (fgets(line, sizeof(line), fp) == NULL)
			break;
		if (strchr(line, '\n') == NULL && !feof(fp)) {
			do
				c = fgetc(fp);
			while (c != '\n' && c != EOF);
			continue;
		}
		if (split(line, field, n))
			found = fn(field, arg);
	}
	fclose(fp);
	return (found);
}

static void
copy(char *to, size_t size, const char *from)
{

	(void)snprintf(to, size, "%s", from);
}

struct want {
	const char	*name;		/* NULL: by uid */
	unsigned	 num;
	struct user	*u;
	char		*to;
	size_t		 size;
};

static bool
passwd_line(char **f, void *arg)
{
	struct want *w = arg;
	unsigned uid, gid;

	if (!number(f[2], &uid) || !number(f[3], &gid))
		return (false);
	if (w->name != NULL ? strcmp(f[0], w->name) != 0 : uid != w->num)
		return (false);
	if (w->u == NULL) {
		copy(w->to, w->size, f[0]);
		return (true);
	}
	w->u->uid = uid;
	w->u->gid = gid;
	copy(w->u->name, sizeof(w->u->name), f[0]);
	copy(w->u->home, sizeof(w->u->home), f[5]);
	copy(w->u->shell, sizeof(w->u->shell), f[6]);
	return (true);
}

/* Add the group to the user if it is among its members. */
static bool
member_line(char **f, void *arg)
{
	struct user *u = arg;
	unsigned gid;
	char *save, *m;

	if (!number(f[2], &gid) || gid == u->gid)
		return (false);
	for (m = strtok_r(f[3], ",", &save); m != NULL;
	    m = strtok_r(NULL, ",", &save))
		if (strcmp(m, u->name) == 0 && u->ngroups < USER_GROUPS) {
			u->groups[u->ngroups++] = gid;
			break;
		}
	return (false);
}

static bool
group_line(char **f, void *arg)
{
	struct want *w = arg;
	unsigned gid;

	if (!number(f[2], &gid) || gid != w->num)
		return (false);
	copy(w->to, w->size, f[0]);
	return (true);
}

/* "uid" or "uid:gid". */
static bool
numeric(const char *spec, unsigned *uid, unsigned *gid, bool *hasgid)
{
	char s[65], *colon;

	copy(s, sizeof(s), spec);
	if ((colon = strchr(s, ':')) != NULL)
		*colon++ = '\0';
	*hasgid = colon != NULL;
	return (number(s, uid) && (colon == NULL || number(colon, gid)));
}

int
user_find(const char *spec, struct user *u)
{
	unsigned uid, gid = 0;
	struct want w = { .u = u };
	bool hasgid, found;

	memset(u, 0, sizeof(*u));
	copy(u->home, sizeof(u->home), "/");
	copy(u->shell, sizeof(u->shell), "/bin/sh");
	if (numeric(spec, &uid, &gid, &hasgid)) {
		w.num = uid;
		found = each(PASSWD, 7, passwd_line, &w);
		if (!found) {
			u->uid = uid;
			u->gid = gid;
			copy(u->name, sizeof(u->name), spec);
		}
		if (hasgid)
			u->gid = gid;
	} else {
		w.name = spec;
		found = each(PASSWD, 7, passwd_line, &w);
		/* Everybody knows root, even an empty image. */
		if (!found && strcmp(spec, "root") != 0)
			return (ENOENT);
		if (!found)
			copy(u->name, sizeof(u->name), spec);
	}
	u->groups[u->ngroups++] = u->gid;
	(void)each(GROUP, 4, member_line, u);
	return (0);
}

void
user_name(uid_t uid, char *to, size_t size)
{
	struct want w = { .num = uid, .to = to, .size = size };

	(void)snprintf(to, size, "%u", (unsigned)uid);
	(void)each(PASSWD, 7, passwd_line, &w);
}

void
user_group(gid_t gid, char *to, size_t size)
{
	struct want w = { .num = gid, .to = to, .size = size };

	(void)snprintf(to, size, "%u", (unsigned)gid);
	(void)each(GROUP, 4, group_line, &w);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Where things are: configuration, folders, helpers.
 */

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "coppiced.h"

static char *
textf(const char *, ...) CO_PRINTF(1, 2);

static char *
textf(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) == -1)
		s = NULL;
	va_end(ap);
	return (s);
}

/* With a prefix, everything that the file does not name is below it. */
static char *
folder(const struct settings *s, const char *key)
{

	if (s->prefix != NULL && !co_conf_isset(s->conf, key))
		return (textf("%s/%s", s->prefix, key));
	return (strdup(co_conf_string(s->conf, key)));
}

static char *
find_conf(const struct settings *s)
{
	char *path;

	if (s->conf_path != NULL)
		return (strdup(s->conf_path));
	path = textf("%s/coppice.conf", s->prefix != NULL ? s->prefix :
	    SYSCONF);
	if (path != NULL && access(path, F_OK) == 0)
		return (path);
	free(path);
	return (NULL);
}

static char *
find_self(void)
{
	char buf[PATH_MAX];
	size_t len = sizeof(buf);

	if (uv_exepath(buf, &len) != 0)
		return (NULL);
	return (strdup(buf));
}

int
settings_load(struct settings *s, struct co_error *e)
{

	s->conf_found = find_conf(s);
	if (co_conf_load(s->conf_found, co_keys, co_nkeys, &s->conf, e) != 0)
		return (-1);
	s->state = folder(s, "state");
	s->run = folder(s, "run");
	s->self = find_self();
	if (s->state != NULL && s->run != NULL && s->self != NULL)
		return (0);
	return (co_error_set(e, CO_ESYS_NOMEM, NULL, "out of memory"));
}

static bool
has_shim(const char *dir)
{
	char *path;
	bool ok;

	path = textf("%s/coppice-shim", dir);
	ok = path != NULL && access(path, X_OK) == 0;
	free(path);
	return (ok);
}

static int
gather(const char *from, const char *to)
{
	char *target;
	int ret = 0;

	target = realpath(from, NULL);
	(void)unlink(to);
	if (target == NULL || symlink(target, to) != 0)
		ret = -1;
	free(target);
	return (ret);
}

/* The tree of objects has each program in a folder of its own. */
static char *
from_objects(const struct settings *s)
{
	static const char *const tree[][2] = {
		{ "guest/shim/coppice-shim", "coppice-shim" },
		{ "sbin/coppicefsd/coppicefsd", "coppicefsd" }
	};
	char dir[PATH_MAX], from[PATH_MAX + 64], to[PATH_MAX + 64];
	char *slash, *libexec;

	(void)snprintf(dir, sizeof(dir), "%s", s->self);
	slash = strrchr(dir, '/');
	if (slash == NULL)
		return (NULL);
	*slash = '\0';
	libexec = textf("%s/libexec", s->run);
	if (libexec == NULL)
		return (NULL);
	(void)mkdir(s->run, 0755);
	(void)mkdir(libexec, 0755);
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(from, sizeof(from), "%s/../../%s", dir,
		    tree[i][0]);
		(void)snprintf(to, sizeof(to), "%s/%s", libexec, tree[i][1]);
		if (gather(from, to) != 0) {
			free(libexec);
			return (NULL);
		}
	}
	return (libexec);
}

int
settings_helpers(struct settings *s, struct co_error *e)
{

	if (s->libexec_arg != NULL)
		s->libexec = realpath(s->libexec_arg, NULL);
	else if (has_shim(LIBEXEC))
		s->libexec = strdup(LIBEXEC);
	else
		s->libexec = from_objects(s);
	if (s->libexec != NULL && has_shim(s->libexec))
		return (0);
	return (co_error_set(e, CO_ESYS_CONFIG, "coppice-shim",
	    "coppice-shim is not in \"%s\"; tell by -L where it is",
	    s->libexec != NULL ? s->libexec : LIBEXEC));
}

void
settings_free(struct settings *s)
{

	co_conf_free(s->conf);
	free(s->conf_found);
	free(s->state);
	free(s->run);
	free(s->libexec);
	free(s->self);
}

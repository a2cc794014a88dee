/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding, listing and removing templates.
 */

#include <sys/stat.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

#define	HASHLEN		(TEMPLATE_HASHSIZE - 1)
#define	SHORTEST	6

static bool
is_hash(const char *s, size_t shortest)
{
	size_t n = strspn(s, "0123456789abcdef");

	return (s[n] == '\0' && n >= shortest && n <= HASHLEN);
}

/* The hash that a link in names/ has; false if there is none. */
static bool
resolve(int store, const char *name, char hash[TEMPLATE_HASHSIZE])
{
	char path[80], target[TEMPLATE_HASHSIZE + 3];
	ssize_t n;

	if (!template_name_valid(name))
		return (false);
	snprintf(path, sizeof(path), "names/%s", name);
	n = readlinkat(store, path, target, sizeof(target) - 1);
	if (n != HASHLEN + 3 || strncmp(target, "../", 3) != 0)
		return (false);
	target[n] = '\0';
	if (!is_hash(target + 3, HASHLEN))
		return (false);
	strcpy(hash, target + 3);
	return (true);
}

static DIR *
open_list(int store, const char *name)
{
	DIR *dp;
	int fd;

	fd = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (NULL);
	dp = fdopendir(fd);
	if (dp == NULL)
		close(fd);
	return (dp);
}

/* The templates whose hash begins with prefix: how many, and one of them. */
static int
match(int store, const char *prefix, char hash[TEMPLATE_HASHSIZE])
{
	struct dirent *d;
	int n = 0;
	DIR *dp;

	dp = open_list(store, ".");
	if (dp == NULL)
		return (0);
	while ((d = readdir(dp)) != NULL)
		if (is_hash(d->d_name, HASHLEN) &&
		    strncmp(d->d_name, prefix, strlen(prefix)) == 0) {
			memcpy(hash, d->d_name, TEMPLATE_HASHSIZE);
			n++;
		}
	closedir(dp);
	return (n);
}

/* What name means. */
static int
lookup(int store, const char *name, char hash[TEMPLATE_HASHSIZE],
    struct co_error *e)
{
	int n = 0;

	if (resolve(store, name, hash))
		return (0);
	if (is_hash(name, SHORTEST))
		n = match(store, name, hash);
	if (n == 1)
		return (0);
	if (n > 1)
		return (co_error_set(e, CO_ETEMPLATE_NOTFOUND, name,
		    "%d templates begin with \"%s\"; give more digits", n,
		    name));
	return (co_error_set(e, CO_ETEMPLATE_NOTFOUND, name,
	    "no template \"%s\"; \"coppicectl template list\" shows those "
	    "that are there, \"coppicectl template build\" makes one", name));
}

static char *
tree_path(const char *state, const char *hash)
{
	char *path = NULL, *real;
	size_t size;

	real = realpath(state, NULL);
	if (real == NULL)
		return (NULL);
	size = strlen(real) + sizeof("/templates//root") + HASHLEN;
	path = malloc(size);
	if (path != NULL)
		snprintf(path, size, "%s/templates/%s/root", real, hash);
	free(real);
	return (path);
}

static int
load(const char *state, int store, const char *hash, const char *name,
    struct template **t, struct co_error *e)
{
	char path[TEMPLATE_HASHSIZE + 16], *text;
	struct stat st;
	size_t len;

	snprintf(path, sizeof(path), "%s/manifest", hash);
	if (fstatat(store, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return (co_error_set(e, CO_ETEMPLATE_NOTFOUND, name,
		    "the template that \"%s\" means is gone; build or import "
		    "it again", name));
	if (co_file_read(store, path, TEMPLATE_MANIFEST, &text, &len, e) != 0)
		return (-1);
	if (template_manifest_read(text, len, path, t, e) != 0) {
		free(text);
		return (-1);
	}
	free(text);
	strcpy((*t)->hash, hash);
	(*t)->created = (int64_t)st.st_mtime;
	free((*t)->name);
	free((*t)->root);
	(*t)->name = strdup(name);
	(*t)->root = tree_path(state, hash);
	if ((*t)->name == NULL || (*t)->root == NULL) {
		template_free(*t);
		return (co_error_set(e, CO_ESYS_NOMEM, name,
		    "out of memory"));
	}
	return (0);
}

int
template_open(const char *state, const char *name, struct template **t,
    struct co_error *e)
{
	char hash[TEMPLATE_HASHSIZE];
	int ret, store;

	store = template_store_open(state, e);
	if (store == -1)
		return (-1);
	ret = lookup(store, name, hash, e);
	if (ret == 0)
		ret = load(state, store, hash,
		    resolve(store, name, hash) ? name : "", t, e);
	else if (strcmp(name, "tiny") == 0) {
		ret = template_build(state, "tiny", "tiny", NULL, NULL, e);
		if (ret == 0)
			ret = lookup(store, name, hash, e);
		if (ret == 0)
			ret = load(state, store, hash, name, t, e);
	}
	close(store);
	return (ret);
}

/* The names of a template, ended by NULL; NULL when out of memory. */
static char **
names_of(int store, const char *hash)
{
	char **list, **p, other[TEMPLATE_HASHSIZE];
	struct dirent *d;
	size_t n = 0;
	DIR *dp;

	list = calloc(1, sizeof(*list));
	dp = open_list(store, "names");
	while (dp != NULL && list != NULL && (d = readdir(dp)) != NULL) {
		if (!resolve(store, d->d_name, other) ||
		    strcmp(hash, other) != 0)
			continue;
		p = realloc(list, (n + 2) * sizeof(*list));
		if (p == NULL) {
			template_list_free(list);
			list = NULL;
			break;
		}
		list = p;
		list[n] = strdup(d->d_name);
		list[++n] = NULL;
	}
	if (dp != NULL)
		closedir(dp);
	return (list);
}

static int
list_one(const char *state, int store, const char *hash,
    template_list_fn *fn, void *arg, struct co_error *e)
{
	struct template *t = NULL;
	char **list;

	list = names_of(store, hash);
	if (list == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, hash,
		    "out of memory"));
	if (load(state, store, hash, list[0] != NULL ? list[0] : "", &t,
	    e) != 0) {
		template_list_free(list);
		/* Removed since we saw it. */
		return (e->code == CO_ETEMPLATE_NOTFOUND ? 0 : -1);
	}
	fn(arg, t, (const char *const *)list);
	template_free(t);
	template_list_free(list);
	return (0);
}

int
template_list(const char *state, template_list_fn *fn, void *arg,
    struct co_error *e)
{
	struct co_error why;
	struct dirent *d;
	int ret = 0, store;
	DIR *dp;

	store = template_store_open(state, e);
	if (store == -1)
		return (-1);
	dp = open_list(store, ".");
	if (dp == NULL)
		ret = co_error_errno(e, errno, state,
		    "can't read the templates");
	while (ret == 0 && (d = readdir(dp)) != NULL)
		if (is_hash(d->d_name, HASHLEN)) {
			ret = list_one(state, store, d->d_name, fn, arg,
			    &why);
			if (ret != 0 && e != NULL)
				*e = why;
		}
	if (dp != NULL)
		closedir(dp);
	close(store);
	return (ret);
}

/* Move it out of sight at once, then take it apart. */
static int
discard(int store, const char *hash, struct co_error *e)
{
	char to[CO_IDSIZE + 4] = "tmp/";
	int error;

	co_id_make(to + 4);
	if (mkdirat(store, "tmp", 0700) != 0 && errno != EEXIST)
		return (co_error_errno(e, errno, hash,
		    "can't remove the template"));
	if (renameat(store, hash, store, to) != 0 && errno != ENOENT)
		return (co_error_errno(e, errno, hash,
		    "can't remove the template"));
	error = template_remove_at(store, to);
	if (error != 0)
		return (co_error_errno(e, error, hash,
		    "can't remove all of the template; what is left goes "
		    "when coppiced starts again"));
	return (0);
}

/* Remove the template unless it has a name or is in use. */
static int
discard_unused(int store, const char *hash, bool byname,
    bool (*inuse)(void *, const char *), void *arg, struct co_error *e)
{
	char **list;
	int ret = 0;

	list = names_of(store, hash);
	if (list == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, hash,
		    "out of memory"));
	if (list[0] != NULL && !byname)
		ret = co_error_set(e, CO_ETEMPLATE_BAD, hash,
		    "the template has the name \"%s\"; remove that", list[0]);
	else if (inuse != NULL && inuse(arg, hash) && !byname)
		ret = co_error_set(e, CO_ETEMPLATE_BAD, hash,
		    "sandboxes are made of the template; destroy them first");
	else if (list[0] == NULL && (inuse == NULL || !inuse(arg, hash)))
		ret = discard(store, hash, e);
	template_list_free(list);
	return (ret);
}

int
template_remove(const char *state, const char *name,
    bool (*inuse)(void *, const char *), void *arg, struct co_error *e)
{
	char hash[TEMPLATE_HASHSIZE], path[80];
	bool byname;
	int ret, store;

	store = template_store_open(state, e);
	if (store == -1)
		return (-1);
	byname = resolve(store, name, hash);
	ret = lookup(store, name, hash, e);
	if (ret == 0 && byname) {
		snprintf(path, sizeof(path), "names/%s", name);
		if (unlinkat(store, path, 0) != 0)
			ret = co_error_errno(e, errno, name,
			    "can't remove the name \"%s\"", name);
	}
	if (ret == 0)
		ret = discard_unused(store, hash, byname, inuse, arg, e);
	close(store);
	return (ret);
}

void
template_release(const char *state, const char *hash,
    bool (*inuse)(void *, const char *), void *arg)
{
	struct co_error e;
	int store;

	if (!is_hash(hash, HASHLEN) ||
	    (store = template_store_open(state, &e)) == -1)
		return;
	(void)discard_unused(store, hash, true, inuse, arg, &e);
	close(store);
}

void
template_unname(const char *state, const char *name)
{
	struct co_error e;
	char path[80];
	int store;

	if (!template_name_valid(name) ||
	    (store = template_store_open(state, &e)) == -1)
		return;
	snprintf(path, sizeof(path), "names/%s", name);
	(void)unlinkat(store, path, 0);
	close(store);
}

void
template_collect(const char *state, bool (*inuse)(void *, const char *),
    void *arg)
{
	struct co_error e;
	struct dirent *d;
	int store;
	DIR *dp;

	store = template_store_open(state, &e);
	if (store == -1)
		return;
	dp = open_list(store, "names");
	while (dp != NULL && (d = readdir(dp)) != NULL)
		if (strncmp(d->d_name, TEMPLATE_CLONE,
		    sizeof(TEMPLATE_CLONE) - 1) == 0)
			(void)unlinkat(dirfd(dp), d->d_name, 0);
	if (dp != NULL)
		closedir(dp);
	dp = open_list(store, ".");
	while (dp != NULL && (d = readdir(dp)) != NULL)
		if (is_hash(d->d_name, HASHLEN))
			(void)discard_unused(store, d->d_name, true, inuse,
			    arg, &e);
	if (dp != NULL)
		closedir(dp);
	close(store);
}

int
template_capture(const char *state, const char *name,
    const struct template *from, int (*fill)(void *, int, struct co_error *),
    void *arg, struct co_error *e)
{
	struct template_work w;
	struct template *t;
	int ret;

	if (!template_name_valid(name))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, name,
		    "\"%s\" can't be the name of a template; use letters, "
		    "digits and ._:+-", name));
	t = template_copy(from);
	if (t == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, name,
		    "out of memory"));
	if (template_work_begin(state, &w, e) != 0) {
		template_free(t);
		return (-1);
	}
	ret = fill(arg, w.root, e);
	if (ret == 0)
		ret = template_work_commit(&w, t, name, NULL, NULL, e);
	template_work_end(&w);
	template_free(t);
	return (ret);
}

void
template_sweep(const char *state)
{
	int fd, store;

	store = template_store_open(state, NULL);
	if (store == -1)
		return;
	fd = openat(store, "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd != -1) {
		(void)template_empty(fd);
		close(fd);
	}
	close(store);
}

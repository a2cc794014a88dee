/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The store on disk: how a template comes to be there as a whole, and how a
 * name comes to mean it.
 */

#include <sys/stat.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

/*
 * A tree may hold programs with the set-user-ID bit: nobody but root may
 * come near them from outside.
 */
#define	STOREMODE	0700

bool
template_name_valid(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > 64 || !isalnum((unsigned char)name[0]))
		return (false);
	for (; *name != '\0'; name++)
		if (!isalnum((unsigned char)*name) &&
		    strchr("._:+-", *name) == NULL)
			return (false);
	return (true);
}

static int
make_dir(int dir, const char *name)
{
	int fd;

	if (mkdirat(dir, name, STOREMODE) != 0 && errno != EEXIST)
		return (-1);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	return (fd);
}

int
template_store_open(const char *state, struct co_error *e)
{
	int dir, fd;

	dir = co_mkdirs(state, 0755, e);
	if (dir == -1)
		return (-1);
	fd = make_dir(dir, "templates");
	if (fd == -1)
		co_error_errno(e, errno, state,
		    "can't open the templates in \"%s\"", state);
	close(dir);
	return (fd);
}

static char *
root_path(const char *state, const char *id)
{
	char *real, *path;
	size_t size;

	real = realpath(state, NULL);
	if (real == NULL)
		return (NULL);
	size = strlen(real) + strlen(id) + sizeof("/templates/tmp//root");
	path = malloc(size);
	if (path != NULL)
		snprintf(path, size, "%s/templates/tmp/%s/root", real, id);
	free(real);
	return (path);
}

int
template_work_begin(const char *state, struct template_work *w,
    struct co_error *e)
{

	*w = (struct template_work){ -1, -1, -1, -1, "", NULL };
	w->store = template_store_open(state, e);
	if (w->store == -1)
		return (-1);
	co_id_make(w->id);
	if ((w->tmp = make_dir(w->store, "tmp")) == -1 ||
	    (w->dir = make_dir(w->tmp, w->id)) == -1 ||
	    (w->root = make_dir(w->dir, "root")) == -1 ||
	    fchmod(w->root, 0755) != 0 ||
	    (w->path = root_path(state, w->id)) == NULL) {
		co_error_errno(e, errno, state,
		    "can't make a folder for a template in \"%s\"", state);
		template_work_end(w);
		return (-1);
	}
	return (0);
}

void
template_work_end(struct template_work *w)
{

	if (w->dir != -1 && w->id[0] != '\0')
		(void)template_remove_at(w->tmp, w->id);
	for (size_t i = 0; i < 4; i++) {
		int fd = (int[]){ w->root, w->dir, w->tmp, w->store }[i];

		if (fd != -1)
			close(fd);
	}
	free(w->path);
	*w = (struct template_work){ -1, -1, -1, -1, "", NULL };
}

/* Let name mean hash: a new link takes the place of the old at once. */
static int
point(struct template_work *w, const char *name, const char *hash,
    struct co_error *e)
{
	char temp[CO_IDSIZE], target[TEMPLATE_HASHSIZE + 3];
	int dir, ret = -1;

	snprintf(target, sizeof(target), "../%s", hash);
	co_id_make(temp);
	dir = make_dir(w->store, "names");
	if (dir != -1 && symlinkat(target, w->tmp, temp) == 0) {
		if (renameat(w->tmp, temp, dir, name) == 0 &&
		    fsync(dir) == 0)
			ret = 0;
		else
			(void)unlinkat(w->tmp, temp, 0);
	}
	if (ret != 0)
		co_error_errno(e, errno, name,
		    "can't give the template its name \"%s\"", name);
	if (dir != -1)
		close(dir);
	return (ret);
}

/* Write the manifest beside the tree and rename both into place. */
static int
place(struct template_work *w, const char *text, const char *hash,
    struct co_error *e)
{

	if (co_file_replace(w->dir, "manifest", text, strlen(text), 0600,
	    e) != 0)
		return (-1);
	template_sync(w->root);
	if (renameat(w->tmp, w->id, w->store, hash) == 0) {
		(void)fsync(w->store);
		w->id[0] = '\0';
		return (0);
	}
	/* The same template is there already. */
	if (errno == EEXIST || errno == ENOTEMPTY)
		return (0);
	return (co_error_errno(e, errno, hash,
	    "can't put the template in its place"));
}

int
template_work_commit(struct template_work *w, struct template *t,
    const char *name, template_progress_fn *progress, void *arg,
    struct co_error *e)
{
	char *text;
	int ret = -1;

	if (progress != NULL)
		progress(arg, "sealing", -1);
	if (template_size(w->root, &t->size, e) != 0)
		return (-1);
	text = template_manifest_text(t);
	if (text == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, name,
		    "out of memory"));
	if (template_hash(w->root, text, t->hash, e) == 0 &&
	    place(w, text, t->hash, e) == 0)
		ret = point(w, name, t->hash, e);
	free(text);
	return (ret);
}

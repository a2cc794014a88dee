/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Import of trees that were made elsewhere, and export of ours.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "template_internal.h"

static int
import_tar(int fd, const char *path, const struct stat *st, int root,
    struct template **t, template_progress_fn *progress, void *arg,
    struct co_error *e)
{
	struct template_source s = { .fd = fd, .what = path,
	    .size = (uint64_t)st->st_size, .progress = progress,
	    .arg = arg };

	return (template_unpack(&s, root, TEMPLATE_PLAIN, t, e));
}

/* Fill the tree from whatever is at path. */
static int
import_any(const char *path, int root, struct template **t,
    template_progress_fn *progress, void *arg, struct co_error *e)
{
	struct stat st;
	int fd, ret;

	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1)
		return (co_error_errno(e, errno, path, "can't open \"%s\"",
		    path));
	if (fstat(fd, &st) != 0)
		ret = co_error_errno(e, errno, path, "can't look at \"%s\"",
		    path);
	else if (S_ISDIR(st.st_mode))
		ret = template_oci(fd, root, t, progress, arg, e);
	else if (S_ISREG(st.st_mode))
		ret = import_tar(fd, path, &st, root, t, progress, arg, e);
	else
		ret = co_error_set(e, CO_ETEMPLATE_BAD, path,
		    "\"%s\" is neither an archive nor an OCI image layout",
		    path);
	close(fd);
	return (ret);
}

int
template_import(const char *state, const char *path, const char *name,
    template_progress_fn *progress, void *arg, struct co_error *e)
{
	struct template *t = NULL;
	struct template_work w;
	int ret;

	if (!template_name_valid(name))
		return (co_error_set(e, CO_EPROTO_ARGUMENT, name,
		    "\"%s\" can't be the name of a template; use letters, "
		    "digits and ._:+-", name));
	if (template_work_begin(state, &w, e) != 0)
		return (-1);
	ret = import_any(path, w.root, &t, progress, arg, e);
	if (ret == 0 && t == NULL && (t = template_new()) == NULL)
		ret = co_error_set(e, CO_ESYS_NOMEM, name, "out of memory");
	if (ret == 0)
		ret = template_work_commit(&w, t, name, progress, arg, e);
	template_free(t);
	template_work_end(&w);
	return (ret);
}

struct export {
	struct archive	*a;
	struct archive_entry_linkresolver *links;
	char		 buf[64 * 1024];
};

static int
fail(struct export *x, const char *path, struct co_error *e)
{
	const char *why = archive_error_string(x->a);

	return (co_error_set(e, CO_ESYS_PROGRAM, path,
	    "can't write \"%s\" to the archive: %s", path,
	    why != NULL ? why : "unknown error"));
}

static int
put_data(struct export *x, int dir, const char *name, const char *path,
    struct co_error *e)
{
	ssize_t n;
	int fd, ret = 0;

	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1)
		return (co_error_errno(e, errno, path, "can't open \"%s\"",
		    path));
	while (ret == 0 && (n = read(fd, x->buf, sizeof(x->buf))) != 0) {
		if (n < 0 && errno != EINTR)
			ret = co_error_errno(e, errno, path,
			    "can't read \"%s\"", path);
		else if (n > 0 && archive_write_data(x->a, x->buf,
		    (size_t)n) != n)
			ret = fail(x, path, e);
	}
	close(fd);
	return (ret);
}

static int
put_thing(void *arg, int dir, const char *name, const char *path,
    const struct stat *st, struct co_error *e)
{
	struct archive_entry *entry, *later = NULL;
	struct export *x = arg;
	char target[PATH_MAX];
	ssize_t n;
	int ret = 0;

	entry = archive_entry_new();
	if (entry == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, path,
		    "out of memory"));
	archive_entry_copy_pathname(entry, path);
	archive_entry_copy_stat(entry, st);
	if (S_ISLNK(st->st_mode)) {
		n = readlinkat(dir, name, target, sizeof(target) - 1);
		target[n < 0 ? 0 : n] = '\0';
		archive_entry_copy_symlink(entry, target);
	}
	archive_entry_linkify(x->links, &entry, &later);
	if (entry != NULL) {
		if (archive_write_header(x->a, entry) < ARCHIVE_WARN)
			ret = fail(x, path, e);
		else if (S_ISREG(st->st_mode) &&
		    archive_entry_size(entry) > 0)
			ret = put_data(x, dir, name, path, e);
	}
	archive_entry_free(entry);
	archive_entry_free(later);
	return (ret);
}

static int
put_manifest(struct export *x, const struct template *t, struct co_error *e)
{
	struct archive_entry *entry;
	char *text;
	size_t len;
	int ret = 0;

	text = template_manifest_text(t);
	entry = archive_entry_new();
	if (text == NULL || entry == NULL) {
		free(text);
		archive_entry_free(entry);
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	}
	len = strlen(text);
	archive_entry_copy_pathname(entry, TEMPLATE_MEMBER);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)len);
	if (archive_write_header(x->a, entry) < ARCHIVE_WARN ||
	    archive_write_data(x->a, text, len) != (la_ssize_t)len)
		ret = fail(x, TEMPLATE_MEMBER, e);
	archive_entry_free(entry);
	free(text);
	return (ret);
}

static int
export_to(struct export *x, const struct template *t, int fd,
    struct co_error *e)
{
	int ret, root;

	(void)archive_write_set_format_pax_restricted(x->a);
	(void)archive_write_set_options(x->a, "hdrcharset=BINARY");
	(void)archive_write_set_bytes_in_last_block(x->a, 1);
	archive_entry_linkresolver_set_strategy(x->links,
	    ARCHIVE_FORMAT_TAR_PAX_RESTRICTED);
	if (archive_write_open_fd(x->a, fd) != ARCHIVE_OK)
		return (fail(x, t->hash, e));
	root = open(t->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root == -1)
		return (co_error_errno(e, errno, t->root,
		    "can't open the tree of the template"));
	ret = put_manifest(x, t, e);
	if (ret == 0)
		ret = template_walk(root, put_thing, x, e);
	close(root);
	if (ret == 0 && archive_write_close(x->a) != ARCHIVE_OK)
		ret = fail(x, t->hash, e);
	return (ret);
}

int
template_export(const char *state, const char *name, int fd,
    struct co_error *e)
{
	struct template *t;
	struct export *x;
	int ret;

	if (template_open(state, name, &t, e) != 0)
		return (-1);
	x = calloc(1, sizeof(*x));
	if (x != NULL) {
		x->a = archive_write_new();
		x->links = archive_entry_linkresolver_new();
	}
	if (x == NULL || x->a == NULL || x->links == NULL)
		ret = co_error_set(e, CO_ESYS_NOMEM, name, "out of memory");
	else
		ret = export_to(x, t, fd, e);
	if (x != NULL) {
		archive_entry_linkresolver_free(x->links);
		(void)archive_write_free(x->a);
	}
	free(x);
	template_free(t);
	return (ret);
}

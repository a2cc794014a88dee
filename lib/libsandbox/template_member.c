/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One member of an archive becomes a thing in a tree, or is refused.  Every
 * name is walked from the root's descriptor by template_parent(); what is in
 * the way of a member is replaced, never written through.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include "template_internal.h"

#define	WHITEOUT	".wh."
#define	OPAQUE		".wh..wh..opq"

struct member {
	struct archive		*a;
	struct archive_entry	*entry;
	const char		*path;
	int			 root;
	int			 dir;		/* that it goes to */
	char			 name[256];
	uint64_t		*bytes;
	struct co_error		*e;
};

static int
fail(const struct member *m, int error)
{

	return (co_error_errno(m->e, error, m->path, "can't unpack \"%s\"",
	    m->path));
}

static int
refuse(const struct member *m, const char *why)
{

	return (co_error_set(m->e, CO_ETEMPLATE_BAD, m->path,
	    "the archive has \"%s\", %s; refused", m->path, why));
}

static int
set_owner(const struct member *m, int fd)
{
	int64_t uid = archive_entry_uid(m->entry);
	int64_t gid = archive_entry_gid(m->entry);

	if (geteuid() != 0)
		return (0);
	if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
		return (refuse(m, "with an owner that can't be"));
	if ((fd != -1 ? fchown(fd, (uid_t)uid, (gid_t)gid) :
	    fchownat(m->dir, m->name, (uid_t)uid, (gid_t)gid,
	    AT_SYMLINK_NOFOLLOW)) != 0)
		return (fail(m, errno));
	return (0);
}

/* Owner first: a change of it clears the set-ID bits. */
static int
set_meta(const struct member *m, int fd)
{
	struct timespec times[2] = { { 0 } };

	if (set_owner(m, fd) != 0)
		return (-1);
	if (fchmod(fd, archive_entry_perm(m->entry) & 07777) != 0)
		return (fail(m, errno));
	times[0].tv_sec = times[1].tv_sec = archive_entry_mtime(m->entry);
	(void)futimens(fd, times);
	return (0);
}

static int
write_data(struct member *m, int fd)
{
	const void *buf;
	size_t len;
	la_int64_t at, end = 0;
	ssize_t n;
	int got;

	for (;;) {
		got = archive_read_data_block(m->a, &buf, &len, &at);
		if (got == ARCHIVE_EOF)
			break;
		if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
			return (co_error_set(m->e, CO_ETEMPLATE_BAD, m->path,
			    "the archive ends within \"%s\"", m->path));
		*m->bytes += len;
		for (; len > 0; len -= (size_t)n, at += n) {
			n = pwrite(fd, buf, len, at);
			if (n < 0 && errno == EINTR)
				n = 0;
			if (n < 0)
				return (fail(m, errno));
			buf = (const char *)buf + n;
		}
		if (at > end)
			end = at;
	}
	/* What the archive leaves out at the end is a hole. */
	if (archive_entry_size(m->entry) > end &&
	    ftruncate(fd, archive_entry_size(m->entry)) != 0)
		return (fail(m, errno));
	return (0);
}

static int
put_file(struct member *m)
{
	int fd, ret;

	fd = openat(m->dir, m->name, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return (fail(m, errno));
	ret = write_data(m, fd);
	if (ret == 0)
		ret = set_meta(m, fd);
	close(fd);
	return (ret);
}

static int
put_dir(struct member *m)
{
	const char *name = m->name[0] != '\0' ? m->name : ".";
	int fd, ret;

	fd = openat(m->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1 && errno == ENOENT && mkdirat(m->dir, name, 0700) == 0)
		fd = openat(m->dir, name, O_RDONLY | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (fail(m, errno));
	ret = set_meta(m, fd);
	close(fd);
	return (ret);
}

static int
put_link(struct member *m)
{
	const char *target = archive_entry_symlink(m->entry);

	if (target == NULL || *target == '\0')
		return (refuse(m, "a link to nothing"));
	if (symlinkat(target, m->dir, m->name) != 0)
		return (fail(m, errno));
	return (set_owner(m, -1));
}

/* Another name of a file that was unpacked before. */
static int
put_name(struct member *m, const char *target)
{
	char name[256];
	struct stat st;
	int dir, ret = 0;

	if (target[0] == '/')
		return (refuse(m, "a link to an absolute name"));
	if (template_parent(m->root, target, false, &dir, name, m->e) != 0)
		return (-1);
	if (name[0] == '\0' ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    S_ISDIR(st.st_mode))
		ret = refuse(m, "a link to what is not in it");
	else if (linkat(dir, name, m->dir, m->name, 0) != 0)
		ret = fail(m, errno);
	close(dir);
	return (ret);
}

/* Take away what is in the way; a directory stays for a directory. */
static int
clear_way(struct member *m, bool isdir)
{
	struct stat st;
	int error;

	if (m->name[0] == '\0')
		return (isdir ? 0 : refuse(m, "which is no directory"));
	if (fstatat(m->dir, m->name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return (errno == ENOENT ? 0 : fail(m, errno));
	if (isdir && S_ISDIR(st.st_mode))
		return (0);
	error = template_remove_at(m->dir, m->name);
	return (error == 0 ? 0 : fail(m, error));
}

static int
put(struct member *m)
{
	const char *target = archive_entry_hardlink(m->entry);
	mode_t type = archive_entry_filetype(m->entry);

	if (target == NULL && type != AE_IFREG && type != AE_IFDIR &&
	    type != AE_IFLNK && type != AE_IFIFO)
		return (refuse(m, type == AE_IFSOCK ? "a socket" :
		    "a device"));
	if (clear_way(m, target == NULL && type == AE_IFDIR) != 0)
		return (-1);
	if (target != NULL)
		return (put_name(m, target));
	if (type == AE_IFDIR)
		return (put_dir(m));
	if (type == AE_IFLNK)
		return (put_link(m));
	if (type == AE_IFREG)
		return (put_file(m));
	if (mkfifoat(m->dir, m->name, archive_entry_perm(m->entry) & 0777)
	    != 0)
		return (fail(m, errno));
	return (set_owner(m, -1));
}

/* Remove from lower layers what this one does not have any more. */
static int
white_out(struct member *m)
{
	const char *name = m->name + sizeof(WHITEOUT) - 1;
	int error;

	if (strcmp(m->name, OPAQUE) == 0)
		error = template_empty(m->dir);
	else if (*name == '\0' || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return (refuse(m, "which removes nothing that can be"));
	else
		error = template_remove_at(m->dir, name);
	return (error == 0 ? 0 : fail(m, error));
}

int
template_member(struct archive *a, struct archive_entry *entry, int root,
    enum template_pass pass, uint64_t *bytes, struct co_error *e)
{
	struct member m = { .a = a, .entry = entry, .root = root,
	    .bytes = bytes, .e = e };
	bool white;
	int ret = 0;

	m.path = archive_entry_pathname(entry);
	if (m.path == NULL || *m.path == '\0')
		return (co_error_set(e, CO_ETEMPLATE_BAD, NULL,
		    "the archive has a member without a name; refused"));
	if (m.path[0] == '/')
		return (refuse(&m, "an absolute name"));
	if (template_parent(root, m.path, pass != TEMPLATE_WHITEOUTS, &m.dir,
	    m.name, e) != 0) {
		/* What is not there need not be removed. */
		return (pass == TEMPLATE_WHITEOUTS &&
		    (e == NULL || e->code == CO_ESYS_ERRNO) ? 0 : -1);
	}
	white = strncmp(m.name, WHITEOUT, sizeof(WHITEOUT) - 1) == 0;
	if (pass == TEMPLATE_PLAIN || (pass == TEMPLATE_LAYER && !white))
		ret = put(&m);
	else if (pass == TEMPLATE_WHITEOUTS && white)
		ret = white_out(&m);
	close(m.dir);
	return (ret);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * "tiny", the template that needs nothing but what the host has: its static
 * programs and the few files that they want to find.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "template_internal.h"

#define	COUNT(a)	(sizeof(a) / sizeof((a)[0]))

struct thing {
	const char	*path;
	mode_t		 mode;
	uid_t		 owner;
	const char	*text;		/* of a file, or NULL: a directory */
};

static const struct thing things[] = {
	{ "dev", 0755, 0, NULL },
	{ "etc", 0755, 0, NULL },
	{ "home", 0755, 0, NULL },
	{ "home/user", 0755, 1000, NULL },
	{ "mnt", 0755, 0, NULL },
	{ "opt", 0755, 0, NULL },
	{ "proc", 0555, 0, NULL },
	{ "root", 0700, 0, NULL },
	{ "run", 0755, 0, NULL },
	{ "sys", 0555, 0, NULL },
	{ "tmp", 01777, 0, NULL },
	{ "usr", 0755, 0, NULL },
	{ "usr/bin", 0755, 0, NULL },
	{ "usr/lib", 0755, 0, NULL },
	{ "usr/local", 0755, 0, NULL },
	{ "usr/share", 0755, 0, NULL },
	{ "var", 0755, 0, NULL },
	{ "var/log", 0755, 0, NULL },
	{ "var/tmp", 01777, 0, NULL },
	{ "work", 0755, 0, NULL },
	{ "etc/passwd", 0644, 0,
	    "root:x:0:0:root:/root:/bin/sh\n"
	    "user:x:1000:1000:user:/home/user:/bin/sh\n"
	    "nobody:x:65534:65534:nobody:/:/bin/false\n" },
	{ "etc/group", 0644, 0,
	    "root:x:0:\nwheel:x:10:root\nuser:x:1000:\nnogroup:x:65534:\n" },
	{ "etc/hosts", 0644, 0,
	    "127.0.0.1\tlocalhost\n::1\t\tlocalhost\n" },
	{ "etc/profile", 0644, 0,
	    "export PATH=/usr/local/bin:/usr/bin:/bin\n"
	    "PS1='\\h:\\w\\$ '\n" },
	{ "etc/shells", 0644, 0, "/bin/sh\n" },
	{ "etc/services", 0644, 0,
	    "ssh\t22/tcp\ndomain\t53/tcp\ndomain\t53/udp\nhttp\t80/tcp\n"
	    "https\t443/tcp\n" },
	{ "etc/os-release", 0644, 0,
	    "ID=tiny\nNAME=\"coppice tiny\"\n" },
};

/* One place for programs, reached by all its usual names. */
static const char *const links[][2] = {
	{ "bin", "usr/bin" }, { "sbin", "usr/bin" }, { "lib", "usr/lib" },
	{ "usr/sbin", "bin" },
};

static int
fail(struct co_error *e, const char *path)
{

	return (co_error_errno(e, errno, path, "can't make \"%s\"", path));
}

static int
make_file(int root, const struct thing *t)
{
	int error, fd;

	fd = openat(root, t->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	error = co_write_all(fd, t->text, strlen(t->text));
	close(fd);
	errno = error;
	return (error == 0 ? 0 : -1);
}

static int
make_thing(int root, const struct thing *t)
{

	if (t->text != NULL ? make_file(root, t) != 0 :
	    mkdirat(root, t->path, 0700) != 0)
		return (-1);
	if (geteuid() == 0 && fchownat(root, t->path, t->owner,
	    (gid_t)t->owner, AT_SYMLINK_NOFOLLOW) != 0)
		return (-1);
	return (fchmodat(root, t->path, t->mode, 0));
}

int
template_copy_file(const char *from, int dir, const char *name, mode_t mode,
    struct co_error *e)
{
	char buf[64 * 1024];
	int error = 0, in, out;
	ssize_t n;

	in = open(from, O_RDONLY | O_CLOEXEC);
	if (in == -1)
		return (co_error_errno(e, errno, from, "can't open \"%s\"",
		    from));
	out = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (out == -1) {
		close(in);
		return (fail(e, name));
	}
	while (error == 0 && (n = read(in, buf, sizeof(buf))) != 0)
		error = n > 0 ? co_write_all(out, buf, (size_t)n) : errno;
	if (error == 0 && fchmod(out, mode) != 0)
		error = errno;
	close(in);
	close(out);
	if (error != 0)
		return (co_error_errno(e, error, name,
		    "can't copy \"%s\"", from));
	return (0);
}

int
template_tiny(int root, const char *path, struct co_error *e)
{
	int bin, ret;

	for (size_t i = 0; i < COUNT(things); i++)
		if (make_thing(root, &things[i]) != 0)
			return (fail(e, things[i].path));
	for (size_t i = 0; i < COUNT(links); i++)
		if (symlinkat(links[i][1], root, links[i][0]) != 0)
			return (fail(e, links[i][0]));
	bin = openat(root, "usr/bin", O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (bin == -1)
		return (fail(e, "usr/bin"));
	ret = template_tiny_programs(root, bin, path, e);
	close(bin);
	return (ret);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The words that cases are written in: each is a system call, or a question
 * about what is there.  "@200" in a path stands for a name of 200 letters.
 * Open files are numbered 0 to 9.
 */

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "posix_cases.h"
#include "posix_os.h"

#define	ARGS	8
#define	SLOTS	10

static int slot[SLOTS] = { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 };
static struct stat marked;

/* What is not so: a word that asks returns this. */
#define	NO	(-2)
#define	OK(r)	((r) == -1 ? errno : 0)

static long long
num(const char *s)
{

	return (strtoll(s, NULL, 0));
}

static int
fd(const char *s)
{

	return (slot[(s[0] - '0') % SLOTS]);
}

static mode_t
oct(const char *s)
{

	return ((mode_t)strtoul(s, NULL, 8));
}

static struct timespec
when(const char *s)
{
	struct timespec ts = { 0, 0 };
	char *dot;

	if (strcmp(s, "now") == 0)
		ts.tv_nsec = UTIME_NOW;
	else if (strcmp(s, "omit") == 0)
		ts.tv_nsec = UTIME_OMIT;
	else {
		ts.tv_sec = (time_t)strtoll(s, &dot, 10);
		if (*dot == '.')
			ts.tv_nsec = strtol(dot + 1, NULL, 10);
	}
	return (ts);
}

static int
open_flags(const char *s)
{
	static const struct {
		char	letter;
		int	flag;
	} map[] = {
		{ 'w', O_WRONLY }, { 'b', O_RDWR }, { 'a', O_APPEND },
		{ 'c', O_CREAT }, { 'x', O_EXCL }, { 't', O_TRUNC },
		{ 'd', O_DIRECTORY }, { 'n', O_NOFOLLOW }, { 's', O_SYNC },
		{ 'k', O_NONBLOCK }, { 'D', O_DIRECT }
	};
	size_t i;
	int f;

	for (f = 0; *s != '\0'; s++)
		for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
			if (map[i].letter == *s)
				f |= map[i].flag;
	return (f);
}

static int
w_open(char **a, int n)
{
	int f;

	f = open(a[1], open_flags(a[2]), n > 3 ? oct(a[3]) : 0644);
	if (f == -1)
		return (errno);
	slot[(a[0][0] - '0') % SLOTS] = f;
	return (0);
}

static int
w_close(char **a, int n)
{
	int r;

	(void)n;
	r = close(fd(a[0]));
	slot[(a[0][0] - '0') % SLOTS] = -1;
	return (OK(r));
}

static int
w_write(char **a, int n)
{
	ssize_t r;

	(void)n;
	r = write(fd(a[0]), a[1], strlen(a[1]));
	return (r == -1 ? errno : r == (ssize_t)strlen(a[1]) ? 0 : NO);
}

static int
w_pwrite(char **a, int n)
{
	ssize_t r;

	(void)n;
	r = pwrite(fd(a[0]), a[2], strlen(a[2]), (off_t)num(a[1]));
	return (r == -1 ? errno : r == (ssize_t)strlen(a[2]) ? 0 : NO);
}

/* read S text: exactly that comes next; "" is the end. */
static int
w_read(char **a, int n)
{
	const char *want = n > 1 ? a[1] : "";
	char buf[4096];
	ssize_t r;

	if ((r = read(fd(a[0]), buf, sizeof(buf))) == -1)
		return (errno);
	return (r == (ssize_t)strlen(want) &&
	    memcmp(buf, want, (size_t)r) == 0 ? 0 : NO);
}

static int
w_pread(char **a, int n)
{
	const char *want = n > 2 ? a[2] : "";
	char buf[4096];
	size_t len;
	ssize_t r;

	len = strlen(want);
	r = pread(fd(a[0]), buf, len > 0 ? len : 1, (off_t)num(a[1]));
	if (r == -1)
		return (errno);
	return (r == (ssize_t)len && memcmp(buf, want, len) == 0 ? 0 : NO);
}

/* fill S off len letter; "0" is a zero byte. */
static int
w_fill(char **a, int n)
{
	size_t len;
	ssize_t r;
	char *p;

	(void)n;
	len = (size_t)num(a[2]);
	if ((p = malloc(len)) == NULL)
		return (ENOMEM);
	memset(p, a[3][0] == '0' ? 0 : a[3][0], len);
	r = pwrite(fd(a[0]), p, len, (off_t)num(a[1]));
	free(p);
	return (r == -1 ? errno : (size_t)r == len ? 0 : NO);
}

static int
w_check(char **a, int n)
{
	size_t i, len;
	ssize_t r;
	char *p;

	(void)n;
	len = (size_t)num(a[2]);
	if ((p = malloc(len)) == NULL)
		return (ENOMEM);
	r = pread(fd(a[0]), p, len, (off_t)num(a[1]));
	for (i = 0; r == (ssize_t)len && i < len; i++)
		if (p[i] != (a[3][0] == '0' ? 0 : a[3][0]))
			break;
	free(p);
	return (r == -1 ? errno : i == len ? 0 : NO);
}

static int
w_seek(char **a, int n)
{

	(void)n;
	return (OK(lseek(fd(a[0]), (off_t)num(a[1]), SEEK_SET)));
}

static int
w_data(char **a, int n)
{
	off_t r;

	(void)n;
	r = lseek(fd(a[0]), (off_t)num(a[1]), SEEK_DATA);
	return (r == -1 ? errno : r == (off_t)num(a[2]) ? 0 : NO);
}

static int
w_hole(char **a, int n)
{
	off_t r;

	(void)n;
	r = lseek(fd(a[0]), (off_t)num(a[1]), SEEK_HOLE);
	return (r == -1 ? errno : r == (off_t)num(a[2]) ? 0 : NO);
}

#define	WORD1(name, call)					\
static int							\
w_##name(char **a, int n)					\
{								\
								\
	(void)n;						\
	return (OK(call));					\
}

WORD1(trunc, truncate(a[0], (off_t)num(a[1])))
WORD1(ftrunc, ftruncate(fd(a[0]), (off_t)num(a[1])))
WORD1(mkdir, mkdir(a[0], n > 1 ? oct(a[1]) : 0755))
WORD1(rmdir, rmdir(a[0]))
WORD1(unlink, unlink(a[0]))
WORD1(symlink, symlink(a[0], a[1]))
WORD1(link, link(a[0], a[1]))
WORD1(rename, rename(a[0], a[1]))
WORD1(mkfifo, mkfifo(a[0], n > 1 ? oct(a[1]) : 0644))
WORD1(chmod, chmod(a[0], oct(a[1])))
WORD1(fchmod, fchmod(fd(a[0]), oct(a[1])))
WORD1(chown, chown(a[0], (uid_t)num(a[1]), (gid_t)num(a[2])))
WORD1(lchown, lchown(a[0], (uid_t)num(a[1]), (gid_t)num(a[2])))
WORD1(fchown, fchown(fd(a[0]), (uid_t)num(a[1]), (gid_t)num(a[2])))
WORD1(access, faccessat(AT_FDCWD, a[0], (int)num(a[1]), AT_EACCESS))
WORD1(chdir, chdir(a[0]))
WORD1(fsync, fsync(fd(a[0])))
WORD1(fdatasync, fdatasync(fd(a[0])))

static int
w_umask(char **a, int n)
{

	(void)n;
	(void)umask(oct(a[0]));
	return (0);
}

/* as uid gid [group ...]: from here on. */
static int
w_as(char **a, int n)
{
	gid_t groups[ARGS];
	int i, k;

	k = 0;
	for (i = 2; i < n; i++)
		groups[k++] = (gid_t)num(a[i]);
	if (seteuid(0) == -1 || os_setgroups(k, groups) == -1 ||
	    setegid((gid_t)num(a[1])) == -1 ||
	    seteuid((uid_t)num(a[0])) == -1)
		return (errno);
	return (0);
}

static int
w_readlink(char **a, int n)
{
	char buf[8192];
	ssize_t r;

	(void)n;
	if ((r = readlink(a[0], buf, sizeof(buf))) == -1)
		return (errno);
	return ((size_t)r == strlen(a[1]) &&
	    memcmp(buf, a[1], (size_t)r) == 0 ? 0 : NO);
}

static int
w_mknod(char **a, int n)
{
	mode_t type;

	(void)n;
	type = a[1][0] == 'c' ? S_IFCHR : a[1][0] == 'b' ? S_IFBLK :
	    a[1][0] == 'p' ? S_IFIFO : a[1][0] == 's' ? S_IFSOCK : S_IFREG;
	return (OK(mknod(a[0], type | oct(a[2]), os_makedev(
	    (unsigned)num(a[3]), (unsigned)num(a[4])))));
}

static int
w_socket(char **a, int n)
{
	struct sockaddr_un sun;
	int r, s;

	(void)n;
	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", a[0]);
	if ((s = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		return (errno);
	r = OK(bind(s, (struct sockaddr *)&sun, sizeof(sun)));
	(void)close(s);
	return (r);
}

static int
times_at(const char *path, char **a, int flags)
{
	struct timespec ts[2];

	ts[0] = when(a[1]);
	ts[1] = when(a[2]);
	return (OK(utimensat(AT_FDCWD, path, ts, flags)));
}

WORD1(utime, (errno = times_at(a[0], a, 0)) == 0 ? 0 : -1)
WORD1(lutime, (errno = times_at(a[0], a, AT_SYMLINK_NOFOLLOW)) == 0 ? 0 : -1)

static int
w_futime(char **a, int n)
{
	struct timespec ts[2];

	(void)n;
	ts[0] = when(a[1]);
	ts[1] = when(a[2]);
	return (OK(futimens(fd(a[0]), ts)));
}

/*
 * Questions.
 */
static int
w_type(char **a, int n)
{
	static const struct {
		const char	*name;
		mode_t		 type;
	} map[] = {
		{ "reg", S_IFREG }, { "dir", S_IFDIR }, { "lnk", S_IFLNK },
		{ "fifo", S_IFIFO }, { "sock", S_IFSOCK },
		{ "chr", S_IFCHR }, { "blk", S_IFBLK }
	};
	struct stat st;
	size_t i;

	(void)n;
	if (lstat(a[0], &st) == -1)
		return (errno == ENOENT && strcmp(a[1], "none") == 0 ? 0 :
		    errno);
	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (strcmp(a[1], map[i].name) == 0)
			return ((st.st_mode & S_IFMT) == map[i].type ? 0 :
			    NO);
	return (NO);
}

#define	ASK(name, how, test)					\
static int							\
w_##name(char **a, int n)					\
{								\
	struct stat st;						\
								\
	(void)n;						\
	if ((how) == -1)					\
		return (errno);					\
	return ((test) ? 0 : NO);				\
}

ASK(mode, lstat(a[0], &st), (st.st_mode & 07777) == oct(a[1]))
ASK(owner, lstat(a[0], &st), st.st_uid == (uid_t)num(a[1]) &&
    st.st_gid == (gid_t)num(a[2]))
ASK(nlink, lstat(a[0], &st), st.st_nlink == (nlink_t)num(a[1]))
ASK(fnlink, fstat(fd(a[0]), &st), st.st_nlink == (nlink_t)num(a[1]))
ASK(size, lstat(a[0], &st), st.st_size == (off_t)num(a[1]))
ASK(fsize, fstat(fd(a[0]), &st), st.st_size == (off_t)num(a[1]))
ASK(sparse, lstat(a[0], &st), st.st_blocks * 512 < st.st_size)
ASK(blocks, lstat(a[0], &st), st.st_blocks * 512 >= (off_t)num(a[1]))
ASK(rdev, lstat(a[0], &st), st.st_rdev == os_makedev((unsigned)num(a[1]),
    (unsigned)num(a[2])))
ASK(mtime, lstat(a[0], &st), st.st_mtim.tv_sec == when(a[1]).tv_sec &&
    st.st_mtim.tv_nsec == when(a[1]).tv_nsec)
ASK(atime, lstat(a[0], &st), st.st_atim.tv_sec == when(a[1]).tv_sec &&
    st.st_atim.tv_nsec == when(a[1]).tv_nsec)
static int
w_mark(char **a, int n)
{

	(void)n;
	return (OK(lstat(a[0], &marked)));
}

static bool
later(const struct timespec *a, const struct timespec *b)
{

	return (a->tv_sec > b->tv_sec ||
	    (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec));
}

/* Since the mark: "c", "m", "cm" moved on, and the other did not. */
static int
w_newer(char **a, int n)
{
	struct stat st;

	(void)n;
	if (lstat(a[0], &st) == -1)
		return (errno);
	return (later(&st.st_ctim, &marked.st_ctim) ==
	    (strchr(a[1], 'c') != NULL) &&
	    later(&st.st_mtim, &marked.st_mtim) ==
	    (strchr(a[1], 'm') != NULL) ? 0 : NO);
}

static int
w_same(char **a, int n)
{
	struct stat s, t;

	(void)n;
	if (lstat(a[0], &s) == -1 || lstat(a[1], &t) == -1)
		return (errno);
	return (s.st_ino == t.st_ino && s.st_dev == t.st_dev ? 0 : NO);
}

static int
w_tick(char **a, int n)
{
	struct timespec ts = { 0, 15000000 };

	(void)a;
	(void)n;
	(void)nanosleep(&ts, NULL);
	return (0);
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{

	return (strcmp((*a)->d_name, (*b)->d_name));
}

/* ls dir a,b,c: these and no others, besides "." and "..". */
static int
w_ls(char **a, int n)
{
	struct dirent **list;
	char have[8192];
	size_t len;
	int dots, i, k;

	if ((k = scandir(a[0], &list, NULL, by_name)) == -1)
		return (errno);
	len = 0;
	dots = 0;
	have[0] = '\0';
	for (i = 0; i < k; i++) {
		if (strcmp(list[i]->d_name, ".") == 0 ||
		    strcmp(list[i]->d_name, "..") == 0)
			dots++;
		else
			len += (size_t)snprintf(have + len,
			    sizeof(have) - len, "%s%s", len > 0 ? "," : "",
			    list[i]->d_name);
		free(list[i]);
	}
	free(list);
	return (dots == 2 && strcmp(have, n > 1 ? a[1] : "") == 0 ? 0 : NO);
}

static int
w_exec(char **a, int n)
{
	int status;
	pid_t pid;

	if ((pid = fork()) == -1)
		return (errno);
	if (pid == 0) {
		(void)execl(a[0], a[0], (char *)NULL);
		_exit(errno);
	}
	(void)waitpid(pid, &status, 0);
	if (n > 1)
		return (WIFEXITED(status) &&
		    WEXITSTATUS(status) == num(a[1]) ? 0 : NO);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : NO);
}

static int
w_statfs(char **a, int n)
{
	struct statvfs st;

	(void)n;
	if (statvfs(a[0], &st) == -1)
		return (errno);
	return (st.f_blocks > 0 && st.f_bsize > 0 && st.f_frsize > 0 &&
	    st.f_namemax == 255 && st.f_bfree <= st.f_blocks ? 0 : NO);
}

static int
w_flock(char **a, int n)
{
	int op;

	(void)n;
	op = a[1][0] == 's' ? LOCK_SH : a[1][0] == 'x' ? LOCK_EX : LOCK_UN;
	return (OK(flock(fd(a[0]), op | LOCK_NB)));
}

/* fcntl S r|w|u start len */
static int
w_lock(char **a, int n)
{
	struct flock fl;

	(void)n;
	memset(&fl, 0, sizeof(fl));
	fl.l_type = a[1][0] == 'r' ? F_RDLCK : a[1][0] == 'w' ? F_WRLCK :
	    F_UNLCK;
	fl.l_whence = SEEK_SET;
	fl.l_start = (off_t)num(a[2]);
	fl.l_len = (off_t)num(a[3]);
	return (OK(fcntl(fd(a[0]), F_SETLK, &fl)));
}

static const struct word words[] = {
	{ "open", 3, w_open }, { "close", 1, w_close },
	{ "write", 2, w_write }, { "pwrite", 3, w_pwrite },
	{ "read", 1, w_read }, { "pread", 2, w_pread },
	{ "fill", 4, w_fill }, { "check", 4, w_check },
	{ "seek", 2, w_seek }, { "data", 3, w_data }, { "hole", 3, w_hole },
	{ "trunc", 2, w_trunc }, { "ftrunc", 2, w_ftrunc },
	{ "mkdir", 1, w_mkdir }, { "rmdir", 1, w_rmdir },
	{ "unlink", 1, w_unlink }, { "symlink", 2, w_symlink },
	{ "link", 2, w_link }, { "rename", 2, w_rename },
	{ "mkfifo", 1, w_mkfifo }, { "chmod", 2, w_chmod },
	{ "fchmod", 2, w_fchmod }, { "chown", 3, w_chown },
	{ "lchown", 3, w_lchown }, { "fchown", 3, w_fchown },
	{ "access", 2, w_access }, { "chdir", 1, w_chdir },
	{ "fsync", 1, w_fsync }, { "fdatasync", 1, w_fdatasync },
	{ "umask", 1, w_umask }, { "as", 2, w_as },
	{ "readlink", 2, w_readlink }, { "mknod", 5, w_mknod },
	{ "socket", 1, w_socket }, { "utime", 3, w_utime },
	{ "lutime", 3, w_lutime }, { "futime", 3, w_futime },
	{ "type", 2, w_type }, { "mode", 2, w_mode },
	{ "owner", 3, w_owner }, { "nlink", 2, w_nlink },
	{ "fnlink", 2, w_fnlink }, { "size", 2, w_size },
	{ "fsize", 2, w_fsize }, { "sparse", 1, w_sparse },
	{ "blocks", 2, w_blocks }, { "rdev", 3, w_rdev },
	{ "mtime", 2, w_mtime }, { "atime", 2, w_atime },
	{ "mark", 1, w_mark }, { "newer", 2, w_newer },
	{ "same", 2, w_same }, { "tick", 0, w_tick }, { "ls", 1, w_ls },
	{ "exec", 1, w_exec }, { "statfs", 1, w_statfs },
	{ "flock", 2, w_flock }, { "lock", 4, w_lock },
	{ "setx", 3, os_setx }, { "getx", 3, os_getx },
	{ "rmx", 2, os_rmx }, { "listx", 1, os_listx },
	{ "rename2", 3, os_rename2 }, { NULL, 0, NULL }
};

/* The slots, for words of the system at hand. */
int
word_fd(const char *s)
{

	return (fd(s));
}

void
word_slot(const char *s, int f)
{

	slot[(s[0] - '0') % SLOTS] = f;
}

/* "@255/x" becomes a long name; anything else stays. */
static char *
expand(const char *s)
{
	size_t len, n;
	char *end, *out;

	if (s[0] != '@')
		return (strdup(s));
	n = strtoul(s + 1, &end, 10);
	len = strlen(end);
	if ((out = malloc(n + len + 1)) == NULL)
		return (NULL);
	memset(out, 'n', n);
	memcpy(out + n, end, len + 1);
	return (out);
}

static int
do_word(const char *name, char **argv, int argc)
{
	const struct word *w;

	for (w = words; w->name != NULL; w++)
		if (strcmp(w->name, name) == 0)
			break;
	if (w->name == NULL)
		w = os_words(name);
	if (w == NULL || argc < w->args)
		fail("what is \"%s\" with %d arguments?", name, argc);
	return (w->fn(argv, argc));
}

static void
run_one(char *command)
{
	char *argv[ARGS], *colon, *last, *word, text[1024];
	int argc, error, want;

	(void)snprintf(text, sizeof(text), "%s", command);
	if ((word = strtok_r(command, " \t", &last)) == NULL)
		return;
	want = 0;
	if (isupper((unsigned char)word[0]) &&
	    (colon = strchr(word, ':')) != NULL) {
		*colon = '\0';
		want = os_errno(word);
		word = colon + 1;
	}
	for (argc = 0; argc < ARGS &&
	    (argv[argc] = strtok_r(NULL, " \t", &last)) != NULL; argc++)
		if ((argv[argc] = expand(argv[argc])) == NULL)
			fail("no memory");
	errno = 0;
	error = do_word(word, argv, argc);
	if (error == NO)
		fail("\"%s\": it is not so", text);
	errno = error;
	if (error != want)
		fail("\"%s\"", text);
	while (argc-- > 0)
		free(argv[argc]);
}

void
words_run(const char *text)
{
	char *command, *copy, *last;

	if ((copy = strdup(text)) == NULL)
		fail("no memory");
	for (command = strtok_r(copy, ";", &last); command != NULL;
	    command = strtok_r(NULL, ";", &last))
		run_one(command);
	free(copy);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The cases that need more than words: memory, processes, many entries.
 */

#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "posix_cases.h"

#define	PAGE	4096

static int
make(const char *name, int flags)
{
	int fd;

	MUST((fd = open(name, flags | O_CREAT, 0644)) != -1);
	return (fd);
}

static void
nap(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&ts, NULL);
}

/* Run ${fn} in a child, with its own end of a pipe; return ours. */
static pid_t
spawn(void (*fn)(int), int *fd)
{
	pid_t pid;
	int p[2];

	MUST(pipe(p) == 0);
	MUST((pid = fork()) != -1);
	if (pid == 0) {
		(void)close(p[0]);
		(void)alarm(20);
		fn(p[1]);
		_exit(0);
	}
	(void)close(p[1]);
	*fd = p[0];
	return (pid);
}

static void
join(pid_t pid)
{
	int status;

	MUST(waitpid(pid, &status, 0) == pid);
	MUST(status == 0);
}

static void
await(int fd)
{
	char c;

	MUST(read(fd, &c, 1) == 1);
}

static void
signal_parent(int fd)
{

	MUST(write(fd, "x", 1) == 1);
}

/*
 * Memory.
 */
static void
mmap_read(void)
{
	int fd = make("a", O_RDWR);
	char *p;

	MUST(write(fd, "hello", 5) == 5);
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	MUST(p != MAP_FAILED);
	MUST(memcmp(p, "hello", 5) == 0);
	MUST(p[5] == 0);
}

static void
mmap_private_write(void)
{
	int fd = make("a", O_RDWR);
	char buf[5], *p;

	MUST(write(fd, "hello", 5) == 5);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	MUST(p != MAP_FAILED);
	p[0] = 'J';
	MUST(pread(fd, buf, 5, 0) == 5);
	MUST(memcmp(buf, "hello", 5) == 0);
}

static void
mmap_shared_write(void)
{
	int fd = make("a", O_RDWR);
	char buf[5], *p;

	MUST(ftruncate(fd, 3 * PAGE) == 0);
	p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	memcpy(p + PAGE + 7, "hello", 5);
	MUST(msync(p, 3 * PAGE, MS_SYNC) == 0);
	MUST(pread(fd, buf, 5, PAGE + 7) == 5);
	MUST(memcmp(buf, "hello", 5) == 0);
}

static void
mmap_shared_write_munmap(void)
{
	int fd = make("a", O_RDWR), fd2;
	char buf[5], *p;

	MUST(ftruncate(fd, PAGE) == 0);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	memcpy(p, "hello", 5);
	MUST(munmap(p, PAGE) == 0);
	MUST(close(fd) == 0);
	MUST((fd2 = open("a", O_RDONLY)) != -1);
	MUST(pread(fd2, buf, 5, 0) == 5);
	MUST(memcmp(buf, "hello", 5) == 0);
}

static void
mmap_shared_read_only(void)
{
	int fd = make("a", O_RDWR);
	char *p;

	MUST(write(fd, "hello", 5) == 5);
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	MUST(memcmp(p, "hello", 5) == 0);
}

static void
mmap_sees_write(void)
{
	int fd = make("a", O_RDWR);
	char *p;

	MUST(ftruncate(fd, PAGE) == 0);
	p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	MUST(p[10] == 0);
	MUST(pwrite(fd, "x", 1, 10) == 1);
	MUST(p[10] == 'x');
}

static void
mmap_two_processes(void)
{
	int fd = make("a", O_RDWR), i;
	volatile char *p;
	pid_t pid;

	MUST(ftruncate(fd, PAGE) == 0);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(p != MAP_FAILED);
	MUST((pid = fork()) != -1);
	if (pid == 0) {
		p[1] = 'y';
		_exit(0);
	}
	join(pid);
	for (i = 0; i < 100 && p[1] != 'y'; i++)
		nap(1);
	MUST(p[1] == 'y');
}

static void
mmap_after_close(void)
{
	int fd = make("a", O_RDWR);
	char *p;

	MUST(write(fd, "hello", 5) == 5);
	p = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	MUST(p != MAP_FAILED);
	MUST(close(fd) == 0);
	MUST(unlink("a") == 0);
	MUST(memcmp(p, "hello", 5) == 0);
}

static void
mmap_write_denied(void)
{
	int fd;

	(void)close(make("a", O_RDWR));
	MUST((fd = open("a", O_RDONLY)) != -1);
	MUST(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
	    MAP_FAILED && errno == EACCES);
}

static void
exec_copied_program(void)
{
	int in, out, status;
	char buf[65536];
	ssize_t n;
	pid_t pid;

	MUST((in = open("/bin/true", O_RDONLY)) != -1);
	MUST((out = open("true", O_WRONLY | O_CREAT, 0755)) != -1);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		MUST(write(out, buf, (size_t)n) == n);
	MUST(close(out) == 0);
	MUST((pid = fork()) != -1);
	if (pid == 0) {
		(void)execl("./true", "true", (char *)NULL);
		_exit(77);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(status == 0);
}

/*
 * Locks between processes.
 */
static int
lock(int fd, int cmd, short type, off_t start, off_t len)
{
	struct flock fl;

	memset(&fl, 0, sizeof(fl));
	fl.l_type = type;
	fl.l_whence = SEEK_SET;
	fl.l_start = start;
	fl.l_len = len;
	return (fcntl(fd, cmd, &fl));
}

static void
hold_write_lock(int ready)
{
	int fd;

	MUST((fd = open("a", O_RDWR)) != -1);
	MUST(lock(fd, F_SETLK, F_WRLCK, 10, 10) == 0);
	signal_parent(ready);
	nap(300);
}

static void
lock_conflict(void)
{
	int fd = make("a", O_RDWR), p;
	pid_t pid;

	pid = spawn(hold_write_lock, &p);
	await(p);
	MUST(lock(fd, F_SETLK, F_WRLCK, 15, 1) == -1 &&
	    (errno == EAGAIN || errno == EACCES));
	MUST(lock(fd, F_SETLK, F_RDLCK, 0, 0) == -1);
	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 10) == 0);
	MUST(lock(fd, F_SETLK, F_WRLCK, 20, 10) == 0);
	join(pid);
}

static void
lock_get(void)
{
	int fd = make("a", O_RDWR), p;
	struct flock fl;
	pid_t pid;

	pid = spawn(hold_write_lock, &p);
	await(p);
	memset(&fl, 0, sizeof(fl));
	fl.l_type = F_RDLCK;
	fl.l_whence = SEEK_SET;
	MUST(fcntl(fd, F_GETLK, &fl) == 0);
	MUST(fl.l_type == F_WRLCK && fl.l_start == 10 && fl.l_len == 10);
	MUST(fl.l_pid == pid);
	join(pid);
	fl.l_type = F_RDLCK;
	fl.l_start = fl.l_len = 0;
	MUST(fcntl(fd, F_GETLK, &fl) == 0);
	MUST(fl.l_type == F_UNLCK);
}

static void
lock_wait(void)
{
	int fd = make("a", O_RDWR), p;
	pid_t pid;

	pid = spawn(hold_write_lock, &p);
	await(p);
	MUST(lock(fd, F_SETLKW, F_WRLCK, 0, 0) == 0);
	join(pid);
}

static void
hold_read_lock(int ready)
{
	int fd;

	MUST((fd = open("a", O_RDWR)) != -1);
	MUST(lock(fd, F_SETLK, F_RDLCK, 0, 0) == 0);
	signal_parent(ready);
	nap(200);
}

static void
lock_shared(void)
{
	int fd = make("a", O_RDWR), p;
	pid_t pid;

	pid = spawn(hold_read_lock, &p);
	await(p);
	MUST(lock(fd, F_SETLK, F_RDLCK, 0, 0) == 0);
	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 0) == -1);
	join(pid);
	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 0) == 0);
}

static void
close_other(int ready)
{
	int fd, fd2;

	MUST((fd = open("a", O_RDWR)) != -1);
	MUST((fd2 = open("a", O_RDWR)) != -1);
	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 0) == 0);
	MUST(close(fd2) == 0);
	signal_parent(ready);
	nap(300);
}

static void
lock_lost_by_close(void)
{
	int fd = make("a", O_RDWR), i, p, r;
	pid_t pid;

	pid = spawn(close_other, &p);
	await(p);
	for (i = 0, r = -1; i < 50 && r == -1; i++, nap(2))
		r = lock(fd, F_SETLK, F_WRLCK, 0, 0);
	MUST(r == 0);
	join(pid);
}

static void
lock_split(void)
{
	int fd = make("a", O_RDWR);
	struct flock fl;
	int status;
	pid_t pid;

	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 100) == 0);
	MUST(lock(fd, F_SETLK, F_UNLCK, 40, 20) == 0);
	MUST((pid = fork()) != -1);
	if (pid == 0) {
		MUST(lock(fd, F_SETLK, F_WRLCK, 40, 20) == 0);
		MUST(lock(fd, F_SETLK, F_WRLCK, 39, 1) == -1);
		MUST(lock(fd, F_SETLK, F_WRLCK, 60, 1) == -1);
		memset(&fl, 0, sizeof(fl));
		fl.l_type = F_WRLCK;
		fl.l_whence = SEEK_SET;
		fl.l_start = 60;
		MUST(fcntl(fd, F_GETLK, &fl) == 0);
		MUST(fl.l_start == 60 && fl.l_len == 40);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

static void
on_alarm(int sig)
{

	(void)sig;
}

static void
hold_long(int ready)
{
	int fd;

	MUST((fd = open("a", O_RDWR)) != -1);
	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 0) == 0);
	signal_parent(ready);
	nap(1000);
}

static void
interrupt_soon(void)
{
	struct sigaction sa;
	pid_t me = getpid();

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_alarm;
	MUST(sigaction(SIGUSR1, &sa, NULL) == 0);
	if (fork() == 0) {
		nap(150);
		(void)kill(me, SIGUSR1);
		_exit(0);
	}
}

static void
lock_interrupted(void)
{
	int fd = make("a", O_RDWR), p;
	pid_t pid;

	pid = spawn(hold_long, &p);
	await(p);
	interrupt_soon();
	MUST(lock(fd, F_SETLKW, F_WRLCK, 0, 0) == -1 && errno == EINTR);
	MUST(kill(pid, SIGKILL) == 0);
	MUST(waitpid(pid, NULL, 0) == pid);
	MUST(lock(fd, F_SETLKW, F_WRLCK, 0, 0) == 0);
}

static void
lock_gone_with_process(void)
{
	int fd = make("a", O_RDWR), p;
	pid_t pid;

	pid = spawn(hold_long, &p);
	await(p);
	MUST(kill(pid, SIGKILL) == 0);
	MUST(waitpid(pid, NULL, 0) == pid);
	MUST(lock(fd, F_SETLKW, F_WRLCK, 0, 0) == 0);
}

static void
cross_lock(int ready)
{
	int fd;

	MUST((fd = open("a", O_RDWR)) != -1);
	MUST(lock(fd, F_SETLK, F_WRLCK, 1, 1) == 0);
	signal_parent(ready);
	(void)lock(fd, F_SETLKW, F_WRLCK, 0, 1);
}

static void
lock_deadlock(void)
{
	int fd = make("a", O_RDWR), p;
	pid_t pid;

	MUST(lock(fd, F_SETLK, F_WRLCK, 0, 1) == 0);
	pid = spawn(cross_lock, &p);
	await(p);
	nap(200);
	MUST(lock(fd, F_SETLKW, F_WRLCK, 1, 1) == -1 && errno == EDEADLK);
	MUST(lock(fd, F_SETLK, F_UNLCK, 0, 0) == 0);
	join(pid);
}

static void
hold_flock(int ready)
{
	int fd;

	MUST((fd = open("a", O_RDWR)) != -1);
	MUST(flock(fd, LOCK_EX) == 0);
	signal_parent(ready);
	nap(200);
}

static void
flock_wait(void)
{
	int fd = make("a", O_RDWR), p;
	pid_t pid;

	pid = spawn(hold_flock, &p);
	await(p);
	MUST(flock(fd, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
	MUST(flock(fd, LOCK_EX) == 0);
	join(pid);
}

static void
flock_forked(void)
{
	int fd = make("a", O_RDWR), fd2;
	pid_t pid;

	MUST(flock(fd, LOCK_EX) == 0);
	MUST((pid = fork()) != -1);
	if (pid == 0)
		_exit(close(fd) == 0 ? 0 : 1);
	join(pid);
	MUST((fd2 = open("a", O_RDWR)) != -1);
	MUST(flock(fd2, LOCK_EX | LOCK_NB) == -1 && errno == EWOULDBLOCK);
}

/*
 * Many writers, many entries.
 */
static void
append_many(void)
{
	int fd, i, k, n[4] = { 0, 0, 0, 0 };
	char line[8];
	pid_t pid[4];

	(void)close(make("a", O_RDWR));
	for (k = 0; k < 4; k++) {
		MUST((pid[k] = fork()) != -1);
		if (pid[k] != 0)
			continue;
		fd = make("a", O_WRONLY | O_APPEND);
		(void)snprintf(line, sizeof(line), "%d line\n", k);
		for (i = 0; i < 200; i++)
			MUST(write(fd, line, 7) == 7);
		_exit(0);
	}
	for (k = 0; k < 4; k++)
		join(pid[k]);
	MUST((fd = open("a", O_RDONLY)) != -1);
	for (i = 0; i < 800; i++) {
		MUST(read(fd, line, 7) == 7);
		MUST(memcmp(line + 1, " line\n", 6) == 0);
		n[line[0] - '0']++;
	}
	MUST(read(fd, line, 7) == 0);
	MUST(n[0] == 200 && n[1] == 200 && n[2] == 200 && n[3] == 200);
}

static void
make_many(int n)
{
	char name[32];
	int i;

	for (i = 0; i < n; i++) {
		(void)snprintf(name, sizeof(name), "file%05d", i);
		(void)close(make(name, O_WRONLY));
	}
}

static int
count_entries(DIR *d, char *seen, int max)
{
	struct dirent *de;
	int i, n;

	n = 0;
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.')
			continue;
		i = atoi(de->d_name + 4);
		MUST(i >= 0 && i < max && !seen[i]);
		seen[i] = 1;
		n++;
	}
	return (n);
}

static void
readdir_many(void)
{
	char seen[3000] = { 0 };
	DIR *d;

	make_many(3000);
	MUST((d = opendir(".")) != NULL);
	MUST(count_entries(d, seen, 3000) == 3000);
	rewinddir(d);
	memset(seen, 0, sizeof(seen));
	MUST(count_entries(d, seen, 3000) == 3000);
	(void)closedir(d);
}

/* What was there all the time is seen exactly once. */
static void
readdir_while_removing(void)
{
	char seen[2000] = { 0 }, name[32];
	struct dirent *de;
	int i, n;
	DIR *d;

	make_many(2000);
	MUST((d = opendir(".")) != NULL);
	for (n = 0; n < 500 && (de = readdir(d)) != NULL;)
		if (de->d_name[0] != '.') {
			i = atoi(de->d_name + 4);
			MUST(!seen[i]);
			seen[i] = 1;
			if (i % 2 == 1)
				MUST(unlink(de->d_name) == 0);
			n++;
		}
	for (i = 1; i < 2000; i += 2) {
		(void)snprintf(name, sizeof(name), "file%05d", i);
		(void)unlink(name);
	}
	(void)count_entries(d, seen, 2000);
	for (i = 0; i < 2000; i += 2)
		MUST(seen[i]);
	(void)closedir(d);
}

static void
readdir_rm_loop(void)
{
	struct dirent *de;
	int left, n, rounds;
	DIR *d;

	make_many(1500);
	for (rounds = 0, n = 0; rounds < 10 && n < 1500; rounds++) {
		MUST((d = opendir(".")) != NULL);
		while ((de = readdir(d)) != NULL)
			if (de->d_name[0] != '.') {
				MUST(unlink(de->d_name) == 0);
				n++;
			}
		(void)closedir(d);
	}
	MUST(n == 1500);
	MUST((d = opendir(".")) != NULL);
	for (left = 0; (de = readdir(d)) != NULL;)
		left += de->d_name[0] != '.';
	MUST(left == 0);
	(void)closedir(d);
}

static void
readdir_seek(void)
{
	struct dirent *de;
	char name[256];
	long place;
	DIR *d;
	int i;

	make_many(1000);
	MUST((d = opendir(".")) != NULL);
	for (i = 0; i < 600; i++)
		MUST((de = readdir(d)) != NULL);
	place = telldir(d);
	MUST((de = readdir(d)) != NULL);
	(void)snprintf(name, sizeof(name), "%s", de->d_name);
	while (readdir(d) != NULL)
		;
	seekdir(d, place);
	MUST((de = readdir(d)) != NULL);
	MUST(strcmp(name, de->d_name) == 0);
	(void)closedir(d);
}

static void
readdir_inodes(void)
{
	struct dirent *de;
	struct stat st;
	DIR *d;

	make_many(50);
	MUST(mkdir("d", 0755) == 0);
	MUST((d = opendir(".")) != NULL);
	while ((de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, "..") == 0)
			continue;
		MUST(lstat(de->d_name, &st) == 0);
		MUST(st.st_ino == de->d_ino);
		MUST(de->d_type == DT_UNKNOWN ||
		    de->d_type == (st.st_mode & S_IFMT) >> 12);
	}
	(void)closedir(d);
}

static void
readdir_new_after_rewind(void)
{
	char seen[101] = { 0 };
	DIR *d;

	make_many(100);
	MUST((d = opendir(".")) != NULL);
	MUST(count_entries(d, seen, 101) == 100);
	(void)close(make("file00100", O_WRONLY));
	rewinddir(d);
	memset(seen, 0, sizeof(seen));
	MUST(count_entries(d, seen, 101) == 101);
	(void)closedir(d);
}

/* A reader never finds the name missing, or half a file. */
static void
rename_replaces_atomically(void)
{
	int fd, i;
	char buf[16];
	pid_t pid;

	fd = make("a", O_WRONLY);
	MUST(write(fd, "content", 7) == 7 && close(fd) == 0);
	MUST((pid = fork()) != -1);
	if (pid == 0) {
		for (i = 0; i < 300; i++) {
			fd = make("b", O_WRONLY);
			MUST(write(fd, "content", 7) == 7);
			MUST(close(fd) == 0);
			MUST(rename("b", "a") == 0);
		}
		_exit(0);
	}
	for (i = 0; i < 1000; i++) {
		MUST((fd = open("a", O_RDONLY)) != -1);
		MUST(read(fd, buf, sizeof(buf)) == 7);
		MUST(close(fd) == 0);
	}
	join(pid);
}

static void
vectors(void)
{
	int fd = make("a", O_RDWR);
	char a[3], b[70000], c[5];
	struct iovec v[3] = { { a, 3 }, { b, sizeof(b) }, { c, 5 } };

	memset(a, 'a', 3);
	memset(b, 'b', sizeof(b));
	memset(c, 'c', 5);
	MUST(writev(fd, v, 3) == 70008);
	memset(b, 0, sizeof(b));
	MUST(preadv(fd, v, 3, 0) == 70008);
	MUST(a[2] == 'a' && b[0] == 'b' && b[69999] == 'b' && c[4] == 'c');
}

static void
direct(void)
{
	int fd = make("a", O_RDWR | O_DIRECT);
	char *p;

	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(p != MAP_FAILED);
	memset(p, 'd', 4 * PAGE);
	MUST(pwrite(fd, p, 4 * PAGE, 0) == 4 * PAGE);
	memset(p, 0, 4 * PAGE);
	MUST(pread(fd, p, 4 * PAGE, 0) == 4 * PAGE);
	MUST(p[0] == 'd' && p[4 * PAGE - 1] == 'd');
}

static void
shared_offset(void)
{
	int fd = make("a", O_RDWR), fd2;
	pid_t pid;

	MUST((fd2 = dup(fd)) != -1);
	MUST(write(fd, "ab", 2) == 2);
	MUST(write(fd2, "cd", 2) == 2);
	MUST((pid = fork()) != -1);
	if (pid == 0)
		_exit(write(fd, "ef", 2) == 2 ? 0 : 1);
	join(pid);
	MUST(lseek(fd, 0, SEEK_CUR) == 6);
}

static void
deep_tree(void)
{
	int i;

	for (i = 0; i < 200; i++) {
		MUST(mkdir("directory", 0755) == 0);
		MUST(chdir("directory") == 0);
	}
	(void)close(make("bottom", O_WRONLY));
	for (i = 0; i < 200; i++)
		MUST(chdir("..") == 0);
	MUST(access("directory/directory/directory", F_OK) == 0);
}

static void
many_open(void)
{
	char name[32];
	int fd[300], i;

	for (i = 0; i < 300; i++) {
		(void)snprintf(name, sizeof(name), "f%d", i);
		fd[i] = make(name, O_RDWR);
		MUST(write(fd[i], name, strlen(name)) > 0);
	}
	for (i = 0; i < 300; i++)
		MUST(lseek(fd[i], 0, SEEK_END) >= 2 && close(fd[i]) == 0);
}

static void
dirfd_relative(void)
{
	struct stat st;
	int d, fd;

	MUST(mkdir("d", 0755) == 0);
	MUST((d = open("d", O_RDONLY | O_DIRECTORY)) != -1);
	MUST((fd = openat(d, "a", O_WRONLY | O_CREAT, 0644)) != -1);
	MUST(renameat(d, "a", d, "b") == 0);
	MUST(rename("d", "e") == 0);
	MUST(fstatat(d, "b", &st, 0) == 0);
	MUST(mkdirat(d, "sub", 0700) == 0);
	MUST(access("e/sub", F_OK) == 0);
	MUST(unlinkat(d, "b", 0) == 0);
}

static void
getcwd_after_rename(void)
{
	char buf[4096];

	MUST(mkdir("d", 0755) == 0);
	MUST(chdir("d") == 0);
	MUST(rename("../d", "../e") == 0);
	MUST(getcwd(buf, sizeof(buf)) != NULL);
	MUST(strcmp(strrchr(buf, '/'), "/e") == 0);
}

static void
fifo_passes_bytes(void)
{
	char buf[6];
	int fd;
	pid_t pid;

	MUST(mkfifo("f", 0644) == 0);
	MUST((pid = fork()) != -1);
	if (pid == 0) {
		MUST((fd = open("f", O_WRONLY)) != -1);
		_exit(write(fd, "hello", 5) == 5 ? 0 : 1);
	}
	MUST((fd = open("f", O_RDONLY)) != -1);
	MUST(read(fd, buf, sizeof(buf)) == 5);
	join(pid);
}

static void
no_space_left_behind(void)
{
	struct stat st;
	int fd = make("a", O_RDWR);
	char buf[65536];

	memset(buf, 'x', sizeof(buf));
	MUST(write(fd, buf, sizeof(buf)) == sizeof(buf));
	MUST(fsync(fd) == 0);
	MUST(ftruncate(fd, 0) == 0);
	MUST(fsync(fd) == 0);
	MUST(fstat(fd, &st) == 0 && st.st_size == 0 && st.st_blocks == 0);
}

const struct program programs[] = {
	{ "mmap_read", mmap_read },
	{ "mmap_private_write", mmap_private_write },
	{ "mmap_shared_write", mmap_shared_write },
	{ "mmap_shared_write_munmap", mmap_shared_write_munmap },
	{ "mmap_shared_read_only", mmap_shared_read_only },
	{ "mmap_sees_write", mmap_sees_write },
	{ "mmap_two_processes", mmap_two_processes },
	{ "mmap_after_close", mmap_after_close },
	{ "mmap_write_denied", mmap_write_denied },
	{ "exec_copied_program", exec_copied_program },
	{ "lock_conflict", lock_conflict },
	{ "lock_get", lock_get },
	{ "lock_wait", lock_wait },
	{ "lock_shared", lock_shared },
	{ "lock_lost_by_close", lock_lost_by_close },
	{ "lock_split", lock_split },
	{ "lock_interrupted", lock_interrupted },
	{ "lock_gone_with_process", lock_gone_with_process },
	{ "lock_deadlock", lock_deadlock },
	{ "flock_wait", flock_wait },
	{ "flock_forked", flock_forked },
	{ "append_many", append_many },
	{ "readdir_many", readdir_many },
	{ "readdir_while_removing", readdir_while_removing },
	{ "readdir_rm_loop", readdir_rm_loop },
	{ "readdir_seek", readdir_seek },
	{ "readdir_inodes", readdir_inodes },
	{ "readdir_new_after_rewind", readdir_new_after_rewind },
	{ "rename_replaces_atomically", rename_replaces_atomically },
	{ "vectors", vectors },
	{ "direct", direct },
	{ "shared_offset", shared_offset },
	{ "deep_tree", deep_tree },
	{ "many_open", many_open },
	{ "dirfd_relative", dirfd_relative },
	{ "getcwd_after_rename", getcwd_after_rename },
	{ "fifo_passes_bytes", fifo_passes_bytes },
	{ "no_space_left_behind", no_space_left_behind },
	{ NULL, NULL }
};

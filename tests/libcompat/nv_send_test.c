/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists and descriptors over sockets: what arrives, what happens when the
 * peer stops in the middle or lies, and that no descriptor is ever lost.
 */

#include <sys/types.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/nv.h>

#include <atf-c.h>

#define	LIST	19		/* header of a packed list */

static int
open_descriptors(void)
{
	int fd, n;

	for (fd = n = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return (n);
}

static void
pair_of(int type, int sv[2])
{
	ATF_REQUIRE(socketpair(AF_UNIX, type, 0, sv) == 0);
}

static void
close_pair(const int sv[2])
{
	ATF_REQUIRE(close(sv[0]) == 0);
	ATF_REQUIRE(close(sv[1]) == 0);
}

/* Send from a child, for what does not fit into the socket. */
static pid_t
send_from_child(int sv[2], const nvlist_t *nvl)
{
	pid_t pid;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		(void)close(sv[1]);
		_exit(nvlist_send(sv[0], nvl) == 0 ? 0 : 1);
	}
	return (pid);
}

static void
join(pid_t pid)
{
	int status;

	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Do both names mean the same file? */
static bool
same_file(int a, int b)
{
	struct stat sa, sb;

	ATF_REQUIRE(fstat(a, &sa) == 0 && fstat(b, &sb) == 0);
	return (sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino);
}

ATF_TC_WITHOUT_HEAD(plain);
ATF_TC_BODY(plain, tc)
{
	static const char *const strings[] = { "a", "b" };
	const nvlist_t *const *lists;
	nvlist_t *got, *item, *nvl;
	int i, sv[2];
	size_t n;

	pair_of(SOCK_STREAM, sv);
	ATF_REQUIRE((nvl = nvlist_create(NV_FLAG_NO_UNIQUE)) != NULL);
	ATF_REQUIRE((item = nvlist_create(0)) != NULL);
	nvlist_add_number(item, "n", 7);
	nvlist_append_nvlist_array(nvl, "l", item);
	nvlist_append_nvlist_array(nvl, "l", item);
	nvlist_move_nvlist(nvl, "m", item);
	nvlist_add_string_array(nvl, "s", strings, 2);
	nvlist_add_null(nvl, "z");
	/* One after the other: each takes its own bytes and no more. */
	for (i = 0; i < 3; i++)
		ATF_REQUIRE_EQ(0, nvlist_send(sv[0], nvl));
	for (i = 0; i < 3; i++) {
		got = nvlist_recv(sv[1], NV_FLAG_NO_UNIQUE);
		ATF_REQUIRE(got != NULL);
		lists = nvlist_get_nvlist_array(got, "l", &n);
		ATF_CHECK_EQ(2, n);
		ATF_CHECK(nvlist_get_number(lists[1], "n") == 7);
		ATF_CHECK(nvlist_exists_null(got, "z"));
		nvlist_destroy(got);
	}
	/* Flags that do not agree. */
	ATF_REQUIRE_EQ(0, nvlist_send(sv[0], nvl));
	errno = 0;
	ATF_CHECK(nvlist_recv(sv[1], 0) == NULL);
	ATF_CHECK_EQ(EILSEQ, errno);
	nvlist_destroy(nvl);
	close_pair(sv);
}

ATF_TC_WITHOUT_HEAD(descriptors);
ATF_TC_BODY(descriptors, tc)
{
	int before, fd, fds[3], p[2], sv[2];
	const int *array;
	nvlist_t *got, *inner, *nvl;
	size_t n;
	char c;

	before = open_descriptors();
	pair_of(SOCK_STREAM, sv);
	ATF_REQUIRE(pipe(p) == 0);
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	ATF_REQUIRE((inner = nvlist_create(0)) != NULL);
	nvlist_add_descriptor(inner, "write", p[1]);
	nvlist_add_string(nvl, "s", "text");
	nvlist_add_descriptor(nvl, "sock", sv[0]);
	nvlist_move_nvlist(nvl, "inner", inner);
	fds[0] = p[0];
	fds[1] = sv[1];
	fds[2] = p[0];
	nvlist_add_descriptor_array(nvl, "array", fds, 3);
	ATF_REQUIRE_EQ(0, nvlist_error(nvl));
	/* The list has its own; packing cannot hold them. */
	ATF_CHECK(nvlist_get_descriptor(nvl, "sock") != sv[0]);
	errno = 0;
	ATF_CHECK(nvlist_pack(nvl, &n) == NULL);
	ATF_CHECK_EQ(EOPNOTSUPP, errno);

	ATF_REQUIRE_EQ(0, nvlist_send(sv[0], nvl));
	nvlist_destroy(nvl);
	ATF_REQUIRE((got = nvlist_recv(sv[1], 0)) != NULL);
	ATF_CHECK(same_file(sv[0], nvlist_get_descriptor(got, "sock")));
	array = nvlist_get_descriptor_array(got, "array", &n);
	ATF_REQUIRE_EQ(3, n);
	ATF_CHECK(same_file(p[0], array[0]) && same_file(sv[1], array[1]) &&
	    same_file(p[0], array[2]));
	ATF_CHECK((fcntl(array[0], F_GETFD) & FD_CLOEXEC) != 0);
	fd = nvlist_get_descriptor(nvlist_get_nvlist(got, "inner"), "write");
	ATF_CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	ATF_CHECK(write(fd, "x", 1) == 1);
	ATF_CHECK(read(p[0], &c, 1) == 1 && c == 'x');
	/* What is taken outlives the list. */
	fd = nvlist_take_descriptor(got, "sock");
	nvlist_destroy(got);
	ATF_CHECK(fcntl(fd, F_GETFD) != -1);
	ATF_CHECK(close(fd) == 0);
	close_pair(p);
	close_pair(sv);
	ATF_CHECK_EQ(before, open_descriptors());
}

ATF_TC_WITHOUT_HEAD(ownership);
ATF_TC_BODY(ownership, tc)
{
	int before, fd, *fds;
	nvlist_t *copy, *nvl;

	before = open_descriptors();
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	ATF_REQUIRE((fd = open("/dev/null", O_RDONLY)) != -1);
	nvlist_move_descriptor(nvl, "d", fd);
	ATF_CHECK_EQ(fd, nvlist_get_descriptor(nvl, "d"));
	ATF_REQUIRE((copy = nvlist_clone(nvl)) != NULL);
	ATF_CHECK(nvlist_get_descriptor(copy, "d") != fd);
	ATF_CHECK_EQ(before + 2, open_descriptors());
	nvlist_free_descriptor(nvl, "d");
	ATF_CHECK_EQ(before + 1, open_descriptors());
	nvlist_destroy(copy);
	/* Failing closes what was given. */
	nvlist_set_error(nvl, ENXIO);
	ATF_REQUIRE((fd = open("/dev/null", O_RDONLY)) != -1);
	nvlist_move_descriptor(nvl, "d", fd);
	ATF_REQUIRE((fds = calloc(2, sizeof(*fds))) != NULL);
	ATF_REQUIRE((fds[0] = open("/dev/null", O_RDONLY)) != -1);
	ATF_REQUIRE((fds[1] = open("/dev/null", O_RDONLY)) != -1);
	nvlist_move_descriptor_array(nvl, "a", fds, 2);
	nvlist_destroy(nvl);
	ATF_CHECK_EQ(before, open_descriptors());
}

/* More than one package of them. */
ATF_TC_WITHOUT_HEAD(many_descriptors);
ATF_TC_BODY(many_descriptors, tc)
{
	int before, fds[200], sv[2];
	const int *array;
	nvlist_t *got, *nvl;
	size_t i, n;
	pid_t pid;

	before = open_descriptors();
	pair_of(SOCK_STREAM, sv);
	for (i = 0; i < 200; i++)
		fds[i] = sv[i % 2];
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	nvlist_add_descriptor_array(nvl, "a", fds, 200);
	nvlist_add_descriptor(nvl, "d", 0);
	ATF_REQUIRE_EQ(0, nvlist_error(nvl));
	pid = send_from_child(sv, nvl);
	nvlist_destroy(nvl);
	ATF_REQUIRE((got = nvlist_recv(sv[1], 0)) != NULL);
	array = nvlist_get_descriptor_array(got, "a", &n);
	ATF_REQUIRE_EQ(200, n);
	for (i = 0; i < n; i++)
		ATF_CHECK(same_file(sv[i % 2], array[i]));
	join(pid);
	nvlist_destroy(got);
	close_pair(sv);
	ATF_CHECK_EQ(before, open_descriptors());
}

/* A message far larger than the socket takes at once. */
static void
send_large(int flags)
{
	unsigned char *data;
	const void *back;
	nvlist_t *got, *nvl;
	size_t i, n, size;
	int on, sv[2];
	pid_t pid;

	size = 2 * 1024 * 1024 + 13;
	ATF_REQUIRE((data = malloc(size)) != NULL);
	for (i = 0; i < size; i++)
		data[i] = (unsigned char)(i * 31 + i / 251);
	pair_of(SOCK_STREAM, sv);
	on = 4096;
	ATF_REQUIRE(setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &on,
	    sizeof(on)) == 0);
	if (flags != 0) {
		ATF_REQUIRE(fcntl(sv[0], F_SETFL, flags) == 0);
		ATF_REQUIRE(fcntl(sv[1], F_SETFL, flags) == 0);
	}
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	nvlist_add_binary(nvl, "data", data, size);
	nvlist_add_descriptor(nvl, "d", sv[0]);
	pid = send_from_child(sv, nvl);
	nvlist_destroy(nvl);
	ATF_REQUIRE((got = nvlist_recv(sv[1], 0)) != NULL);
	back = nvlist_get_binary(got, "data", &n);
	ATF_REQUIRE_EQ(size, n);
	ATF_CHECK(memcmp(data, back, n) == 0);
	ATF_CHECK(same_file(sv[0], nvlist_get_descriptor(got, "d")));
	join(pid);
	nvlist_destroy(got);
	close_pair(sv);
	free(data);
}

ATF_TC_WITHOUT_HEAD(large);
ATF_TC_BODY(large, tc)
{
	send_large(0);
}

ATF_TC_WITHOUT_HEAD(large_nonblocking);
ATF_TC_BODY(large_nonblocking, tc)
{
	send_large(O_NONBLOCK);
}

ATF_TC_WITHOUT_HEAD(exchange);
ATF_TC_BODY(exchange, tc)
{
	nvlist_t *nvl, *request;
	int sv[2];
	pid_t pid;

	pair_of(SOCK_STREAM, sv);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		(void)close(sv[0]);
		if ((request = nvlist_recv(sv[1], 0)) == NULL)
			_exit(1);
		nvlist_add_bool(request, "seen", true);
		_exit(nvlist_send(sv[1], request) == 0 ? 0 : 1);
	}
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	nvlist_add_string(nvl, "s", "x");
	ATF_REQUIRE((nvl = nvlist_xfer(sv[0], nvl, 0)) != NULL);
	ATF_CHECK(nvlist_get_bool(nvl, "seen"));
	ATF_CHECK_STREQ("x", nvlist_get_string(nvl, "s"));
	join(pid);
	/* Sending what is in error destroys it and gives nothing. */
	nvlist_set_error(nvl, ENXIO);
	errno = 0;
	ATF_CHECK(nvlist_xfer(sv[0], nvl, 0) == NULL);
	ATF_CHECK_EQ(ENXIO, errno);
	close_pair(sv);
}

ATF_TC_WITHOUT_HEAD(datagram);
ATF_TC_BODY(datagram, tc)
{
	nvlist_t *got, *nvl;
	int sv[2];

	pair_of(SOCK_DGRAM, sv);
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	nvlist_add_string(nvl, "s", "x");
	nvlist_add_descriptor(nvl, "d", sv[0]);
	ATF_REQUIRE_EQ(0, nvlist_send(sv[0], nvl));
	ATF_REQUIRE((got = nvlist_recv(sv[1], 0)) != NULL);
	ATF_CHECK_STREQ("x", nvlist_get_string(got, "s"));
	ATF_CHECK(same_file(sv[0], nvlist_get_descriptor(got, "d")));
	nvlist_destroy(got);
	nvlist_destroy(nvl);
	close_pair(sv);
}

/* The bytes of a list with descriptors, as they are sent. */
static unsigned char *
bytes_with_descriptors(size_t nfds, size_t *sizep)
{
	int *fds, sv[2];
	unsigned char *buf;
	nvlist_t *nvl;
	size_t i;

	pair_of(SOCK_STREAM, sv);
	ATF_REQUIRE((fds = calloc(nfds, sizeof(*fds))) != NULL);
	for (i = 0; i < nfds; i++)
		fds[i] = sv[0];
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	nvlist_add_descriptor_array(nvl, "a", fds, nfds);
	nvlist_add_string(nvl, "s", "text");
	ATF_REQUIRE_EQ(0, nvlist_send(sv[0], nvl));
	*sizep = nvlist_size(nvl);
	ATF_REQUIRE((buf = malloc(*sizep)) != NULL);
	ATF_REQUIRE(recv(sv[1], buf, *sizep, MSG_WAITALL) ==
	    (ssize_t)*sizep);
	nvlist_destroy(nvl);
	free(fds);
	close_pair(sv);
	return (buf);
}

/* The peer sends that much, then goes away. */
static void
cut_short(const unsigned char *buf, size_t n)
{
	int sv[2];

	pair_of(SOCK_STREAM, sv);
	if (n > 0)
		ATF_REQUIRE(send(sv[0], buf, n, 0) == (ssize_t)n);
	ATF_REQUIRE(close(sv[0]) == 0);
	errno = 0;
	ATF_CHECK(nvlist_recv(sv[1], 0) == NULL);
	ATF_CHECK_EQ(ENOTCONN, errno);
	ATF_REQUIRE(close(sv[1]) == 0);
}

ATF_TC_WITHOUT_HEAD(truncated);
ATF_TC_BODY(truncated, tc)
{
	unsigned char *buf;
	int before, sv[2];
	size_t n, size;

	before = open_descriptors();
	buf = bytes_with_descriptors(2, &size);
	for (n = 0; n < size; n++)
		cut_short(buf, n);
	/* All the bytes, but no descriptors. */
	pair_of(SOCK_STREAM, sv);
	ATF_REQUIRE(send(sv[0], buf, size, 0) == (ssize_t)size);
	ATF_REQUIRE(close(sv[0]) == 0);
	errno = 0;
	ATF_CHECK(nvlist_recv(sv[1], 0) == NULL);
	ATF_CHECK(errno == ENOTCONN || errno == EINVAL);
	ATF_REQUIRE(close(sv[1]) == 0);
	free(buf);
	ATF_CHECK_EQ(before, open_descriptors());
}

/* Not a header: nothing is waited for. */
ATF_TC_WITHOUT_HEAD(nonsense);
ATF_TC_BODY(nonsense, tc)
{
	unsigned char hdr[LIST];
	int sv[2];

	pair_of(SOCK_STREAM, sv);
	memset(hdr, 'x', sizeof(hdr));
	ATF_REQUIRE(send(sv[0], hdr, sizeof(hdr), 0) == LIST);
	errno = 0;
	ATF_CHECK(nvlist_recv(sv[1], 0) == NULL);
	ATF_CHECK_EQ(EINVAL, errno);
	errno = 0;
	ATF_CHECK(nvlist_recv(-1, 0) == NULL);
	ATF_CHECK_EQ(EBADF, errno);
	close_pair(sv);
}

ATF_TC_WITHOUT_HEAD(peer_gone);
ATF_TC_BODY(peer_gone, tc)
{
	nvlist_t *nvl;
	int sv[2];

	ATF_REQUIRE(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	pair_of(SOCK_STREAM, sv);
	ATF_REQUIRE(close(sv[1]) == 0);
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	nvlist_add_null(nvl, "x");
	errno = 0;
	ATF_CHECK_EQ(-1, nvlist_send(sv[0], nvl));
	ATF_CHECK_EQ(EPIPE, errno);
	nvlist_destroy(nvl);
	ATF_REQUIRE(close(sv[0]) == 0);
}

#ifdef COMPAT_NV
/* Send n copies of a descriptor with a byte, as the library does. */
static void
send_descriptors(int sock, int fd, size_t n)
{
	union {
		struct cmsghdr	align;
		char		room[CMSG_SPACE(64 * sizeof(int))];
	} control;
	struct cmsghdr *cmsg;
	struct msghdr msg;
	struct iovec iov;
	size_t i;
	char c;

	c = 0;
	memset(&msg, 0, sizeof(msg));
	memset(&control, 0, sizeof(control));
	iov.iov_base = &c;
	iov.iov_len = 1;
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	if (n > 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(n * sizeof(int));
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd,
			    sizeof(int));
	}
	ATF_REQUIRE(sendmsg(sock, &msg, 0) == 1);
}

/* Bytes that speak of nfds, and a package of sent; no one is lost. */
static void
lie(const unsigned char *buf, size_t size, size_t sent, int expected)
{
	nvlist_t *nvl;
	int before, sv[2];

	pair_of(SOCK_STREAM, sv);
	before = open_descriptors();
	ATF_REQUIRE(send(sv[0], buf, size, 0) == (ssize_t)size);
	send_descriptors(sv[0], sv[0], sent);
	errno = 0;
	nvl = nvlist_recv(sv[1], 0);
	if (expected == 0) {
		ATF_CHECK(nvl != NULL);
		nvlist_destroy(nvl);
	} else {
		ATF_CHECK(nvl == NULL);
		ATF_CHECK_EQ(expected, errno);
	}
	ATF_CHECK_EQ(before, open_descriptors());
	close_pair(sv);
}

ATF_TC_WITHOUT_HEAD(liars);
ATF_TC_BODY(liars, tc)
{
	unsigned char *buf;
	size_t first, size;

	buf = bytes_with_descriptors(3, &size);
	first = LIST + 19 + 2;		/* the place of the first one */
	lie(buf, size, 3, 0);
	lie(buf, size, 0, EINVAL);
	lie(buf, size, 2, EINVAL);
	lie(buf, size, 4, EINVAL);
	lie(buf, size, 60, EINVAL);
	/* One used twice, which leaves another unused. */
	buf[first] = 1;
	lie(buf, size, 3, EINVAL);
	/* A place that there is not. */
	buf[first] = 3;
	lie(buf, size, 3, EINVAL);
	memset(buf + first, 0xff, 8);
	lie(buf, size, 3, EINVAL);
	memset(buf + first, 0, 8);
	lie(buf, size, 3, 0);
	/* The header speaks of more than the list has. */
	buf[3] = 4;
	lie(buf, size, 4, EINVAL);
	/* What is wrong after the descriptors still gives them back. */
	buf[3] = 3;
	buf[size - 1] = 'x';
	lie(buf, size, 3, EINVAL);
	free(buf);
}

/* Sizes that nobody should wait or make room for. */
ATF_TC_WITHOUT_HEAD(limits);
ATF_TC_BODY(limits, tc)
{
	unsigned char hdr[LIST] = { 0x6c };
	nvlist_t *nvl;
	int fds[NV_MAX_DESCRIPTORS + 1], sv[2];
	struct rlimit limit;
	void *data;
	size_t i;

	pair_of(SOCK_STREAM, sv);
	hdr[14] = 2;			/* 32 MiB follow */
	ATF_REQUIRE(send(sv[0], hdr, sizeof(hdr), 0) == LIST);
	errno = 0;
	ATF_CHECK(nvlist_recv(sv[1], 0) == NULL);
	ATF_CHECK_EQ(EMSGSIZE, errno);
	memset(hdr + 11, 0xff, 8);
	ATF_REQUIRE(send(sv[0], hdr, sizeof(hdr), 0) == LIST);
	errno = 0;
	ATF_CHECK(nvlist_recv(sv[1], 0) == NULL);
	ATF_CHECK_EQ(EMSGSIZE, errno);
	memset(hdr + 11, 0, 8);
	hdr[3 + 3] = 1;			/* 16 million descriptors */
	ATF_REQUIRE(send(sv[0], hdr, sizeof(hdr), 0) == LIST);
	errno = 0;
	ATF_CHECK(nvlist_recv(sv[1], 0) == NULL);
	ATF_CHECK_EQ(EMSGSIZE, errno);

	/* The sender is told before anything is sent. */
	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	ATF_REQUIRE((data = calloc(1, NV_MAX_SIZE)) != NULL);
	nvlist_move_binary(nvl, "x", data, NV_MAX_SIZE);
	errno = 0;
	ATF_CHECK_EQ(-1, nvlist_send(sv[0], nvl));
	ATF_CHECK_EQ(EMSGSIZE, errno);
	nvlist_destroy(nvl);
	ATF_REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	if (limit.rlim_cur > 4096 && setrlimit(RLIMIT_NOFILE, &limit) == 0) {
		for (i = 0; i <= NV_MAX_DESCRIPTORS; i++)
			fds[i] = sv[0];
		ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
		nvlist_add_descriptor_array(nvl, "x", fds, i);
		ATF_REQUIRE_EQ(0, nvlist_error(nvl));
		errno = 0;
		ATF_CHECK_EQ(-1, nvlist_send(sv[0], nvl));
		ATF_CHECK_EQ(EMSGSIZE, errno);
		nvlist_destroy(nvl);
	}
	close_pair(sv);
}

/* A socket with a limit of time does not wait for ever. */
ATF_TC_WITHOUT_HEAD(patience);
ATF_TC_BODY(patience, tc)
{
	struct timeval tv = { .tv_sec = 0, .tv_usec = 50000 };
	static unsigned char data[1024 * 1024];
	nvlist_t *nvl;
	int flags, sv[2];

	ATF_REQUIRE((nvl = nvlist_create(0)) != NULL);
	nvlist_add_binary(nvl, "x", data, sizeof(data));
	for (flags = 0; flags <= 1; flags++) {
		pair_of(SOCK_STREAM, sv);
		ATF_REQUIRE(setsockopt(sv[1], SOL_SOCKET, SO_RCVTIMEO, &tv,
		    sizeof(tv)) == 0);
		ATF_REQUIRE(setsockopt(sv[0], SOL_SOCKET, SO_SNDTIMEO, &tv,
		    sizeof(tv)) == 0);
		if (flags != 0) {
			ATF_REQUIRE(fcntl(sv[0], F_SETFL, O_NONBLOCK) == 0);
			ATF_REQUIRE(fcntl(sv[1], F_SETFL, O_NONBLOCK) == 0);
		}
		ATF_REQUIRE(send(sv[0], "l", 1, 0) == 1);
		errno = 0;
		ATF_CHECK(nvlist_recv(sv[1], 0) == NULL);
		ATF_CHECK_EQ(EAGAIN, errno);
		/* Nobody reads. */
		errno = 0;
		ATF_CHECK_EQ(-1, nvlist_send(sv[0], nvl));
		ATF_CHECK_EQ(EAGAIN, errno);
		close_pair(sv);
	}
	nvlist_destroy(nvl);
}
#endif

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, plain);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, ownership);
	ATF_TP_ADD_TC(tp, many_descriptors);
	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, large_nonblocking);
	ATF_TP_ADD_TC(tp, exchange);
	ATF_TP_ADD_TC(tp, datagram);
	ATF_TP_ADD_TC(tp, truncated);
	ATF_TP_ADD_TC(tp, nonsense);
	ATF_TP_ADD_TC(tp, peer_gone);
#ifdef COMPAT_NV
	ATF_TP_ADD_TC(tp, liars);
	ATF_TP_ADD_TC(tp, limits);
	ATF_TP_ADD_TC(tp, patience);
#endif
	return (atf_no_error());
}

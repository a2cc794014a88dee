/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The few socket calls that dial.c and proxy.c need.
 */

#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tcp.h"

static int
make(int family)
{
	int fd;

	fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd != -1)
		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 },
		    sizeof(int));
	return (fd);
}

int
tcp_dial(uint16_t port, bool six)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
	    .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd, r, error;

	if ((fd = make(six ? AF_INET6 : AF_INET)) == -1)
		return (-1);
	r = six ? connect(fd, (struct sockaddr *)&in6, sizeof(in6)) :
	    connect(fd, (struct sockaddr *)&in, sizeof(in));
	if (r != 0 && errno != EINPROGRESS) {
		error = errno;
		close(fd);
		errno = error;
		return (-1);
	}
	return (fd);
}

int
tcp_result(int fd)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		return (errno);
	return (error);
}

int
tcp_listen(uint32_t addr, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
	    .sin_port = htons(port), .sin_addr.s_addr = addr };
	int fd, error;

	if ((fd = make(AF_INET)) == -1)
		return (-1);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 },
	    sizeof(int));
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 ||
	    listen(fd, 128) != 0) {
		error = errno;
		close(fd);
		errno = error;
		return (-1);
	}
	return (fd);
}

int
tcp_accept(int fd)
{

	return (accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One connection, one process; no waiting without bound.
 */

#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "peer.h"

static socklen_t
address(const char *addr, const char *port, struct sockaddr_storage *ss)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	in_port_t p = htons((in_port_t)strtoul(port, NULL, 10));

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, addr, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = p;
		return (sizeof(*in));
	}
	if (inet_pton(AF_INET6, addr, &in6->sin6_addr) != 1)
		exit(1);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = p;
	return (sizeof(*in6));
}

static void
echo(int fd)
{
	static char buf[65536];
	ssize_t n, w;

	alarm(120);
	if (write(fd, "hi\n", 3) != 3)
		_exit(1);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t at = 0; at < n; at += w)
			if ((w = write(fd, buf + at, (size_t)(n - at))) <= 0)
				_exit(1);
	_exit(0);
}

int
peer_serve(const char *addr, const char *port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(addr, port, &ss);
	int s, fd;

	signal(SIGCHLD, SIG_IGN);
	alarm(300);
	s = socket(ss.ss_family, SOCK_STREAM, 0);
	(void)setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 },
	    sizeof(int));
	if (bind(s, (struct sockaddr *)&ss, len) != 0 || listen(s, 16) != 0) {
		perror("serve");
		return (1);
	}
	dprintf(1, "up\n");
	while ((fd = accept(s, NULL, NULL)) != -1) {
		if (fork() == 0)
			echo(fd);
		close(fd);
	}
	return (1);
}

int
peer_ask(const char *addr, const char *port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(addr, port, &ss);
	char buf[256];
	ssize_t n;
	int s;

	alarm(30);
	s = socket(ss.ss_family, SOCK_STREAM, 0);
	if (connect(s, (struct sockaddr *)&ss, len) != 0)
		return (1);
	if (write(s, "question", 8) != 8 || shutdown(s, SHUT_WR) != 0)
		return (2);
	while ((n = read(s, buf, sizeof(buf))) > 0)
		if (write(1, buf, (size_t)n) != n)
			return (3);
	return (n == 0 ? 0 : 4);
}

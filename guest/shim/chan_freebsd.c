/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: a jail has a unix socket, a machine a serial line; there is no
 * vsock.
 */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "guest.h"

int
chan_vsock_connect(unsigned cid, unsigned port)
{

	(void)cid;
	(void)port;
	errno = EAFNOSUPPORT;
	return (-1);
}

int
chan_vsock_listen(unsigned port)
{

	(void)port;
	errno = EAFNOSUPPORT;
	return (-1);
}

bool
chan_peer_ok(int fd)
{

	(void)fd;
	return (true);
}

/* virtio_console(4) makes the ports ttyVx.y and links to their names. */
int
chan_serial_open(const char *name)
{
	struct termios tio;
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s%s",
	    strchr(name, '/') != NULL ? "" : "/dev/vtcon/", name);
	fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	/* Not for the users of this machine. */
	(void)fchmod(fd, 0600);
	if (tcgetattr(fd, &tio) == 0) {
		cfmakeraw(&tio);
		(void)tcsetattr(fd, TCSANOW, &tio);
	}
	return (fd);
}

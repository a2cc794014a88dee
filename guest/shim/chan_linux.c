/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: vsock(7) and virtio-serial ports.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <linux/vm_sockets.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "guest.h"

#define	PORTS		"/sys/class/virtio-ports"

int
chan_vsock_connect(unsigned cid, unsigned port)
{
	struct sockaddr_vm sa = { .svm_family = AF_VSOCK, .svm_cid = cid,
	    .svm_port = port };
	struct timeval tv = { .tv_usec = 200000 };
	int fd;

	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return (-1);
	(void)setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &tv,
	    sizeof(tv));
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0) {
		close(fd);
		return (-1);
	}
	return (fd);
}

int
chan_vsock_listen(unsigned port)
{
	struct sockaddr_vm sa = { .svm_family = AF_VSOCK,
	    .svm_cid = VMADDR_CID_ANY, .svm_port = port };
	int fd;

	fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return (-1);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 ||
	    listen(fd, 4) != 0) {
		close(fd);
		return (-1);
	}
	return (fd);
}

/* A vsock is open to every program of the guest: only the host may come. */
bool
chan_peer_ok(int fd)
{
	struct sockaddr_vm sa;
	socklen_t len = sizeof(sa);

	memset(&sa, 0, sizeof(sa));
	if (getpeername(fd, (struct sockaddr *)&sa, &len) != 0)
		return (false);
	return (sa.svm_family != AF_VSOCK || sa.svm_cid == VMADDR_CID_HOST);
}

/* The device of the port that the hypervisor gave this name. */
static bool
find_port(const char *name, char *path, size_t size)
{
	char file[512], buf[128];
	bool found = false;
	struct dirent *de;
	ssize_t n;
	DIR *d;
	int fd;

	if ((d = opendir(PORTS)) == NULL)
		return (false);
	while (!found && (de = readdir(d)) != NULL) {
		(void)snprintf(file, sizeof(file), PORTS "/%s/name",
		    de->d_name);
		if ((fd = open(file, O_RDONLY | O_CLOEXEC)) == -1)
			continue;
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
		if (n <= 0)
			continue;
		buf[n] = '\0';
		buf[strcspn(buf, "\n")] = '\0';
		if ((found = strcmp(buf, name) == 0))
			(void)snprintf(path, size, "/dev/%s", de->d_name);
	}
	closedir(d);
	return (found);
}

int
chan_serial_open(const char *name)
{
	struct termios tio;
	char path[300];
	int fd;

	if (strchr(name, '/') != NULL)
		(void)snprintf(path, sizeof(path), "%s", name);
	else if (!find_port(name, path, sizeof(path)))
		return (-1);
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

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * In the guest: mount a folder by 9P that is behind a virtio port.  The
 * kernel's client can't read such a device by itself, so we stay and pass
 * bytes between the port and a socket that the kernel has.
 *
 * usage: guest_mount9p port directory [options]
 */

#include <sys/types.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct way {
	int	from;
	int	to;
};

static void *
pass(void *arg)
{
	static _Thread_local char buf[1 << 18];
	const struct way *w = arg;
	ssize_t done, n, sent;

	while ((n = read(w->from, buf, sizeof(buf))) > 0 ||
	    (n == -1 && errno == EINTR))
		for (done = 0; done < n; done += sent)
			if ((sent = write(w->to, buf + done,
			    (size_t)(n - done))) == -1)
				_exit(1);
	_exit(n == 0 ? 0 : 1);
}

int
main(int argc, char *argv[])
{
	struct way in, out;
	char data[256];
	pthread_t t;
	int port, sv[2];

	if (argc < 3)
		errx(2, "port and directory");
	if ((port = open(argv[1], O_RDWR)) == -1)
		err(1, "%s", argv[1]);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1)
		err(1, "socketpair");
	(void)snprintf(data, sizeof(data), "trans=fd,rfdno=%d,wfdno=%d,"
	    "version=9p2000.L,cache=none,access=client,posixacl,msize=131072"
	    "%s%s", sv[1], sv[1], argc > 3 ? "," : "",
	    argc > 3 ? argv[3] : "");
	in = (struct way){ port, sv[0] };
	out = (struct way){ sv[0], port };
	/* Both directions before the mount, which talks already. */
	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		(void)close(sv[1]);
		(void)setsid();
		for (int fd = 0; fd < 3; fd++)
			(void)close(fd);
		if (pthread_create(&t, NULL, pass, &in) != 0)
			_exit(1);
		(void)pass(&out);
	default:
		break;
	}
	if (mount("folder", argv[2], "9p", 0, data) == -1)
		err(1, "mount: %s", data);
	return (0);
}

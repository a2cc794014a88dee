/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The transport of virtio-fs by vhost-user: a socket that one VMM after the
 * other connects to.
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coppice.h"

#include "vhost.h"

#define	QUEUES		8
#define	QUEUES_MAX	64
#define	NUDGE_NS	5000000L

/* Does anyone listen there?  If not, the name may be taken. */
static bool
abandoned(const struct sockaddr_un *sun)
{
	int error, fd;

	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		return (false);
	error = connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == -1 ?
	    errno : 0;
	(void)close(fd);
	return (error == ECONNREFUSED);
}

int
fused_vhost_listen(const char *path, int *fdp, struct co_error *e)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct stat st;
	int error, fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		return (co_error_errno(e, ENAMETOOLONG, path,
		    "cannot listen"));
	memcpy(sun.sun_path, path, strlen(path) + 1);
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && abandoned(&sun))
		(void)unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Nobody can connect before listen(2), so the mode is in time. */
	if (fd == -1 ||
	    bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    chmod(path, 0600) == -1 || listen(fd, 1) == -1) {
		error = errno;
		if (fd != -1)
			(void)close(fd);
		return (co_error_errno(e, error, path, "cannot listen"));
	}
	*fdp = fd;
	return (0);
}

void
fused_vhost_free(struct fused_vhost *v)
{
	unsigned int i;

	if (v == NULL)
		return;
	for (i = 0; i < v->nqueues; i++)
		vqueue_free(&v->q[i]);
	free(v->q);
	if (v->listen != -1)
		(void)close(v->listen);
	if (v->stop[0] != -1)
		(void)close(v->stop[0]);
	if (v->stop[1] != -1)
		(void)close(v->stop[1]);
	(void)pthread_cond_destroy(&v->watch_cond);
	(void)pthread_mutex_destroy(&v->watch_lock);
	(void)pthread_cond_destroy(&v->gate_cond);
	(void)pthread_mutex_destroy(&v->gate);
	free(v);
}

static int
vhost_init(struct fused_vhost *v, const struct fused_vhost_options *o)
{
	unsigned int i, n = QUEUES;
	int error;

	if (o != NULL) {
		v->o = *o;
		if (o->queues > 0)
			n = o->queues < QUEUES_MAX ? o->queues : QUEUES_MAX;
		if (o->tag != NULL)
			memcpy(v->tag, o->tag, strnlen(o->tag, VW_TAG_MAX));
	}
	(void)pthread_mutex_init(&v->gate, NULL);
	(void)vqueue_cond(&v->gate_cond);
	(void)pthread_mutex_init(&v->watch_lock, NULL);
	(void)pthread_cond_init(&v->watch_cond, NULL);
	if (pipe2(v->stop, O_CLOEXEC | O_NONBLOCK) == -1)
		return (errno);
	/* One more, for what must not wait. */
	if ((v->q = calloc(n + 1, sizeof(*v->q))) == NULL)
		return (ENOMEM);
	for (i = 0; i < n + 1; i++) {
		error = vqueue_init(&v->q[i], v, i);
		v->nqueues++;
		if (error != 0)
			return (error);
	}
	return (0);
}

int
fused_vhost_new(struct fused *f, int fd, const struct fused_vhost_options *o,
    struct fused_vhost **vp, struct co_error *e)
{
	struct fused_vhost *v;
	int error;

	if ((v = calloc(1, sizeof(*v))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "cannot serve"));
	v->f = f;
	v->fd = v->listen = v->stop[0] = v->stop[1] = -1;
	if ((error = vhost_init(v, o)) != 0) {
		fused_vhost_free(v);
		return (co_error_errno(e, error, NULL, "cannot serve"));
	}
	v->listen = fd;
	*vp = v;
	return (0);
}

void
fused_vhost_stop(struct fused_vhost *v)
{

	atomic_store(&v->stopping, true);
	(void)!write(v->stop[1], "", 1);
}

/* The VMM is gone: finish what is being done, forget the rest. */
static void
session_end(struct fused_vhost *v)
{
	const struct timespec nudge = { 0, NUDGE_NS };
	unsigned int i;

	/* Who keeps what is in flight means to come back. */
	v->kept = v->inflight.map != NULL;
	for (i = 0; i < v->nqueues; i++)
		vqueue_end(&v->q[i]);
	while (atomic_load(&v->threads) > 0) {
		fused_cancel_all(v->f);
		(void)nanosleep(&nudge, NULL);
	}
	for (i = 0; i < v->nqueues; i++)
		vqueue_reset(&v->q[i]);
	vmsg_reset(v);
	if (!v->kept)
		vcall_reset(v);
	(void)close(v->fd);
	v->fd = -1;
}

static void
session(struct fused_vhost *v)
{
	struct co_error e = { .code = CO_OK };
	int error;

	while ((error = vmsg_next(v, &e)) == 0)
		;
	if (error == ECANCELED || error == ECONNRESET)
		(void)co_error_set(&e, CO_OK, "vhost-user", "%s",
		    error == ECANCELED ? "stopped" : "the VMM hung up");
	else if (e.code == CO_OK)
		(void)co_error_errno(&e, error, "vhost-user",
		    "the connection to the VMM failed");
	session_end(v);
	if (v->o.ended != NULL)
		v->o.ended(v->o.arg, &e);
}

/* Wait for a VMM: 0, ECANCELED or an errno. */
static int
next_vmm(struct fused_vhost *v)
{
	struct pollfd p[2] = {
		{ .fd = v->listen, .events = POLLIN },
		{ .fd = v->stop[0], .events = POLLIN }
	};

	for (;;) {
		if (poll(p, 2, -1) == -1 && errno != EINTR)
			return (errno);
		if (atomic_load(&v->stopping))
			return (ECANCELED);
		if (p[0].revents == 0)
			continue;
		v->fd = accept(v->listen, NULL, NULL);
		if (v->fd != -1)
			break;
		if (errno != EINTR && errno != ECONNABORTED &&
		    errno != EAGAIN)
			return (errno);
	}
	(void)fcntl(v->fd, F_SETFD, FD_CLOEXEC);
	return (0);
}

int
fused_vhost_serve(struct fused_vhost *v, struct co_error *e)
{
	int error;

	if ((error = vwatch_start(v)) != 0)
		return (co_error_errno(e, error, NULL,
		    "cannot start a thread to serve"));
	while ((error = next_vmm(v)) == 0)
		session(v);
	vwatch_stop(v);
	if (v->kept)
		vcall_reset(v);
	v->kept = false;
	if (error != ECANCELED)
		return (co_error_errno(e, error, "vhost-user",
		    "cannot wait for a VMM"));
	return (0);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The transport "vhost:/socket": virtio-fs, for a virtual machine whose
 * monitor connects there.
 */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "coppicefsd.h"

struct vhost {
	struct fused		*fused;
	struct fused_vhost	*vhost;
};

static void
vhost_ended(void *arg, const struct co_error *e)
{

	if (e->code != CO_OK)
		server_log(arg, CO_WARN, "a machine was dropped: %s",
		    e->message);
}

static int
vhost_open(struct server *s, const char *path, struct co_error *e)
{
	struct fused_vhost_options o = { .ended = vhost_ended, .arg = s };
	struct vhost *v;
	int fd;

	if ((v = calloc(1, sizeof(*v))) == NULL)
		return (co_error_errno(e, ENOMEM, path, "cannot serve"));
	if (fused_new(s->share, &s->conf->fused, &v->fused, e) == -1)
		goto err0;
	if (fused_vhost_listen(path, &fd, e) == -1)
		goto err1;
	if (fused_vhost_new(v->fused, fd, &o, &v->vhost, e) == -1)
		goto err2;
	s->tr = v;
	return (0);
err2:
	(void)close(fd);
	(void)unlink(path);
err1:
	fused_free(v->fused);
err0:
	free(v);
	return (-1);
}

static int
vhost_serve(struct server *s, struct co_error *e)
{
	struct vhost *v = s->tr;

	return (fused_vhost_serve(v->vhost, e));
}

static void
vhost_stop(struct server *s)
{
	struct vhost *v = s->tr;

	fused_vhost_stop(v->vhost);
}

static void
vhost_stats(struct server *s, nvlist_t *nv)
{

	nvlist_add_string(nv, "socket", s->arg);
}

static void
vhost_close(struct server *s)
{
	struct vhost *v = s->tr;

	if (v == NULL)
		return;
	fused_vhost_free(v->vhost);
	fused_free(v->fused);
	free(v);
	s->tr = NULL;
}

static void
vhost_clean(const char *path)
{

	(void)unlink(path);
}

const struct transport transport_vhost = {
	.name = "vhost",
	.open = vhost_open,
	.serve = vhost_serve,
	.stop = vhost_stop,
	.stats = vhost_stats,
	.close = vhost_close,
	.clean = vhost_clean
};

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The transport "fuse:/mountpoint": the folder, mounted on this machine.
 */

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coppicefsd.h"

/* How many mounts without server are taken away, one below the other. */
#define	STALE_MAX	16

struct fuse {
	struct fused		*fused;
	struct fused_channel	*channel;
};

/* What a server that was killed left behind. */
static void
unmount_stale(struct server *s, const char *path)
{
	struct stat st;
	int i;

	for (i = 0; i < STALE_MAX; i++) {
		if (stat(path, &st) == 0 || (errno != ENOTCONN &&
		    errno != ECONNABORTED && errno != ENXIO))
			return;
		if (fused_unmount(path, NULL) == -1)
			return;
		server_log(s, CO_WARN, "%s: unmounted what a dead server had "
		    "left there", path);
	}
}

static int
fuse_open(struct server *s, const char *path, struct co_error *e)
{
	struct fused_mount_options o = {
		.suid = s->conf->suid,
		.dev = s->conf->share.devices,
		.noexec = s->conf->noexec,
		.readonly = s->conf->share.readonly,
		.checks_here = s->conf->share.checks == SHARE_CHECK_HERE
	};
	struct fuse *f;

	unmount_stale(s, path);
	if ((f = calloc(1, sizeof(*f))) == NULL)
		return (co_error_errno(e, ENOMEM, path, "cannot mount"));
	if (fused_new(s->share, &s->conf->fused, &f->fused, e) == -1)
		goto err0;
	if (fused_mount(f->fused, path, &o, &f->channel, e) == -1)
		goto err1;
	s->tr = f;
	return (0);
err1:
	fused_free(f->fused);
err0:
	free(f);
	return (-1);
}

static int
fuse_serve(struct server *s, struct co_error *e)
{
	struct fuse *f = s->tr;
	struct fused_channel *c;

	c = f->channel;
	f->channel = NULL;
	return (fused_serve(f->fused, c, e));
}

static void
fuse_stop(struct server *s)
{
	struct fuse *f = s->tr;

	fused_stop(f->fused);
}

static void
fuse_stats(struct server *s, nvlist_t *nv)
{

	nvlist_add_string(nv, "mountpoint", s->arg);
}

static void
fuse_close(struct server *s)
{
	struct fuse *f = s->tr;

	if (f == NULL)
		return;
	if (f->channel != NULL)
		f->channel->transport->close(f->channel);
	fused_free(f->fused);
	free(f);
	s->tr = NULL;
}

static void
fuse_clean(const char *path)
{

	(void)fused_unmount(path, NULL);
}

const struct transport transport_fuse = {
	.name = "fuse",
	.open = fuse_open,
	.serve = fuse_serve,
	.stop = fuse_stop,
	.stats = fuse_stats,
	.close = fuse_close,
	.clean = fuse_clean
};

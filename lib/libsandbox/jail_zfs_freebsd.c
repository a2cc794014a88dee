/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Roots as clones, where the state lies on ZFS.  The tree of a template is
 * copied once into a dataset of its own, next to the state's, and a snapshot
 * of it is what sandboxes are cloned from.  A dataset is filled under a
 * name that nobody looks for and renamed, so that it is whole or not there.
 */

#include <sys/param.h>
#include <sys/mount.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail_internal.h"

#define	ZFS		"/sbin/zfs"
#define	DATASET		(MAXPATHLEN + 64)

static bool
state_dataset(const struct sandbox_spec *s, char *buf, size_t size)
{
	struct statfs sf;

	if (statfs(s->dir, &sf) != 0 ||
	    strcmp(sf.f_fstypename, "zfs") != 0 || access(ZFS, X_OK) != 0)
		return (false);
	return (strlcpy(buf, sf.f_mntfromname, size) < size);
}

bool
jail_zfs_has(const struct sandbox_spec *s)
{
	char ds[MAXPATHLEN];

	return (state_dataset(s, ds, sizeof(ds)));
}

static bool
exists(const char *dataset)
{
	const char *argv[] = { ZFS, "list", "-H", "-o", "name", dataset,
	    NULL };

	return (jail_run(argv, -1, NULL) == 0);
}

/* The name of a template's tree is its hash: .../templates/<hash>/root. */
static int
template_hash(const struct sandbox_spec *s, char hash[65])
{
	const char *end, *p;

	end = strrchr(s->template, '/');
	if (end == NULL)
		return (-1);
	for (p = end; p > s->template && p[-1] != '/'; p--)
		continue;
	if (end == p || end - p > 64)
		return (-1);
	memcpy(hash, p, (size_t)(end - p));
	hash[end - p] = '\0';
	return (0);
}

static int
fill(const struct sandbox_spec *s, const char *dataset, const char *whole,
    struct co_error *e)
{
	char from[MAXPATHLEN + 4], mnt[MAXPATHLEN], opt[MAXPATHLEN + 16];
	char snap[DATASET + 8];
	const char *create[] = { ZFS, "create", "-o", opt, dataset, NULL };
	const char *copy[] = { "/bin/cp", "-a", from, mnt, NULL };
	const char *unset[] = { ZFS, "set", "mountpoint=none", dataset, NULL };
	const char *take[] = { ZFS, "snapshot", snap, NULL };
	const char *name[] = { ZFS, "rename", dataset, whole, NULL };
	const char *drop[] = { ZFS, "destroy", "-r", dataset, NULL };

	(void)snprintf(from, sizeof(from), "%s/.", s->template);
	(void)snprintf(mnt, sizeof(mnt), "%s/root", s->dir);
	(void)snprintf(opt, sizeof(opt), "mountpoint=%s", mnt);
	(void)snprintf(snap, sizeof(snap), "%s@whole", dataset);
	if (jail_run(create, -1, e) != 0)
		return (-1);
	if (jail_run(copy, -1, e) == 0 && jail_run(unset, -1, e) == 0 &&
	    jail_run(take, -1, e) == 0 && jail_run(name, -1, e) == 0)
		return (0);
	/* Somebody else was faster, or it failed; both leave nothing. */
	(void)jail_run(drop, -1, NULL);
	return (exists(whole) ? 0 : -1);
}

int
jail_zfs_prepare(const struct sandbox_spec *s, const char *root,
    struct co_error *e)
{
	char box[DATASET], hash[65], mount[MAXPATHLEN + 16], part[DATASET];
	char quota[48], snap[DATASET + 8], state[MAXPATHLEN], whole[DATASET];
	const char *clone[] = { ZFS, "clone", "-o", mount, "-o", quota, snap,
	    box, NULL };

	if (!state_dataset(s, state, sizeof(state)) ||
	    template_hash(s, hash) != 0)
		return (co_error_set(e, CO_ETEMPLATE_BAD, s->template,
		    "not the tree of a template"));
	(void)snprintf(whole, sizeof(whole), "%s/template-%s", state, hash);
	(void)snprintf(part, sizeof(part), "%s/part-%s", state, s->id);
	(void)snprintf(box, sizeof(box), "%s/sandbox-%s", state, s->id);
	(void)snprintf(snap, sizeof(snap), "%s@whole", whole);
	(void)snprintf(mount, sizeof(mount), "mountpoint=%s", root);
	(void)snprintf(quota, sizeof(quota), "refquota=%" PRIu64,
	    s->limits.disk);
	if (s->limits.disk == 0)
		(void)strlcpy(quota, "refquota=none", sizeof(quota));
	if (!exists(snap) && fill(s, part, whole, e) != 0)
		return (-1);
	return (jail_run(clone, -1, e));
}

int
jail_zfs_remove(const struct sandbox_spec *s, struct co_error *e)
{
	char box[DATASET], part[DATASET], state[MAXPATHLEN];
	const char *drop[] = { ZFS, "destroy", "-rf", box, NULL };

	if (!state_dataset(s, state, sizeof(state)))
		return (0);
	(void)snprintf(part, sizeof(part), "%s/part-%s", state, s->id);
	(void)snprintf(box, sizeof(box), "%s/sandbox-%s", state, s->id);
	if (exists(part)) {
		drop[3] = part;
		(void)jail_run(drop, -1, NULL);
		drop[3] = box;
	}
	return (exists(box) ? jail_run(drop, -1, e) : 0);
}

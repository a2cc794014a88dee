/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Serve a folder at a mount point until told to end: what the tests of the
 * FUSE transport mount.  Says "ready" when it is, and unmounts on SIGTERM.
 * With -R, all that was done is one step, which is rolled back in the end.
 *
 * usage: fuse_mounter [-HnRrSx] [-c cache] [-f fds] [-g guest:host:count]
 *	      [-t threads] [-u store] dir mountpoint
 */

#include <sys/stat.h>

#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"
#include "fused.h"
#include "share.h"
#include "undo.h"

static struct fused *server;
static const char *mountpoint;

static void *
watch(void *arg)
{
	sigset_t *set = arg;
	int sig;

	(void)sigwait(set, &sig);
	(void)fused_unmount(mountpoint, NULL);
	fused_stop(server);
	return (NULL);
}

static void
die(const struct co_error *e)
{

	errx(1, "%s: %s", e->what, e->message);
}

int
main(int argc, char *argv[])
{
	struct share_options so = { .identity = SHARE_CALLER,
	    .devices = true };
	struct fused_mount_options mo = { .suid = true, .dev = true };
	struct fused_options fo = { 0 };
	struct share_map map = { 0, 0, 0 };
	struct undo_options uo = { 0 };
	const char *store = NULL;
	struct fused_channel *c;
	struct undo *u = NULL;
	struct share *s;
	struct co_error e;
	bool rollback = false;
	pthread_t t;
	sigset_t set;
	int ch, root;

	while ((ch = getopt(argc, argv, "HRSc:f:g:nrt:u:x")) != -1)
		switch (ch) {
		case 'H':
			so.checks = SHARE_CHECK_HERE;
			mo.checks_here = true;
			break;
		case 'R':
			rollback = true;
			break;
		case 'S':
			so.identity = SHARE_SELF;
			break;
		case 'c':
			fo.cache = strcmp(optarg, "none") == 0 ? FUSED_NONE :
			    strcmp(optarg, "auto") == 0 ? FUSED_AUTO :
			    FUSED_ALWAYS;
			break;
		case 'f':
			so.max_fds = (uint32_t)atoi(optarg);
			break;
		case 'g':
			if (sscanf(optarg, "%u:%u:%u", &map.guest, &map.host,
			    &map.count) != 3)
				errx(2, "-g guest:host:count");
			so.uids = so.gids = &map;
			so.nuids = so.ngids = 1;
			break;
		case 'n':
			so.devices = false;
			break;
		case 'r':
			so.readonly = true;
			break;
		case 't':
			fo.max_threads = (uint32_t)atoi(optarg);
			break;
		case 'u':
			store = optarg;
			break;
		case 'x':
			so.xattrs = SHARE_XATTR_PLAIN;
			break;
		default:
			return (2);
		}
	if (argc - optind != 2)
		errx(2, "dir and mountpoint");
	mountpoint = argv[optind + 1];
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	if ((root = open(argv[optind], O_RDONLY | O_DIRECTORY)) == -1)
		err(1, "%s", argv[optind]);
	if (store != NULL && undo_open(root, store, &uo, &u, &e) == -1)
		die(&e);
	if (share_open(root, u, &so, &s, &e) == -1)
		die(&e);
	(void)close(root);
	if (rollback && undo_step_begin(u, 1, UNDO_COMMAND, "all", &e) == -1)
		die(&e);
	if (fused_new(s, &fo, &server, &e) == -1 ||
	    fused_mount(server, mountpoint, &mo, &c, &e) == -1)
		die(&e);
	if (pthread_create(&t, NULL, watch, &set) != 0)
		errx(1, "no thread");
	(void)printf("ready\n");
	(void)fflush(stdout);
	if (fused_serve(server, c, &e) == -1)
		die(&e);
	/* Unmounted by another, perhaps; then the thread still waits. */
	(void)pthread_cancel(t);
	(void)pthread_join(t, NULL);
	fused_free(server);
	share_close(s);
	if (rollback && (undo_step_complete(u, 1, 0, &e) == -1 ||
	    undo_rollback(u, 1, false, NULL, NULL, &e) == -1))
		die(&e);
	undo_close(u);
	return (0);
}

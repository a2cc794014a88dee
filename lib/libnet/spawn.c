/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Starting one of our helper processes by argv, in a process group of its
 * own, with an empty environment, the null device for its standard streams
 * and exactly the descriptors that it is meant to have, from 3 upwards.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>

#include "net_internal.h"

#define	MAXARGS	32
#define	HIGH	80		/* above every target */

static int
spawn_actions(posix_spawn_file_actions_t *fa, const int *fd, int nfd)
{
	int err = 0, i;

	for (i = 0; i < 3 && err == 0; i++)
		err = posix_spawn_file_actions_addopen(fa, i, "/dev/null",
		    O_RDWR, 0);
	/* Up first, so that none of them lands on another. */
	for (i = 0; i < nfd && err == 0; i++)
		err = posix_spawn_file_actions_adddup2(fa, fd[i], HIGH + i);
	for (i = 0; i < nfd && err == 0; i++)
		err = posix_spawn_file_actions_adddup2(fa, HIGH + i, 3 + i);
	for (i = 0; i < nfd && err == 0; i++)
		err = posix_spawn_file_actions_addclose(fa, HIGH + i);
	return (err);
}

int
net_spawn(const char *const *helper, const char *const *args, const int *fd,
    int nfd, pid_t *pid, struct co_error *e)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	const char *argv[MAXARGS];
	char *env[] = { NULL };
	sigset_t none;
	int err, n = 0;

	if (helper == NULL || helper[0] == NULL)
		return (co_error_set(e, CO_ESYS_CONFIG, "helper",
		    "no helper program is known"));
	for (; *helper != NULL && n < MAXARGS - 1; helper++)
		argv[n++] = *helper;
	for (; *args != NULL && n < MAXARGS - 1; args++)
		argv[n++] = *args;
	argv[n] = NULL;
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&at);
	sigemptyset(&none);
	posix_spawnattr_setpgroup(&at, 0);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP |
	    POSIX_SPAWN_SETSIGMASK);
	if ((err = spawn_actions(&fa, fd, nfd)) == 0)
		err = posix_spawn(pid, argv[0], &fa, &at,
		    (char *const *)(uintptr_t)argv, env);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	if (err != 0)
		return (co_error_errno(e, err, argv[0],
		    "can't start the helper %s", argv[0]));
	return (0);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Ranges of user ids.  While a sandbox runs, its ids 0 to 65535 are those of
 * one of 4096 ranges of the host, which no other sandbox has, of whatever
 * instance: /run/coppice-ns/<range> is a symbolic link to the id of the one
 * that has it.  On disk ids are as inside, so the range may be another one
 * each time it starts.
 */

#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ns.h"

/* Above what systemd gives to containers, below what is not an int. */
#define	BASE		0x70000000U
#define	SLOTS		4096U
#define	PROBES		64U

/* Where a sandbox looks first, so that it can be found without a record. */
static unsigned
first(const char *id)
{
	char hex[9];

	(void)snprintf(hex, sizeof(hex), "%s", id);
	return ((unsigned)strtoul(hex, NULL, 16) % SLOTS);
}

static void
name(char *path, size_t size, unsigned slot)
{

	(void)snprintf(path, size, NS_RUN "/%u", slot % SLOTS);
}

static bool
owned(const char *path, const char *id)
{
	char got[CO_IDSIZE];
	ssize_t n;

	n = readlink(path, got, sizeof(got));
	return (n == CO_IDLEN && memcmp(got, id, CO_IDLEN) == 0);
}

int
ns_slot_take(const char *id, uid_t *base, struct co_error *e)
{
	unsigned slot = first(id);
	char path[64];

	for (unsigned i = 0; i < PROBES; i++) {
		name(path, sizeof(path), slot + i);
		*base = BASE + (slot + i) % SLOTS * NS_IDS;
		if (symlink(id, path) == 0)
			return (0);
		if (errno == ENOENT && mkdir(NS_RUN, 0700) == 0)
			i--;
		else if (errno != EEXIST)
			return (co_error_errno(e, errno, path,
			    "can't take a range of user ids"));
		else if (owned(path, id))
			return (0);
	}
	return (co_error_set(e, CO_ESANDBOX_LIMIT, id,
	    "no range of user ids is left for the sandbox; stop others"));
}

void
ns_slot_drop(const char *id)
{
	unsigned slot = first(id);
	char path[64];

	for (unsigned i = 0; i < PROBES; i++) {
		name(path, sizeof(path), slot + i);
		if (owned(path, id)) {
			(void)unlink(path);
			return;
		}
	}
}

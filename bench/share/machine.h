/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A virtual machine whose kernel mounts folders of this host, each by
 * another server, and works in them; QEMU without acceleration.
 */

#ifndef MACHINE_H
#define MACHINE_H

#include "mounts.h"

/* Each has a struct mount, whose "at" is a path in the machine. */
enum {
	M_VHOST,		/* coppicefsd by vhost-user */
	M_VIRTIOFSD,		/* the virtiofsd of QEMU */
	M_NINE,			/* coppicefsd by 9P over TCP */
	M_DIOD,			/* diod, in the same way */
	M_VIRTIO9P,		/* what is in QEMU, over virtio */
	M_MAX
};

/**
 * machine_start(base, m):
 * Serve folders below ${base}, boot, and mount them; ${m} has room for
 * M_MAX.  Return 0, or -1 after a warning.
 */
int machine_start(const char *, struct mount *);

/**
 * machine_load(load, at, n, size):
 * Let the machine do it, see guest_load.c, and return the seconds that it
 * took there; or -1 after a warning.
 */
double machine_load(const char *, const char *, unsigned int, size_t);

/* Also after a start that failed, and when there was none. */
void machine_stop(struct mount *);

#endif /* MACHINE_H */

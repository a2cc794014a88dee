/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What mount_linux.c and mount_freebsd.c implement: the transport of
 * /dev/fuse as far as systems differ, and how devices are numbered in
 * attributes.
 */

#ifndef MOUNT_H
#define MOUNT_H

#include <stdint.h>

struct co_error;
struct fused_mount_options;

uint32_t fused_rdev(uint32_t, uint32_t);
void fused_rdev_split(uint32_t, uint32_t *, uint32_t *);

/* Open /dev/fuse and mount it; store the descriptor. */
int fused_os_mount(const char *, const struct fused_mount_options *,
    uint32_t, int *, struct co_error *);
int fused_os_unmount(const char *, struct co_error *);

/* Another descriptor of the same connection. */
int fused_os_clone(int, int *);

#endif /* MOUNT_H */

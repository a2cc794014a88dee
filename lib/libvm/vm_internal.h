/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Between the renderers.
 */

#ifndef VM_INTERNAL_H
#define VM_INTERNAL_H

#include "vm.h"

#define	VM_NAME_SIZE	32
#define	VM_UUID_SIZE	37
#define	VM_MAC_SIZE	18
#define	MIB		(UINT64_C(1024) * 1024)

const char *vm_name(const struct vmspec *, char[VM_NAME_SIZE]);
const char *vm_uuid(const struct vmspec *, char[VM_UUID_SIZE]);
const char *vm_mac_text(const uint8_t[6], char[VM_MAC_SIZE]);
bool vm_has_nic(const struct vmspec *);

/* One argument; and the two of an option with its value. */
void vm_arg(struct vm_args *, const char *);
void vm_option(struct vm_args *, const char *, const char *, ...)
    CO_PRINTF(3, 4);

/* Report a failed allocation, if there was one. */
int vm_args_done(struct vm_args *, struct co_error *);
int vm_text_done(struct co_buf *, char **, struct co_error *);

#endif /* VM_INTERNAL_H */

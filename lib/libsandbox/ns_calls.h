/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The list of system calls, ended by NULL.
 */

#ifndef NS_CALLS_H
#define NS_CALLS_H

#include <stddef.h>

extern const char *const ns_allowed[];

#endif /* NS_CALLS_H */

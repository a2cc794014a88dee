/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Errors by name, as the numbers of host and guest may differ.
 */

#include <errno.h>
#include <string.h>

#include "sw.h"

static const struct {
	const char	*name;
	int		 num;
} names[] = {
#define	E(e)	{ #e, e }
	E(EPERM), E(ENOENT), E(ESRCH), E(EINTR), E(EIO), E(ENXIO), E(E2BIG),
	E(ENOEXEC), E(EBADF), E(ECHILD), E(EAGAIN), E(ENOMEM), E(EACCES),
	E(EFAULT), E(EBUSY), E(EEXIST), E(EXDEV), E(ENODEV), E(ENOTDIR),
	E(EISDIR), E(EINVAL), E(ENFILE), E(EMFILE), E(ENOTTY), E(EFBIG),
	E(ENOSPC), E(ESPIPE), E(EROFS), E(EMLINK), E(EPIPE), E(ERANGE),
	E(EDEADLK), E(ENAMETOOLONG), E(ENOSYS), E(ENOTEMPTY), E(ELOOP),
	E(EPROTO), E(EOVERFLOW), E(EILSEQ), E(EMSGSIZE), E(EOPNOTSUPP),
	E(EAFNOSUPPORT), E(EADDRINUSE), E(EADDRNOTAVAIL), E(ENETDOWN),
	E(ENETUNREACH), E(ECONNABORTED), E(ECONNRESET), E(ENOBUFS),
	E(ENOTCONN), E(ETIMEDOUT), E(ECONNREFUSED), E(EHOSTUNREACH),
	E(EALREADY), E(EINPROGRESS), E(ECANCELED), E(ETXTBSY),
#ifdef EDQUOT
	E(EDQUOT), E(ESTALE),
#endif
#undef	E
};

const char *
sw_errname(int num)
{

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].num == num)
			return (names[i].name);
	return ("EIO");
}

int
sw_errno(const char *name)
{

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i].name, name) == 0)
			return (names[i].num);
	return (EIO);
}

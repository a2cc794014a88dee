/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * errno on the wire.  9P2000.L means Linux's numbers (those of x86 and arm),
 * whatever system serves.  Called for every error that a client is told.
 */

#include <errno.h>

#include "p9_wire.h"

#define	LINUX_EIO	5

static const struct {
	int		host;
	uint32_t	wire;
} numbers[] = {
	{ EPERM, 1 }, { ENOENT, 2 }, { ESRCH, 3 }, { EINTR, 4 },
	{ EIO, LINUX_EIO }, { ENXIO, 6 }, { E2BIG, 7 }, { ENOEXEC, 8 },
	{ EBADF, 9 }, { ECHILD, 10 }, { EAGAIN, 11 }, { EWOULDBLOCK, 11 },
	{ ENOMEM, 12 }, { EACCES, 13 }, { EFAULT, 14 }, { EBUSY, 16 },
	{ EEXIST, 17 }, { EXDEV, 18 }, { ENODEV, 19 }, { ENOTDIR, 20 },
	{ EISDIR, 21 }, { EINVAL, 22 }, { ENFILE, 23 }, { EMFILE, 24 },
	{ ENOTTY, 25 }, { ETXTBSY, 26 }, { EFBIG, 27 }, { ENOSPC, 28 },
	{ ESPIPE, 29 }, { EROFS, 30 }, { EMLINK, 31 }, { EPIPE, 32 },
	{ EDOM, 33 }, { ERANGE, 34 }, { EDEADLK, 35 }, { ENAMETOOLONG, 36 },
	{ ENOLCK, 37 }, { ENOSYS, 38 }, { ENOTEMPTY, 39 }, { ELOOP, 40 },
	{ EPROTO, 71 }, { EOVERFLOW, 75 }, { EILSEQ, 84 }, { EMSGSIZE, 90 },
	{ EOPNOTSUPP, 95 }, { ENOTSUP, 95 }, { ETIMEDOUT, 110 },
	{ EALREADY, 114 }, { EINPROGRESS, 115 }, { ECANCELED, 125 },
	{ EOWNERDEAD, 130 }, { ENOTRECOVERABLE, 131 },
#ifdef ENOTBLK
	{ ENOTBLK, 15 },
#endif
#ifdef ENODATA
	{ ENODATA, 61 },
#endif
#ifdef ENOATTR
	{ ENOATTR, 61 },
#endif
#ifdef EUSERS
	{ EUSERS, 87 },
#endif
#ifdef ESTALE
	{ ESTALE, 116 },
#endif
#ifdef EDQUOT
	{ EDQUOT, 122 },
#endif
#ifdef EREMOTEIO
	{ EREMOTEIO, 121 },
#endif
#ifdef EUCLEAN
	{ EUCLEAN, 117 },
#endif
#ifdef ENOKEY
	{ ENOKEY, 126 }, { EKEYEXPIRED, 127 }, { EKEYREVOKED, 128 },
#endif
#ifdef EINTEGRITY
	{ EINTEGRITY, 117 },
#endif
#ifdef ENOTCAPABLE
	{ ENOTCAPABLE, 18 },
#endif
};

uint32_t
p9_errno(int host)
{

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].host == host)
			return (numbers[i].wire);
	return (LINUX_EIO);
}

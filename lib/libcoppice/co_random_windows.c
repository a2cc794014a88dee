/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Random bytes from the Windows kernel.
 */

#include <windows.h>

#include <ntsecapi.h>
#include <stdlib.h>

#include "coppice.h"

void
co_random(void *buf, size_t len)
{
	unsigned char *p = buf;

	while (len > 0) {
		ULONG n = len < 65536 ? (ULONG)len : 65536;

		if (!RtlGenRandom(p, n))
			abort();
		p += n;
		len -= n;
	}
}

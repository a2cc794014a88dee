/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: the TCP sockets of the network namespace, from /proc/net.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys.h"

#define	ESTABLISHED	0x01
#define	LISTEN		0x0a

/* Words of the address as the kernel prints them: in its own byte order. */
static bool
parse_addr(const char *s, size_t digits, struct sys_tcp *t)
{
	static const char mapped[] = "0000000000000000FFFF0000";
	char word[9] = "";

	if (digits == 8) {
		memcpy(word, s, 8);
		t->addr = (uint32_t)strtoul(word, NULL, 16);
		t->any = t->addr == 0;
		memcpy(word, &t->addr, 1);
		t->loopback = word[0] == 127;
		return (true);
	}
	if (digits != 32)
		return (false);
	t->six = true;
	t->any = strspn(s, "0") >= 32;
	t->loopback = memcmp(s, "000000000000000000000000", 24) == 0 &&
	    memcmp(s + 24, "01000000", 8) == 0;
	if (memcmp(s, mapped, 24) == 0) {
		t->six = false;
		return (parse_addr(s + 24, 8, t));
	}
	return (true);
}

/* "  0: 0100007F:1F90 00000000:0000 0A ..." */
static bool
parse_line(const char *line, struct sys_tcp *t)
{
	const char *addr, *port, *p;
	unsigned long state;

	memset(t, 0, sizeof(*t));
	if ((addr = strchr(line, ':')) == NULL)
		return (false);
	addr += 1 + strspn(addr + 1, " ");
	if ((port = strchr(addr, ':')) == NULL ||
	    !parse_addr(addr, (size_t)(port - addr), t))
		return (false);
	t->port = (uint16_t)strtoul(port + 1, NULL, 16);
	if ((p = strchr(port, ' ')) == NULL || (p = strchr(p + 1, ' ')) == NULL)
		return (false);
	state = strtoul(p, NULL, 16);
	t->listening = state == LISTEN;
	return (state == LISTEN || state == ESTABLISHED);
}

static int
each(const char *path, void (*fn)(const struct sys_tcp *, void *), void *arg)
{
	struct sys_tcp t;
	char line[512];
	FILE *fp;

	if ((fp = fopen(path, "re")) == NULL)
		return (errno);
	while (fgets(line, sizeof(line), fp) != NULL)
		if (parse_line(line, &t))
			fn(&t, arg);
	fclose(fp);
	return (0);
}

int
sys_tcp_each(void (*fn)(const struct sys_tcp *, void *), void *arg)
{
	int error;

	if ((error = each("/proc/net/tcp", fn, arg)) != 0)
		return (error);
	(void)each("/proc/net/tcp6", fn, arg);
	return (0);
}

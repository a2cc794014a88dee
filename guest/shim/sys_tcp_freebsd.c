/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: the TCP sockets of the network stack, from net.inet.tcp.pcblist.
 */

#include <sys/types.h>
#include <sys/socket.h>
#include <sys/socketvar.h>
#include <sys/sysctl.h>

#include <netinet/in.h>
#include <netinet/in_pcb.h>
#include <netinet/tcp_fsm.h>
#include <netinet/tcp_var.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sys.h"

#define	NAME	"net.inet.tcp.pcblist"

static bool
describe(const struct xtcpcb *tp, struct sys_tcp *t)
{
	const struct xinpcb *inp = &tp->xt_inp;

	memset(t, 0, sizeof(*t));
	if (tp->t_state != TCPS_LISTEN && tp->t_state != TCPS_ESTABLISHED)
		return (false);
	t->listening = tp->t_state == TCPS_LISTEN;
	t->port = ntohs(inp->inp_lport);
	if ((inp->inp_vflag & INP_IPV4) != 0) {
		t->addr = inp->inp_laddr.s_addr;
		t->any = t->addr == INADDR_ANY;
		t->loopback = ntohl(t->addr) >> 24 == 127;
	} else {
		t->six = true;
		t->any = IN6_IS_ADDR_UNSPECIFIED(&inp->in6p_laddr);
		t->loopback = IN6_IS_ADDR_LOOPBACK(&inp->in6p_laddr);
	}
	return (true);
}

int
sys_tcp_each(void (*fn)(const struct sys_tcp *, void *), void *arg)
{
	struct xtcpcb tp;
	struct sys_tcp t;
	struct xinpgen xig;
	size_t len = 0, at;
	char *buf;

	if (sysctlbyname(NAME, NULL, &len, NULL, 0) != 0)
		return (errno);
	if ((buf = malloc(len)) == NULL)
		return (ENOMEM);
	if (sysctlbyname(NAME, buf, &len, NULL, 0) != 0) {
		free(buf);
		return (errno);
	}
	for (at = 0; at + sizeof(xig) <= len; at += (size_t)xig.xig_len) {
		memcpy(&xig, buf + at, sizeof(xig));
		if (xig.xig_len == 0)
			break;
		if (xig.xig_len < sizeof(tp) || at + sizeof(tp) > len)
			continue;
		memcpy(&tp, buf + at, sizeof(tp));
		if (describe(&tp, &t))
			fn(&t, arg);
	}
	free(buf);
	return (0);
}

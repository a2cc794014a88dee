/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Flows of a sandbox among pf's states.  A state passes without a look at
 * the rules, so a policy that no longer allows a flow has to end it here, on
 * both sides of the translation.
 */

/* The list of states as a struct is what release 14 had, and 15 still has. */
#define	COMPAT_FREEBSD14	1

#include <sys/ioctl.h>
#include <sys/nv.h>
#include <sys/socket.h>

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <net/pfvar.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pf_freebsd.h"

struct net_flows {
	int		 dev;
};

struct search {
	const struct net_lease *const *lease;
	size_t		 n;
	net_keep_flow	*keep;
	void		*arg;
};

int
net_flows_open(struct net_flows **out, struct co_error *e)
{
	struct net_flows *f;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "flows"));
	if ((f->dev = net_pf_open(e)) < 0) {
		free(f);
		return (-1);
	}
	*out = f;
	return (0);
}

void
net_flows_close(struct net_flows *f)
{

	if (f == NULL)
		return;
	close(f->dev);
	free(f);
}

/* All states; the count may grow between asking and reading. */
static int
states_read(int dev, struct pf_state_export **list, size_t *n)
{
	struct pfioc_states_v2 ps;
	char *buf = NULL, *more;
	int room;

	memset(&ps, 0, sizeof(ps));
	ps.ps_req_version = PF_STATE_VERSION;
	if (ioctl(dev, DIOCGETSTATESV2, &ps) != 0)
		return (errno);
	for (;;) {
		room = ps.ps_len + 64 * (int)sizeof(struct pf_state_export);
		if ((more = realloc(buf, (size_t)room)) == NULL) {
			free(buf);
			return (ENOMEM);
		}
		buf = more;
		ps.ps_len = room;
		ps.ps_buf = buf;
		if (ioctl(dev, DIOCGETSTATESV2, &ps) != 0) {
			free(buf);
			return (errno);
		}
		if (ps.ps_len <= room - (int)sizeof(struct pf_state_export))
			break;
		ps.ps_len *= 2;
	}
	*list = (void *)buf;
	*n = (size_t)ps.ps_len / sizeof(**list);
	return (0);
}

/* A side of a key: the opener's when ${opener}, else the one it dialled. */
static uint16_t
side(const struct pf_state_export *s, int key, bool opener,
    struct net_addr *a)
{
	int i = (s->direction == PF_IN) == opener ? 0 : 1;

	memset(a, 0, sizeof(*a));
	a->family = s->af == AF_INET ? 4 : 6;
	memcpy(a->b, &s->key[key].addr[i], net_addr_len(a));
	return (ntohs(s->key[key].port[i]));
}

static bool
own(const struct search *q, const struct net_addr *a)
{
	size_t i;

	for (i = 0; i < q->n; i++)
		if (net_addr_cmp(a, &q->lease[i]->addr) == 0 ||
		    (q->lease[i]->addr6.family != 0 &&
		    net_addr_cmp(a, &q->lease[i]->addr6) == 0))
			return (true);
	return (false);
}

/*
 * Inside, before any translation of what leaves, stands the stack's key;
 * what came in from outside has the sandbox's address there, too.
 */
static bool
doomed(const struct search *q, const struct pf_state_export *s)
{
	int near = s->direction == PF_OUT ? PF_SK_STACK : PF_SK_WIRE;
	struct net_addr src, dst, real;
	uint16_t port;

	(void)side(s, near, true, &src);
	port = side(s, near, false, &dst);
	(void)side(s, PF_SK_STACK, false, &real);
	if (own(q, &src))
		return (q->keep == NULL || !q->keep(q->arg, false, &dst,
		    s->proto, port));
	if (own(q, &dst) || own(q, &real))
		return (q->keep == NULL || !q->keep(q->arg, true, &src,
		    s->proto, port));
	return (false);
}

/*
 * The kernel wants a whole form filled in, though the id alone decides.
 */
static nvlist_t *
kill_anyone(void)
{
	static const uint64_t ports[2];
	struct pf_addr any;
	nvlist_t *addr, *wrap, *mask, *rule;

	memset(&any, 0, sizeof(any));
	addr = nvlist_create(0);
	nvlist_add_binary(addr, "addr", &any, sizeof(any));
	mask = nvlist_clone(addr);
	wrap = nvlist_create(0);
	nvlist_add_number(wrap, "type", PF_ADDR_ADDRMASK);
	nvlist_add_number(wrap, "iflags", 0);
	nvlist_move_nvlist(wrap, "addr", addr);
	nvlist_move_nvlist(wrap, "mask", mask);
	rule = nvlist_create(0);
	nvlist_move_nvlist(rule, "addr", wrap);
	nvlist_add_number_array(rule, "port", ports, 2);
	nvlist_add_number(rule, "neg", 0);
	nvlist_add_number(rule, "port_op", 0);
	return (rule);
}

static nvlist_t *
kill_form(const struct pf_state_export *s)
{
	nvlist_t *cmp, *nvl;

	cmp = nvlist_create(0);
	nvlist_add_number(cmp, "id", s->id);
	nvlist_add_number(cmp, "creatorid", s->creatorid);
	nvlist_add_number(cmp, "direction", 0);
	nvl = nvlist_create(0);
	nvlist_move_nvlist(nvl, "cmp", cmp);
	nvlist_add_number(nvl, "af", 0);
	nvlist_add_number(nvl, "proto", 0);
	nvlist_move_nvlist(nvl, "src", kill_anyone());
	nvlist_move_nvlist(nvl, "dst", kill_anyone());
	nvlist_add_string(nvl, "ifname", "");
	nvlist_add_string(nvl, "label", "");
	nvlist_add_bool(nvl, "kill_match", false);
	return (nvl);
}

static int
state_kill(int dev, const struct pf_state_export *s)
{
	nvlist_t *nvl = kill_form(s);
	struct pfioc_nv nv;
	size_t len;
	void *p;
	int err;

	if ((p = nvlist_pack(nvl, &len)) == NULL) {
		nvlist_destroy(nvl);
		return (ENOMEM);
	}
	nvlist_destroy(nvl);
	/* The answer, a number, needs some room as well. */
	memset(&nv, 0, sizeof(nv));
	nv.size = len < 1024 ? 1024 : len;
	nv.len = len;
	nv.data = calloc(1, nv.size);
	err = nv.data == NULL ? ENOMEM : 0;
	if (err == 0) {
		memcpy(nv.data, p, len);
		if (ioctl(dev, DIOCKILLSTATESNV, &nv) != 0)
			err = errno;
	}
	free(nv.data);
	free(p);
	return (err);
}

static int
flow_search(struct net_flows *f, const struct search *q, struct co_error *e)
{
	struct pf_state_export *list = NULL;
	size_t i, n = 0;
	int err, first;

	if ((first = states_read(f->dev, &list, &n)) == 0)
		for (i = 0; i < n; i++) {
			if (!doomed(q, &list[i]))
				continue;
			err = state_kill(f->dev, &list[i]);
			if (err != 0 && first == 0)
				first = err;
		}
	free(list);
	if (first != 0)
		return (co_error_errno(e, first, q->lease[0]->id,
		    "can't end the flows of sandbox %s", q->lease[0]->id));
	return (0);
}

int
net_flows_kill(struct net_flows *f, const struct net_lease *l,
    net_keep_flow *keep, void *arg, struct co_error *e)
{
	struct search q = { .lease = &l, .n = 1, .keep = keep, .arg = arg };

	return (flow_search(f, &q, e));
}

int
net_flows_end(struct net_flows *f, const struct net_lease *const *l,
    size_t n, struct co_error *e)
{
	struct search q = { .lease = l, .n = n };

	return (flow_search(f, &q, e));
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Flows of a sandbox in the kernel's connection table.  Established flows
 * pass without a look at the rules, so a policy that no longer allows one
 * has to end it here.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nl_linux.h"

struct net_flows {
	struct net_nl	*nl;
	FILE		*list;		/* NULL: the kernel has none */
};

/* One direction of a flow. */
struct tuple {
	struct net_addr	src, dst;
	uint8_t		proto;
	uint16_t	port;
};

/* Where the attributes of a doomed flow lie in the list. */
struct doom {
	char		*data;		/* length-prefixed attributes */
	size_t		 len, cap;
	bool		 nomem;
};

struct search {
	const struct net_lease *const *lease;
	size_t		 n;
	net_keep_flow	*keep;
	void		*arg;
	struct doom	 doom;
};

int
net_flows_open(struct net_flows **out, struct co_error *e)
{
	struct net_flows *f;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "flows"));
	if ((f->nl = net_nl_open(NETLINK_NETFILTER, -1, e)) == NULL) {
		free(f);
		return (-1);
	}
	f->list = fopen("/proc/thread-self/net/nf_conntrack", "re");
	*out = f;
	return (0);
}

void
net_flows_close(struct net_flows *f)
{

	if (f == NULL)
		return;
	net_nl_close(f->nl);
	if (f->list != NULL)
		fclose(f->list);
	free(f);
}

static void
tuple_addr(const struct nlattr *a, struct net_addr *to)
{
	size_t n = mnl_attr_get_payload_len(a);

	if (n != 4 && n != 16)
		return;
	to->family = n == 4 ? 4 : 6;
	memcpy(to->b, mnl_attr_get_payload(a), n);
}

static int
tuple_ip(const struct nlattr *a, void *arg)
{
	struct tuple *t = arg;

	switch (mnl_attr_get_type(a)) {
	case CTA_IP_V4_SRC:
	case CTA_IP_V6_SRC:
		tuple_addr(a, &t->src);
		break;
	case CTA_IP_V4_DST:
	case CTA_IP_V6_DST:
		tuple_addr(a, &t->dst);
		break;
	}
	return (MNL_CB_OK);
}

static int
tuple_proto(const struct nlattr *a, void *arg)
{
	struct tuple *t = arg;

	switch (mnl_attr_get_type(a)) {
	case CTA_PROTO_NUM:
		t->proto = mnl_attr_get_u8(a);
		break;
	case CTA_PROTO_DST_PORT:
		t->port = ntohs(mnl_attr_get_u16(a));
		break;
	}
	return (MNL_CB_OK);
}

static int
tuple_cb(const struct nlattr *a, void *arg)
{

	if (mnl_attr_get_type(a) == CTA_TUPLE_IP)
		mnl_attr_parse_nested(a, tuple_ip, arg);
	else if (mnl_attr_get_type(a) == CTA_TUPLE_PROTO)
		mnl_attr_parse_nested(a, tuple_proto, arg);
	return (MNL_CB_OK);
}

struct flow {
	const struct nlattr *orig, *id, *zone;
	struct tuple	 o, r;
};

static int
flow_attr(const struct nlattr *a, void *arg)
{
	struct flow *f = arg;

	switch (mnl_attr_get_type(a)) {
	case CTA_TUPLE_ORIG:
		f->orig = a;
		mnl_attr_parse_nested(a, tuple_cb, &f->o);
		break;
	case CTA_TUPLE_REPLY:
		mnl_attr_parse_nested(a, tuple_cb, &f->r);
		break;
	case CTA_ID:
		f->id = a;
		break;
	case CTA_ZONE:
		f->zone = a;
		break;
	}
	return (MNL_CB_OK);
}

static bool
own(const struct search *s, const struct net_addr *a)
{
	size_t i;

	for (i = 0; i < s->n && a->family != 0; i++)
		if (net_addr_cmp(a, &s->lease[i]->addr) == 0 ||
		    net_addr_cmp(a, &s->lease[i]->addr6) == 0)
			return (true);
	return (false);
}

static size_t
aligned(const struct nlattr *a)
{

	return (((size_t)a->nla_len + 3) & ~(size_t)3);
}

/* Keep a copy of the attributes that name the flow. */
static void
doom_add(struct doom *d, const struct flow *f, uint8_t family)
{
	const struct nlattr *at[3] = { f->orig, f->id, f->zone };
	size_t need = 8, n;
	uint32_t head[2];
	char *p;
	int i;

	for (i = 0; i < 3; i++)
		if (at[i] != NULL)
			need += aligned(at[i]);
	if (d->cap - d->len < need) {
		n = d->cap * 2 + need + 4096;
		if ((p = realloc(d->data, n)) == NULL) {
			d->nomem = true;
			return;
		}
		d->data = p;
		d->cap = n;
	}
	head[0] = (uint32_t)need;
	head[1] = family;
	memcpy(d->data + d->len, head, 8);
	n = d->len + 8;
	for (i = 0; i < 3; i++) {
		if (at[i] == NULL)
			continue;
		memset(d->data + n, 0, aligned(at[i]));
		memcpy(d->data + n, at[i], at[i]->nla_len);
		n += aligned(at[i]);
	}
	d->len += need;
}

static int
flow_cb(const struct nlmsghdr *h, void *arg)
{
	const struct nfgenmsg *g = mnl_nlmsg_get_payload(h);
	struct search *s = arg;
	struct flow f;
	bool keep;

	memset(&f, 0, sizeof(f));
	mnl_attr_parse(h, sizeof(*g), flow_attr, &f);
	if (own(s, &f.o.src))
		keep = s->keep != NULL && s->keep(s->arg, false, &f.o.dst,
		    f.o.proto, f.o.port);
	else if (own(s, &f.o.dst) || own(s, &f.r.src))
		keep = s->keep != NULL && s->keep(s->arg, true, &f.o.src,
		    f.o.proto, f.o.port);
	else
		return (MNL_CB_OK);
	if (!keep && f.orig != NULL)
		doom_add(&s->doom, &f, g->nfgen_family);
	return (MNL_CB_OK);
}

static struct nlmsghdr *
flow_msg(struct net_nl *nl, int type, uint8_t family, uint16_t flags)
{
	struct nlmsghdr *h = net_nl_msg(nl,
	    (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type), flags);
	struct nfgenmsg *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	g->nfgen_family = family;
	g->version = NFNETLINK_V0;
	g->res_id = 0;
	return (h);
}

static int
doom_all(struct net_flows *f, const struct doom *d)
{
	struct nlmsghdr *h;
	uint32_t head[2];
	size_t at = 0;
	int err, first = 0;

	while (at < d->len) {
		memcpy(head, d->data + at, 8);
		net_nl_begin(f->nl);
		h = flow_msg(f->nl, IPCTNL_MSG_CT_DELETE, (uint8_t)head[1],
		    NLM_F_ACK);
		memcpy(mnl_nlmsg_get_payload_tail(h), d->data + at + 8,
		    head[0] - 8);
		h->nlmsg_len += head[0] - 8;
		net_nl_end(f->nl, h);
		err = net_nl_commit(f->nl);
		if (err != 0 && err != ENOENT && first == 0)
			first = err;
		at += head[0];
	}
	return (first);
}

/* Whether a line "... src=A dst=B ..." has an address of theirs. */
static bool
line_own(const struct search *s, char *line)
{
	struct net_addr a;
	char *save = NULL, *w;

	for (w = strtok_r(line, " \n", &save); w != NULL;
	    w = strtok_r(NULL, " \n", &save))
		if ((strncmp(w, "src=", 4) == 0 ||
		    strncmp(w, "dst=", 4) == 0) &&
		    net_addr_parse(w + 4, &a) == 0 && own(s, &a))
			return (true);
	return (false);
}

/*
 * Whether there is anything to search for.  The kernel takes a lock for each
 * of its (many, mostly empty) buckets to dump the table, but none to list it
 * as text, which is some forty times as quick.
 */
static bool
flow_any(struct net_flows *f, const struct search *s)
{
	char *line = NULL;
	size_t size = 0;
	bool any = false;

	if (f->list == NULL)
		return (true);
	rewind(f->list);
	while (!any && getline(&line, &size, f->list) > 0)
		any = line_own(s, line);
	any = any || ferror(f->list) || !feof(f->list);
	free(line);
	return (any);
}

static int
flow_search(struct net_flows *f, struct search *s, struct co_error *e)
{
	struct nlmsghdr *h;
	int err;

	if (!flow_any(f, s))
		return (0);
	net_nl_begin(f->nl);
	h = flow_msg(f->nl, IPCTNL_MSG_CT_GET, AF_UNSPEC, NLM_F_DUMP);
	net_nl_end(f->nl, h);
	err = net_nl_query(f->nl, flow_cb, s);
	if (err == 0 && s->doom.nomem)
		err = ENOMEM;
	if (err == 0)
		err = doom_all(f, &s->doom);
	free(s->doom.data);
	if (err != 0)
		return (co_error_errno(e, err, s->lease[0]->id,
		    "can't end the flows of sandbox %s", s->lease[0]->id));
	return (0);
}

int
net_flows_kill(struct net_flows *f, const struct net_lease *l,
    net_keep_flow *keep, void *arg, struct co_error *e)
{
	struct search s = { .lease = &l, .n = 1, .keep = keep, .arg = arg };

	return (flow_search(f, &s, e));
}

int
net_flows_end(struct net_flows *f, const struct net_lease *const *l,
    size_t n, struct co_error *e)
{
	struct search s = { .lease = l, .n = n };

	return (flow_search(f, &s, e));
}

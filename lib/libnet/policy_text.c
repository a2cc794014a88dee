/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Policies as text: entries such as 198.51.100.0/24:443/tcp, and whole
 * policies line by line.  Input may come from an untrusted client, so every
 * length is bounded here and nothing is guessed.
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_internal.h"
#include "policy_internal.h"

static const struct {
	const char	*name;
	uint8_t		 proto;
	bool		 ports;
} protos[] = {
	{ "tcp", 6, true }, { "udp", 17, true }, { "sctp", 132, true },
	{ "icmp", 1, false }, { "icmp6", 58, false },
};

#define	NPROTOS	(sizeof(protos) / sizeof(protos[0]))

const char *
net_proto_name(uint8_t proto, char buf[8])
{
	size_t i;

	for (i = 0; i < NPROTOS; i++)
		if (protos[i].proto == proto)
			return (protos[i].name);
	snprintf(buf, 8, "%u", proto);
	return (buf);
}

static int
text_number(const char *s, unsigned long max, unsigned long *n)
{
	char *end;

	if (*s < '0' || *s > '9' || strlen(s) > 5)
		return (-1);
	*n = strtoul(s, &end, 10);
	return (*end == '\0' && *n <= max ? 0 : -1);
}

static int
text_proto(const char *s, uint8_t *proto, bool *ports)
{
	unsigned long n;
	size_t i;

	for (i = 0; i < NPROTOS; i++)
		if (strcmp(s, protos[i].name) == 0) {
			*proto = protos[i].proto;
			*ports = protos[i].ports;
			return (0);
		}
	if (text_number(s, 255, &n) != 0 || n == 0)
		return (-1);
	*proto = (uint8_t)n;
	*ports = n == 6 || n == 17 || n == 132;
	return (0);
}

static int
text_ports(char *s, struct net_flow *f)
{
	unsigned long lo, hi;
	char *dash;

	if ((dash = strchr(s, '-')) != NULL)
		*dash++ = '\0';
	if (text_number(s, 65535, &lo) != 0 || lo == 0)
		return (-1);
	hi = lo;
	if (dash != NULL && (text_number(dash, 65535, &hi) != 0 || hi < lo))
		return (-1);
	f->lo = (uint16_t)lo;
	f->hi = (uint16_t)hi;
	return (0);
}

/* The parts of one entry, cut apart in place. */
struct entry {
	char	*host;		/* address, prefix or name */
	char	*ports;		/* NULL: none */
	char	*proto;		/* NULL: none */
	bool	 bracket;
};

/* Whatever has a colon or consists of digits and dots is an address. */
static bool
text_isname(const char *s)
{

	return (strchr(s, ':') == NULL &&
	    strspn(s, "0123456789./") != strlen(s));
}

/*
 * Cut HOST[:PORTS][/PROTO] or [HOST]:PORTS/PROTO.  A slash followed by
 * digits right behind an address is its prefix length; an unbracketed IPv6
 * address has no ports.
 */
static const char *
text_cut(char *s, struct entry *en)
{
	char *p, *colon;

	memset(en, 0, sizeof(*en));
	en->host = s;
	if (*s == '[') {
		en->bracket = true;
		en->host = s + 1;
		if ((p = strchr(s, ']')) == NULL)
			return ("a closing bracket");
		*p++ = '\0';
		s = p;
		if (*s != '\0' && *s != ':' && *s != '/')
			return ("\":port\" or \"/proto\" behind the bracket");
	} else {
		colon = strchr(s, ':');
		if (colon != NULL && strchr(colon + 1, ':') != NULL) {
			/* IPv6: skip to the end or to "/letters". */
			p = s;
			while ((p = strchr(p, '/')) != NULL &&
			    isdigit((unsigned char)p[1]))
				p++;
			s = p == NULL ? s + strlen(s) : p;
		} else {
			s += strcspn(s, "/:");
			if (*s == '/' && isdigit((unsigned char)s[1]) &&
			    isdigit((unsigned char)*en->host))
				s += 1 + strcspn(s + 1, "/:");
		}
	}
	if (*s == ':') {
		*s++ = '\0';
		en->ports = s;
		s += strcspn(s, "/");
	}
	if (*s == '/') {
		*s++ = '\0';
		en->proto = s;
	}
	return (NULL);
}

static const char *
text_flow(const struct entry *en, struct net_flow *f, bool *both)
{
	bool ports = true;

	memset(f, 0, sizeof(*f));
	f->hi = UINT16_MAX;
	*both = false;
	if (en->proto != NULL && text_proto(en->proto, &f->proto, &ports) != 0)
		return ("a protocol: tcp, udp, sctp, icmp, icmp6 or 1-255");
	if (en->ports == NULL)
		return (NULL);
	if (text_ports(en->ports, f) != 0)
		return ("a port from 1 to 65535, or two with a dash");
	if (!ports)
		return ("no port, as that protocol has none");
	*both = f->proto == 0;
	return (NULL);
}

/* A domain name: labels of letters, digits, '-' and '_'. */
static const char *
text_name(const char *s, struct net_name *n)
{
	size_t i, label = 0, len;

	memset(n, 0, sizeof(*n));
	if (s[0] == '*' && s[1] == '.') {
		n->below = true;
		s += 2;
	}
	len = strlen(s);
	if (len > 0 && s[len - 1] == '.')
		len--;
	if (len == 0 || len >= sizeof(n->name) - 1)
		return ("a domain name of at most 252 bytes");
	for (i = 0; i < len; i++) {
		if (s[i] == '.') {
			if (label == 0)
				return ("a domain name without empty labels");
			n->name[i] = '.';
			label = 0;
			continue;
		}
		if (!isalnum((unsigned char)s[i]) && s[i] != '-' &&
		    s[i] != '_')
			return ("letters, digits, '-', '_' and '.' in a name");
		if (++label > 63)
			return ("labels of at most 63 bytes in a name");
		n->name[i] = (char)tolower((unsigned char)s[i]);
	}
	return (label == 0 ? "a domain name without empty labels" : NULL);
}

static const char *
text_dest(const struct entry *en, enum net_list l, struct net_dest *d)
{
	struct net_prefix p;
	struct net_addr a;
	int r;

	memset(d, 0, sizeof(*d));
	if ((r = net_prefix_parse(en->host, &p)) == -1)
		return ("an address, a range such as 198.51.100.0/24 or a "
		    "domain name");
	if (r == -2)
		return ("a range without bits behind its prefix");
	if (en->bracket && p.addr.family != 6)
		return ("an IPv6 address in brackets");
	d->addr = p.addr;
	d->plen = p.plen;
	if (l == NET_DENY)
		return (NULL);
	if (p.addr.family == 4 && p.plen >= 8 && p.addr.b[0] == 127)
		return ("no loopback address, which can't be allowed");
	if (p.addr.family == 4 && p.plen >= 4 && p.addr.b[0] >= 224)
		return ("no multicast or broadcast address");
	net_addr_parse("::1", &a);
	if (p.plen == 128 && net_addr_cmp(&p.addr, &a) == 0)
		return ("no loopback address, which can't be allowed");
	if (p.addr.family == 6 && p.plen >= 8 && p.addr.b[0] == 0xff)
		return ("no multicast address");
	return (NULL);
}

static int
text_store(struct net_policy *p, enum net_list l, const struct net_dest *d,
    const struct net_name *n, const struct net_flow *f)
{
	struct net_dest dd;
	struct net_name nn;

	if (n != NULL) {
		nn = *n;
		nn.flow = *f;
		return (net_policy_add_name(p, l, &nn));
	}
	dd = *d;
	dd.flow = *f;
	if (dd.addr.family == 6 && dd.flow.proto == 1)
		dd.flow.proto = 58;
	return (net_policy_add_dest(p, l, &dd));
}

static const char *
text_add(struct net_policy *p, enum net_list l, char *s, bool *nomem)
{
	struct net_dest d;
	struct net_name n;
	struct net_flow f;
	struct entry en;
	const char *want;
	bool both, isname;

	if ((want = text_cut(s, &en)) != NULL ||
	    (want = text_flow(&en, &f, &both)) != NULL)
		return (want);
	isname = !en.bracket && text_isname(en.host);
	want = isname ? text_name(en.host, &n) : text_dest(&en, l, &d);
	if (want != NULL)
		return (want);
	if (p->ndest[l] + p->nname[l] + 2 > NET_MAXENTRIES)
		return ("fewer entries: a list has at most 1024");
	if (both)
		f.proto = 6;
	*nomem = text_store(p, l, &d, isname ? &n : NULL, &f) != 0;
	if (both && !*nomem) {
		f.proto = 17;
		*nomem = text_store(p, l, &d, isname ? &n : NULL, &f) != 0;
	}
	return (NULL);
}

int
net_policy_add(struct net_policy *p, enum net_list l, const char *entry,
    struct co_error *e)
{
	char copy[NET_NAMELEN + 64];
	const char *want;
	bool nomem = false;
	size_t len = strlen(entry);

	if (len == 0 || len >= sizeof(copy))
		want = "an address, a range or a domain name";
	else {
		memcpy(copy, entry, len + 1);
		want = text_add(p, l, copy, &nomem);
	}
	if (want != NULL)
		return (co_error_set(e, CO_ENET_POLICY, entry,
		    "\"%.200s\" in the %s list: expected %s", entry,
		    l == NET_ALLOW ? "allow" : "deny", want));
	if (nomem)
		return (co_error_set(e, CO_ESYS_NOMEM, entry,
		    "out of memory for the policy"));
	return (0);
}

static int
text_rate(const char *s, uint64_t *rate)
{
	char *end;
	unsigned long long v;
	uint64_t mul = 1;

	if (*s < '0' || *s > '9' || strlen(s) > 15)
		return (-1);
	errno = 0;
	v = strtoull(s, &end, 10);
	if (*end == 'k')
		mul = 1000;
	else if (*end == 'm')
		mul = 1000000;
	else if (*end == 'g')
		mul = 1000000000;
	if (mul != 1)
		end++;
	if (*end != '\0' || errno != 0 || v > 1000000000000ULL / mul)
		return (-1);
	*rate = v * mul;
	/* Below a kilobyte a second not even a handshake gets through. */
	return (*rate != 0 && *rate < 8000 ? -1 : 0);
}

static const char *
text_set(struct net_policy *p, const char *key, const char *value)
{

	if (strcmp(key, "mode") == 0)
		return (net_mode_parse(value, &p->mode) == 0 ? NULL :
		    "open, allowlist, airgap or disabled");
	if (strcmp(key, "up") == 0 || strcmp(key, "down") == 0)
		return (text_rate(value, *key == 'u' ? &p->up : &p->down) ==
		    0 ? NULL : "0, or a rate of 8k to 1000g bits a second");
	if (strcmp(key, "forwards") == 0) {
		if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
			return ("yes or no");
		p->forwards = *value == 'y';
		return (NULL);
	}
	return ("a line \"mode\", \"allow\", \"deny\", \"up\", \"down\" or "
	    "\"forwards\"");
}

static int
text_line(struct net_policy *p, char *line, unsigned number,
    struct co_error *e)
{
	struct co_error le;
	const char *want;
	char *key, *value, what[32];

	key = line + strspn(line, " \t\r");
	if (*key == '\0' || *key == '#')
		return (0);
	value = key + strcspn(key, " \t\r");
	if (*value != '\0')
		*value++ = '\0';
	value += strspn(value, " \t\r");
	value[strcspn(value, " \t\r")] = '\0';
	snprintf(what, sizeof(what), "line %u", number);
	if (strcmp(key, "allow") == 0 || strcmp(key, "deny") == 0) {
		if (net_policy_add(p, *key == 'a' ? NET_ALLOW : NET_DENY,
		    value, &le) == 0)
			return (0);
		return (co_error_set(e, le.code, what, "policy line %u: %s",
		    number, le.message));
	}
	if ((want = text_set(p, key, value)) == NULL)
		return (0);
	return (co_error_set(e, CO_ENET_POLICY, what,
	    "policy line %u, \"%.64s\": expected %s", number, key, want));
}

int
net_policy_parse(const char *text, size_t len, struct net_policy **out,
    struct co_error *e)
{
	struct net_policy *p;
	char line[NET_NAMELEN + 128];
	const char *nl;
	unsigned number = 0;
	size_t n;

	if ((p = net_policy_new(NET_AIRGAP)) == NULL)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory for the policy"));
	while (len > 0) {
		number++;
		nl = memchr(text, '\n', len);
		n = nl == NULL ? len : (size_t)(nl - text);
		if (n >= sizeof(line) || memchr(text, '\0', n) != NULL) {
			co_error_set(e, CO_ENET_POLICY, NULL,
			    "policy line %u is too long, or not text", number);
			goto err0;
		}
		memcpy(line, text, n);
		line[n] = '\0';
		if (text_line(p, line, number, e) != 0)
			goto err0;
		n += nl != NULL;
		text += n;
		len -= n;
	}
	*out = p;
	return (0);
err0:
	net_policy_free(p);
	return (-1);
}

static void
print_flow(struct co_buf *b, const struct net_flow *f)
{
	char buf[8];

	if (f->lo != 0 || f->hi != UINT16_MAX)
		co_buf_printf(b, ":%u", f->lo);
	if (f->lo != 0 && f->hi != f->lo)
		co_buf_printf(b, "-%u", f->hi);
	if (f->proto != 0)
		co_buf_printf(b, "/%s", net_proto_name(f->proto, buf));
}

static void
print_list(struct co_buf *b, const struct net_policy *p, enum net_list l)
{
	const char *word = l == NET_ALLOW ? "allow" : "deny";
	const struct net_dest *d;
	const struct net_name *n;
	struct net_prefix pre;
	bool bracket;
	size_t i;

	for (i = 0; i < p->ndest[l]; i++) {
		d = &p->dest[l][i];
		pre.addr = d->addr;
		pre.plen = d->plen;
		bracket = d->addr.family == 6;
		co_buf_printf(b, "%s %s", word, bracket ? "[" : "");
		net_prefix_print(b, &pre);
		co_buf_printf(b, "%s", bracket ? "]" : "");
		print_flow(b, &d->flow);
		co_buf_printf(b, "\n");
	}
	for (i = 0; i < p->nname[l]; i++) {
		n = &p->name[l][i];
		co_buf_printf(b, "%s %s%s", word, n->below ? "*." : "",
		    n->name);
		print_flow(b, &n->flow);
		co_buf_printf(b, "\n");
	}
}

char *
net_policy_print(const struct net_policy *p)
{
	struct co_buf b = { 0 };

	co_buf_printf(&b, "mode %s\n", net_mode_name(p->mode));
	print_list(&b, p, NET_ALLOW);
	print_list(&b, p, NET_DENY);
	if (p->up != 0)
		co_buf_printf(&b, "up %llu\n", (unsigned long long)p->up);
	if (p->down != 0)
		co_buf_printf(&b, "down %llu\n", (unsigned long long)p->down);
	if (p->forwards)
		co_buf_printf(&b, "forwards yes\n");
	return (co_buf_take(&b));
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * pf by pfctl(8) for rules, where its parser is the only one that matters,
 * and by /dev/pf for tables and anchors.  Everything that is compared is
 * compared in pf's own words: what pfctl says it would load against what it
 * says is loaded.
 */

#include <sys/ioctl.h>
#include <sys/nv.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <net/pfvar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pf_freebsd.h"

#define	MAXARGS	16
#define	MAXTEXT	(8 << 20)
#define	PATIENCE	60000

void
net_pf_anchor(const struct net_conf *c, const char *word, const char *tag,
    char buf[NET_PF_ANCHOR])
{

	snprintf(buf, NET_PF_ANCHOR, "%s/%s%s", c->anchor, word, tag);
}

/*
 * What pfctl says besides its output: what this kernel lacks, and that
 * another anchor has tables of the same names, as all of ours have.
 */
static bool
remark(const char *line)
{

	return (strncmp(line, "No ALTQ", 7) == 0 ||
	    strncmp(line, "ALTQ related", 12) == 0 ||
	    strncmp(line, "pfctl: warning: table <", 23) == 0 ||
	    line[0] == '\n');
}

/* Take out the lines that ${drop} chooses, in place. */
static void
sift(char *text, bool (*drop)(const char *))
{
	char *from = text, *to = text;
	size_t n;

	while (*from != '\0') {
		n = strcspn(from, "\n");
		n += from[n] == '\n';
		if (!drop(from)) {
			memmove(to, from, n);
			to += n;
		}
		from += n;
	}
	*to = '\0';
}

static int
pf_failed(const char *anchor, const struct co_result *res,
    struct co_error *e)
{
	char text[400];
	size_t n;

	snprintf(text, sizeof(text), "%s", res->out);
	for (n = strlen(text); n > 0 && text[n - 1] == '\n'; n--)
		text[n - 1] = '\0';
	return (co_error_set(e, CO_ENET_RULES, anchor == NULL ? "pf" : anchor,
	    "pfctl failed on %s%s: %s%s", anchor == NULL ? "the main rules" :
	    "anchor ", anchor == NULL ? "" : anchor, res->timedout ?
	    "it did not end; " : "", text));
}

int
net_pf_run(const char *anchor, const char *const *args, const char *input,
    char **out, struct co_error *e)
{
	const char *argv[MAXARGS] = { "/sbin/pfctl", "-o", "none" };
	struct co_run r = { .argv = argv, .maxout = MAXTEXT };
	struct co_result res;
	int n = 3;

	if (anchor != NULL) {
		argv[n++] = "-a";
		argv[n++] = anchor;
	}
	for (; *args != NULL && n < MAXARGS - 1; args++)
		argv[n++] = *args;
	argv[n] = NULL;
	r.input = input;
	r.inputlen = input == NULL ? 0 : strlen(input);
	r.deadline = co_after(PATIENCE);
	if (co_run(&r, &res, e) != 0)
		return (-1);
	sift(res.out, remark);
	if (res.status != 0 || res.timedout || res.cut) {
		pf_failed(anchor, &res, e);
		free(res.out);
		return (-1);
	}
	if (out != NULL)
		*out = res.out;
	else
		free(res.out);
	return (0);
}

int
net_pf_load(const char *anchor, const char *text, struct co_error *e)
{
	static const char *const args[] = { "-f", "-", NULL };

	return (net_pf_run(anchor, args, text, NULL, e));
}

int
net_pf_load_main(const char *text, struct co_error *e)
{
	static const char *const args[] = { "-N", "-R", "-f", "-", NULL };

	return (net_pf_run(NULL, args, text, NULL, e));
}

static bool
is_scrub(const char *line)
{

	return (strncmp(line, "scrub ", 6) == 0 ||
	    strncmp(line, "no scrub ", 9) == 0);
}

static bool
is_not_scrub(const char *line)
{

	return (!is_scrub(line));
}

/* That an anchor is not there is said on the side, with success. */
static bool
is_complaint(const char *line)
{

	return (strncmp(line, "pfctl: ", 7) == 0 ||
	    strncmp(line, "Anchor ", 7) == 0);
}

/* pf wants normalization first, then translation, then filtering. */
int
net_pf_rules(const char *anchor, char **out, struct co_error *e)
{
	static const char *const nat[] = { "-s", "nat", NULL };
	static const char *const rules[] = { "-s", "rules", NULL };
	struct co_buf b = { 0 };
	char *n, *r, *scrub;

	if (net_pf_run(anchor, nat, NULL, &n, e) != 0)
		return (-1);
	if (net_pf_run(anchor, rules, NULL, &r, e) != 0) {
		free(n);
		return (-1);
	}
	sift(n, is_complaint);
	sift(r, is_complaint);
	if ((scrub = strdup(r)) != NULL) {
		sift(scrub, is_not_scrub);
		sift(r, is_scrub);
		co_buf_printf(&b, "%s%s%s", scrub, n, r);
	} else
		b.failed = true;
	free(scrub);
	free(n);
	free(r);
	if ((*out = co_buf_take(&b)) == NULL)
		return (co_error_errno(e, ENOMEM, anchor, "rules"));
	return (0);
}

/*
 * An anchor ends with the last of its rules, and pfctl then fails on its
 * tables; so what counts is that there is nothing left.
 */
int
net_pf_flush(const char *anchor, struct co_error *e)
{
	static const char *const args[] = { "-F", "all", NULL };
	struct co_error why;
	char *text;
	bool empty;

	if (net_pf_run(anchor, args, NULL, NULL, &why) == 0)
		return (0);
	if (net_pf_rules(anchor, &text, NULL) != 0)
		empty = strstr(why.message, "not exist") != NULL;
	else {
		empty = text[0] == '\0';
		free(text);
	}
	if (!empty && e != NULL)
		*e = why;
	return (empty ? 0 : -1);
}

static bool
is_table(const char *line)
{

	return (strncmp(line, "table ", 6) == 0);
}

int
net_pf_same(const char *anchor, const char *text, struct co_error *e)
{
	static const char *const try[] = { "-n", "-v", "-f", "-", NULL };
	struct co_error why;
	char *want, *have;
	int r;

	if (net_pf_run(anchor, try, text, &want, e) != 0)
		return (-1);
	sift(want, is_table);
	if (net_pf_rules(anchor, &have, &why) != 0) {
		free(want);
		if (strstr(why.message, "does not exist") != NULL)
			return (text[0] == '\0');
		if (e != NULL)
			*e = why;
		return (-1);
	}
	r = strcmp(want, have) == 0;
	free(want);
	free(have);
	return (r);
}

/* What pfctl makes of a text, without tables and the lines of ${anchor}. */
static int
canonical(const char *text, const char *anchor, char **out,
    struct co_error *e)
{
	static const char *const try[] = { "-n", "-v", "-N", "-R", "-f", "-",
	    NULL };
	char nat[NET_PF_ANCHOR], *from, *to;
	size_t k, n;

	if (net_pf_run(NULL, try, text, out, e) != 0)
		return (-1);
	k = (size_t)snprintf(nat, sizeof(nat), "nat-anchor \"%s/*\"", anchor);
	for (from = to = *out; *from != '\0'; from += n) {
		n = strcspn(from, "\n");
		n += from[n] == '\n';
		if (is_table(from) || strncmp(from, "set ", 4) == 0 ||
		    strncmp(from, nat, k) == 0 ||
		    strncmp(from, nat + 4, k - 4) == 0)
			continue;
		memmove(to, from, n);
		to += n;
	}
	*to = '\0';
	return (0);
}

int
net_pf_alike(const char *a, const char *b, const char *anchor,
    struct co_error *e)
{
	char *one, *two;
	int r;

	if (canonical(a, anchor, &one, e) != 0)
		return (-1);
	if (canonical(b, anchor, &two, e) != 0) {
		free(one);
		return (-1);
	}
	r = strcmp(one, two) == 0;
	free(one);
	free(two);
	return (r);
}

bool
net_pf_skipped(const char *ifname)
{
	const char *const args[] = { "-v", "-s", "Interfaces", "-i", ifname,
	    NULL };
	char word[NET_IFNAME + 16], *text;
	bool skip;

	if (net_pf_run(NULL, args, NULL, &text, NULL) != 0)
		return (false);
	snprintf(word, sizeof(word), "%s (skip)", ifname);
	skip = net_pf_has_line(text, word);
	free(text);
	return (skip);
}

int
net_pf_enabled(struct co_error *e)
{
	static const char *const info[] = { "-s", "info", NULL };
	char *out;
	int r;

	if (net_pf_run(NULL, info, NULL, &out, e) != 0)
		return (-1);
	r = strstr(out, "Status: Enabled") != NULL;
	free(out);
	return (r);
}

int
net_pf_enable(bool on, struct co_error *e)
{
	int dev, err = 0;

	if ((dev = net_pf_open(e)) < 0)
		return (-1);
	if (ioctl(dev, on ? DIOCSTART : DIOCSTOP) != 0 && errno != EEXIST &&
	    errno != ENOENT)
		err = errno;
	close(dev);
	if (err != 0)
		return (co_error_errno(e, err, "pf", "can't turn pf %s",
		    on ? "on" : "off"));
	return (0);
}

/*
 * A pf whose options nobody has loaded may take any open connection for a
 * flood (its mark is zero): it then answers everybody with a cookie, before
 * it looks at rules, and what passes a bridge never gets further than that.
 * Options that pfctl loads, if only by default, have a mark, and are left as
 * they are.
 */
int
net_pf_cookies(struct co_error *e)
{
	char buf[4096];
	struct pfioc_nv io = { .data = buf, .size = sizeof(buf) };
	nvlist_t *nv = NULL;
	int dev, err = 0;

	if ((dev = net_pf_open(e)) < 0)
		return (-1);
	if (ioctl(dev, DIOCGETSYNCOOKIES, &io) != 0 ||
	    (nv = nvlist_unpack(buf, io.len, 0)) == NULL)
		goto out;		/* a kernel that knows none */
	if (!nvlist_exists_bool(nv, "adaptive") ||
	    !nvlist_get_bool(nv, "adaptive") ||
	    !nvlist_exists_number(nv, "highwater") ||
	    nvlist_get_number(nv, "highwater") != 0)
		goto out;
	nvlist_destroy(nv);
	nv = nvlist_create(0);
	nvlist_add_bool(nv, "enabled", false);
	nvlist_add_bool(nv, "adaptive", false);
	nvlist_add_number(nv, "highwater", 25000);	/* as pfctl does */
	nvlist_add_number(nv, "lowwater", 12500);
	io.size = sizeof(buf);
	if ((io.data = nvlist_pack(nv, &io.len)) == NULL ||
	    ioctl(dev, DIOCSETSYNCOOKIES, &io) != 0)
		err = errno;
	free(io.data);
out:
	nvlist_destroy(nv);
	close(dev);
	if (err != 0)
		return (co_error_errno(e, err, "pf",
		    "can't set pf's syncookies"));
	return (0);
}

int
net_pf_open(struct co_error *e)
{
	int fd;

	if ((fd = open("/dev/pf", O_RDWR | O_CLOEXEC)) < 0)
		return (co_error_errno(e, errno, "/dev/pf",
		    "can't open /dev/pf; load pf by \"kldload pf\" and put "
		    "pf_load=\"YES\" into loader.conf"));
	return (fd);
}

int
net_pf_anchors(int dev, const char *parent, int (*f)(void *, const char *),
    void *arg, struct co_error *e)
{
	struct pfioc_ruleset pr;
	char (*name)[PF_ANCHOR_NAME_SIZE];
	uint32_t i, n;
	int r = 0;

	memset(&pr, 0, sizeof(pr));
	snprintf(pr.path, sizeof(pr.path), "%s", parent);
	if (ioctl(dev, DIOCGETRULESETS, &pr) != 0) {
		if (errno == ENOENT || errno == EINVAL)
			return (0);
		return (co_error_errno(e, errno, parent,
		    "can't list the anchors of pf"));
	}
	n = pr.nr;
	if ((name = calloc((size_t)n + 1, sizeof(*name))) == NULL)
		return (co_error_errno(e, ENOMEM, parent, "anchors"));
	/* All names first: the caller may remove some. */
	for (i = 0; i < n; i++) {
		pr.nr = i;
		if (ioctl(dev, DIOCGETRULESET, &pr) != 0)
			break;
		memcpy(name[i], pr.name, sizeof(*name));
	}
	n = i;
	for (i = 0; i < n && r == 0; i++)
		r = f(arg, name[i]);
	free(name);
	return (r);
}

/*
 * Tables.
 */
static void
table_name(struct pfioc_table *io, const char *anchor, const char *table)
{

	memset(io, 0, sizeof(*io));
	snprintf(io->pfrio_table.pfrt_anchor,
	    sizeof(io->pfrio_table.pfrt_anchor), "%s", anchor);
	snprintf(io->pfrio_table.pfrt_name,
	    sizeof(io->pfrio_table.pfrt_name), "%s", table);
	io->pfrio_esize = sizeof(struct pfr_addr);
}

static void
table_entry(const struct net_addr *a, struct pfr_addr *p)
{

	memset(p, 0, sizeof(*p));
	p->pfra_af = a->family == 4 ? AF_INET : AF_INET6;
	p->pfra_net = (uint8_t)net_addr_bits(a);
	memcpy(&p->pfra_u, a->b, net_addr_len(a));
}

static int
table_change(int dev, unsigned long what, const char *anchor,
    const char *table, const struct net_addr *a)
{
	struct pfioc_table io;
	struct pfr_addr p;

	table_name(&io, anchor, table);
	table_entry(a, &p);
	io.pfrio_buffer = &p;
	io.pfrio_size = 1;
	return (ioctl(dev, what, &io) == 0 ? 0 : errno);
}

int
net_pf_table_add(int dev, const char *anchor, const char *table,
    const struct net_addr *a)
{

	return (table_change(dev, DIOCRADDADDRS, anchor, table, a));
}

int
net_pf_table_del(int dev, const char *anchor, const char *table,
    const struct net_addr *a)
{

	return (table_change(dev, DIOCRDELADDRS, anchor, table, a));
}

static struct net_prefix *
table_prefixes(const struct pfr_addr *p, size_t n)
{
	struct net_prefix *list;
	size_t i;

	if ((list = calloc(n + 1, sizeof(*list))) == NULL)
		return (NULL);
	for (i = 0; i < n; i++) {
		list[i].addr.family = p[i].pfra_af == AF_INET ? 4 : 6;
		memcpy(list[i].addr.b, &p[i].pfra_u,
		    net_addr_len(&list[i].addr));
		list[i].plen = p[i].pfra_net;
	}
	return (list);
}

int
net_pf_table_get(int dev, const char *anchor, const char *table,
    struct net_prefix **list, size_t *n)
{
	struct pfioc_table io;
	struct pfr_addr *p = NULL, *more;
	int err = 0, room = 64;

	for (;;) {
		more = realloc(p, (size_t)room * sizeof(*p));
		if (more == NULL) {
			err = ENOMEM;
			break;
		}
		p = more;
		table_name(&io, anchor, table);
		io.pfrio_buffer = p;
		io.pfrio_size = room;
		if (ioctl(dev, DIOCRGETADDRS, &io) != 0) {
			err = errno;
			break;
		}
		if (io.pfrio_size <= room)
			break;
		room = io.pfrio_size + 64;
	}
	if (err == 0) {
		*n = (size_t)io.pfrio_size;
		if ((*list = table_prefixes(p, *n)) == NULL)
			err = ENOMEM;
	}
	free(p);
	return (err);
}

bool
net_pf_has_line(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (; *text != '\0'; text += strcspn(text, "\n"), text += *text != 0)
		if (strncmp(text, word, n) == 0)
			return (true);
	return (false);
}

/* Whether the main rules lead to our anchors. */
int
net_pf_main_hooked(const struct net_conf *c, bool *nat, bool *filter,
    struct co_error *e)
{
	char word[NET_PF_ANCHOR], *text;

	if (net_pf_rules(NULL, &text, e) != 0)
		return (-1);
	snprintf(word, sizeof(word), "nat-anchor \"%s/*\"", c->anchor);
	*nat = net_pf_has_line(text, word);
	*filter = net_pf_has_line(text, word + 4);
	free(text);
	return (0);
}

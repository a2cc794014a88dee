/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The host's part on FreeBSD: two lines in pf's main rules that lead to our
 * anchors, the anchors that all sandboxes share, whether pf is on, and a few
 * switches of the kernel.  The operator's rules are kept as pf has them, not
 * as some file does; options, tables and other anchors are not touched.
 */

#include <sys/param.h>
#include <sys/sysctl.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"
#include "pf_freebsd.h"

/*
 * Forwarding; and what makes pf see packets on the ports of a bridge, also
 * those that are for this host.
 */
static const struct {
	const char	*name, *file;
	bool		 six;
} switches[] = {
	{ "net.inet.ip.forwarding", "forward4", false },
	{ "net.inet6.ip6.forwarding", "forward6", true },
	{ "net.link.bridge.pfil_member", "pfil_member", false },
	{ "net.link.bridge.pfil_local_phys", "pfil_local_phys", false },
};

#define	NSWITCHES	((int)nitems(switches))

/* Files of the state directory that tell what we changed. */
#define	ADDED	"pf_added"		/* lines in the main rules */
#define	OFF	"pf_off"		/* pf was off */

static int
switch_get(int i)
{
	size_t len = sizeof(int);
	int value;

	if (sysctlbyname(switches[i].name, &value, &len, NULL, 0) != 0)
		return (-1);
	return (value);
}

static int
switch_set(int i, int value, struct co_error *e)
{

	if (value < 0 || switch_get(i) == value)
		return (0);
	if (sysctlbyname(switches[i].name, NULL, NULL, &value,
	    sizeof(value)) != 0)
		return (co_error_errno(e, errno, switches[i].name,
		    "can't set %s", switches[i].name));
	return (0);
}

static int
number_save(int dir, const char *file, int value, struct co_error *e)
{
	char text[16];

	snprintf(text, sizeof(text), "%d\n", value);
	return (co_file_replace(dir, file, text, strlen(text), 0600, e));
}

static int
number_read(int dir, const char *file, int *value, struct co_error *e)
{
	char *text;
	size_t len;

	if (co_file_read(dir, file, 16, &text, &len, e) != 0)
		return (-1);
	*value = atoi(text);
	free(text);
	return (0);
}

static int
switch_restore(int dir, int i, struct co_error *e)
{
	int value;

	return (number_read(dir, switches[i].file, &value, e) != 0 ? -1 :
	    switch_set(i, value, e));
}

static bool
switch_wanted(const struct net *n, int i)
{

	return (!switches[i].six || n->conf.ip6);
}

/*
 * The dead-man switch's copy.
 */
static int
rules_save(int dir, const char *file, const char *anchor, struct co_error *e)
{
	struct co_error why;
	char *text;
	int r;

	if (net_pf_rules(anchor, &text, &why) != 0) {
		if (anchor != NULL &&
		    strstr(why.message, "does not exist") != NULL)
			return (co_file_replace(dir, file, "", 0, 0600, e));
		if (e != NULL)
			*e = why;
		return (-1);
	}
	r = co_file_replace(dir, file, text, strlen(text), 0600, e);
	free(text);
	return (r);
}

static char *
without_lines(const char *text, const char *anchor, bool nat, bool filter)
{
	struct co_buf b = { 0 };
	char word[NET_PF_ANCHOR];
	size_t k, n;

	k = (size_t)snprintf(word, sizeof(word), "nat-anchor \"%s/*\"",
	    anchor);
	co_buf_printf(&b, "%s", "");
	for (; *text != '\0'; text += n) {
		n = strcspn(text, "\n");
		n += text[n] == '\n';
		if ((nat && strncmp(text, word, k) == 0) ||
		    (filter && strncmp(text, word + 4, k - 4) == 0))
			continue;
		co_buf_add(&b, text, n);
	}
	return (co_buf_take(&b));
}

/* Rules that pf would not read back as they are could not be restored. */
static int
main_check(struct co_error *e)
{
	char *text;
	int r;

	if (net_pf_rules(NULL, &text, e) != 0)
		return (-1);
	r = net_pf_same(NULL, text, e);
	free(text);
	if (r == 0)
		return (co_error_set(e, CO_ENET_RULES, "pf",
		    "pf's main rules could not be put back as they are, so "
		    "nothing was changed; add (or remove) the lines "
		    "nat-anchor \"cube/*\" and anchor \"cube/*\" in pf.conf "
		    "yourself and reload it"));
	return (r < 0 ? -1 : 0);
}

/* Rules loaded by hand stand nowhere: a reload would surprise somebody. */
static int
main_is_conf(const struct net_conf *c, struct co_error *e)
{
	char *conf, *have = NULL, *bare = NULL;
	size_t len;
	int r = -1;

	if (c->pf_conf == NULL || access(c->pf_conf, F_OK) != 0)
		return (0);
	if (co_file_read(AT_FDCWD, c->pf_conf, 8 << 20, &conf, &len, e) != 0)
		return (-1);
	if (net_pf_rules(NULL, &have, e) != 0)
		goto out;
	if (have[0] == '\0') {
		r = 0;
		goto out;
	}
	if ((bare = without_lines(have, c->anchor, true, true)) == NULL)
		co_error_errno(e, ENOMEM, NULL, "rules");
	else if ((r = net_pf_alike(conf, bare, c->anchor, e)) == 0)
		r = co_error_set(e, CO_ENET_RULES, c->pf_conf,
		    "pf's main rules are not those of %s, so nothing was "
		    "changed; load the file by \"pfctl -f %s\", or write the "
		    "rules into it", c->pf_conf, c->pf_conf);
	else if (r == 1)
		r = 0;
out:
	free(bare);
	free(have);
	free(conf);
	return (r);
}

static int
uplink_seen(const struct net_conf *c, struct co_error *e)
{
	char uplink[NET_IFNAME];

	if (net_pf_uplink(c, uplink, e) != 0)
		return (-1);
	if (net_pf_skipped(uplink))
		return (co_error_set(e, CO_ENET_UPLINK, uplink,
		    "\"set skip on %s\" hides the uplink from pf, so nothing "
		    "would be translated there; set \"net.uplink\" in "
		    "coppice.conf to the interface that pf sees, or take %s "
		    "out of \"set skip\"", uplink, uplink));
	return (0);
}

int
net_host_save(struct net *n, int dir, struct co_error *e)
{
	char base[NET_PF_ANCHOR], last[NET_PF_ANCHOR];
	const char *a = n->conf.anchor;
	int i, on;

	net_pf_anchor(&n->conf, NET_PF_BASE, "", base);
	net_pf_anchor(&n->conf, NET_PF_LAST, "", last);
	if (main_check(e) != 0 || (on = net_pf_enabled(e)) < 0 ||
	    number_save(dir, "pf", on, e) != 0 ||
	    co_file_replace(dir, "anchor", a, strlen(a), 0600, e) != 0 ||
	    rules_save(dir, "main", NULL, e) != 0 ||
	    rules_save(dir, "base", base, e) != 0 ||
	    rules_save(dir, "last", last, e) != 0)
		return (-1);
	for (i = 0; i < NSWITCHES; i++)
		if (number_save(dir, switches[i].file, switch_get(i), e) != 0)
			return (-1);
	return (0);
}

static int
rules_restore(int dir, const char *file, const char *anchor,
    struct co_error *e)
{
	char *text;
	size_t len;
	int r;

	if (co_file_read(dir, file, 8 << 20, &text, &len, e) != 0)
		return (-1);
	if (anchor == NULL)
		r = net_pf_load_main(text, e);
	else if (len == 0)
		r = net_pf_flush(anchor, e);
	else
		r = net_pf_load(anchor, text, e);
	free(text);
	return (r);
}

/* The main rules first: they are what may keep the operator out. */
int
net_host_restore(int dir, struct co_error *e)
{
	struct net_conf c = { 0 };
	char base[NET_PF_ANCHOR], last[NET_PF_ANCHOR], *name;
	size_t len;
	int i, on, r;

	r = rules_restore(dir, "main", NULL, e);
	net_point("restore-rules");
	if (number_read(dir, "pf", &on, e) != 0 ||
	    net_pf_enable(on == 1, e) != 0)
		r = -1;
	for (i = 0; i < NSWITCHES; i++)
		if (switch_restore(dir, i, e) != 0)
			r = -1;
	if (co_file_read(dir, "anchor", 64, &name, &len, e) != 0)
		return (-1);
	c.anchor = name;
	net_pf_anchor(&c, NET_PF_BASE, "", base);
	net_pf_anchor(&c, NET_PF_LAST, "", last);
	if (rules_restore(dir, "base", base, e) != 0 ||
	    rules_restore(dir, "last", last, e) != 0)
		r = -1;
	free(name);
	return (r);
}

int
net_host_ready(struct net *n, bool *ready, struct co_error *e)
{
	int i, r;

	if ((r = net_rules_base_ok(n->rules, e)) < 0)
		return (-1);
	*ready = r == 1;
	for (i = 0; i < NSWITCHES; i++)
		if (switch_wanted(n, i) && switch_get(i) == 0)
			*ready = false;
	/* What is to be changed must be fit for it. */
	if (!*ready && (uplink_seen(&n->conf, e) != 0 ||
	    main_is_conf(&n->conf, e) != 0))
		return (-1);
	return (0);
}

/*
 * Apply.
 */
static int
apply_anchor(struct net *n, const char *word, char *text, struct co_error *e)
{
	char anchor[NET_PF_ANCHOR];
	int r;

	if (text == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	net_pf_anchor(&n->conf, word, "", anchor);
	r = net_pf_load(anchor, text, e);
	free(text);
	return (r);
}

/* Remember which lines are ours before they are there. */
static int
apply_added(struct net *n, bool nat, bool filter, struct co_error *e)
{
	const char *text = nat ? filter ? "nat filter\n" : "nat\n" :
	    "filter\n";

	if (faccessat(n->statefd, ADDED, F_OK, 0) == 0)
		return (0);
	return (co_file_replace(n->statefd, ADDED, text, strlen(text), 0600,
	    e));
}

static int
apply_main(struct net *n, struct co_error *e)
{
	char *text, *merged;
	bool nat, filter;
	int r;

	if (net_pf_main_hooked(&n->conf, &nat, &filter, e) != 0)
		return (-1);
	if (nat && filter)
		return (0);
	if (apply_added(n, !nat, !filter, e) != 0 ||
	    net_pf_rules(NULL, &text, e) != 0)
		return (-1);
	r = net_pf_conf_merge(text, n->conf.anchor, false, &merged, e);
	free(text);
	if (r != 0)
		return (-1);
	r = net_pf_load_main(merged, e);
	free(merged);
	return (r);
}

/* Remember how the switches were before we ever touched them. */
static int
apply_switches(struct net *n, struct co_error *e)
{
	int i, was;

	for (i = 0; i < NSWITCHES; i++) {
		if (!switch_wanted(n, i) || (was = switch_get(i)) != 0)
			continue;
		if (number_save(n->statefd, switches[i].file, was, e) != 0 ||
		    switch_set(i, 1, e) != 0)
			return (-1);
	}
	return (0);
}

int
net_host_apply(struct net *n, struct co_error *e)
{
	char uplink[NET_IFNAME];
	int on;

	if (net_pf_uplink(&n->conf, uplink, e) != 0 ||
	    (on = net_pf_enabled(e)) < 0)
		return (-1);
	if (on == 0 && number_save(n->statefd, OFF, 1, e) != 0)
		return (-1);
	if (apply_anchor(n, NET_PF_BASE, net_render_pf_base(&n->conf,
	    uplink), e) != 0 || apply_anchor(n, NET_PF_LAST,
	    net_render_pf_last(&n->conf), e) != 0)
		return (-1);
	net_point("host-anchors");
	if (apply_main(n, e) != 0 || net_pf_cookies(e) != 0 ||
	    net_pf_enable(true, e) != 0)
		return (-1);
	net_point("host-rules");
	if ((on = net_rules_base_ok(n->rules, e)) < 0)
		return (-1);
	if (on == 0)
		return (co_error_set(e, CO_ENET_VERIFY, n->conf.anchor,
		    "the base rules read back differ from those loaded"));
	return (apply_switches(n, e));
}

/*
 * pf.conf(5), so that a reload by the operator keeps our lines.  One that
 * does not exist is not made: the daemon sets up again after a boot.
 */
static int
conf_change(const struct net_conf *c, bool drop, struct co_error *e)
{
	static const char *const try[] = { "-n", "-f", "-", NULL };
	char dir[PATH_MAX], *new = NULL, *old, *slash;
	size_t len;
	int fd = -1, r = -1;

	if (c->pf_conf == NULL || access(c->pf_conf, F_OK) != 0)
		return (0);
	if (strlcpy(dir, c->pf_conf, sizeof(dir)) >= sizeof(dir) ||
	    (slash = strrchr(dir, '/')) == NULL)
		return (co_error_set(e, CO_ESYS_CONFIG, c->pf_conf,
		    "the path of pf.conf must be absolute"));
	if (co_file_read(AT_FDCWD, c->pf_conf, 8 << 20, &old, &len, e) != 0)
		return (-1);
	if (net_pf_conf_merge(old, c->anchor, drop, &new, e) != 0)
		goto out;
	if (strcmp(old, new) == 0) {
		r = 0;
		goto out;
	}
	if (net_pf_run(NULL, try, new, NULL, e) != 0)
		goto out;
	*slash = '\0';
	if ((fd = open(dir[0] == '\0' ? "/" : dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) < 0)
		co_error_errno(e, errno, dir, "can't open %s", dir);
	else
		r = co_file_replace(fd, slash + 1, new, strlen(new), 0600, e);
out:
	if (fd >= 0)
		close(fd);
	free(new);
	free(old);
	return (r);
}

int
net_host_commit(struct net *n, struct co_error *e)
{

	return (conf_change(&n->conf, false, e));
}

/*
 * Undo.
 */
static int
undo_main(struct net *n, struct co_error *e)
{
	char *added, *text, *bare;
	size_t len;
	int r;

	if (faccessat(n->statefd, ADDED, F_OK, 0) != 0)
		return (0);
	if (co_file_read(n->statefd, ADDED, 64, &added, &len, e) != 0)
		return (-1);
	if (net_pf_rules(NULL, &text, e) != 0) {
		free(added);
		return (-1);
	}
	bare = without_lines(text, n->conf.anchor, strstr(added, "nat") !=
	    NULL, strstr(added, "filter") != NULL);
	if (bare == NULL)
		r = co_error_errno(e, ENOMEM, NULL, "rules");
	else if (strcmp(bare, text) == 0)
		r = 0;
	else
		r = net_pf_load_main(bare, e);
	free(bare);
	free(text);
	free(added);
	return (r);
}

static int
undo_anchors(struct net *n, struct co_error *e)
{
	char anchor[NET_PF_ANCHOR];
	unsigned removed = 0;

	if (net_rules_sweep(n->rules, NULL, 0, &removed, e) != 0)
		return (-1);
	net_pf_anchor(&n->conf, NET_PF_BASE, "", anchor);
	if (net_pf_flush(anchor, e) != 0)
		return (-1);
	net_pf_anchor(&n->conf, NET_PF_LAST, "", anchor);
	return (net_pf_flush(anchor, e));
}

bool
net_host_touched(struct net *n)
{
	char anchor[NET_PF_ANCHOR], *text = NULL;
	bool there;
	int i;

	net_pf_anchor(&n->conf, NET_PF_BASE, "", anchor);
	there = (net_pf_rules(anchor, &text, NULL) == 0 && text[0] != '\0') ||
	    faccessat(n->statefd, ADDED, F_OK, 0) == 0 ||
	    faccessat(n->statefd, OFF, F_OK, 0) == 0;
	free(text);
	for (i = 0; i < NSWITCHES; i++)
		if (faccessat(n->statefd, switches[i].file, F_OK, 0) == 0)
			there = true;
	return (there);
}

int
net_host_undo(struct net *n, struct co_error *e)
{
	int i;

	if (undo_main(n, e) != 0)
		return (-1);
	net_point("undo-rules");
	if (undo_anchors(n, e) != 0)
		return (-1);
	if (faccessat(n->statefd, OFF, F_OK, 0) == 0 &&
	    net_pf_enable(false, e) != 0)
		return (-1);
	for (i = 0; i < NSWITCHES; i++)
		if (faccessat(n->statefd, switches[i].file, F_OK, 0) == 0 &&
		    switch_restore(n->statefd, i, e) != 0)
			return (-1);
	return (0);
}

int
net_host_forget(struct net *n, struct co_error *e)
{
	int i;

	if (conf_change(&n->conf, true, e) != 0)
		return (-1);
	(void)unlinkat(n->statefd, ADDED, 0);
	(void)unlinkat(n->statefd, OFF, 0);
	for (i = 0; i < NSWITCHES; i++)
		(void)unlinkat(n->statefd, switches[i].file, 0);
	return (0);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Our fragment of unbound's configuration.  The server may be the host's
 * own resolver, so nothing of what it does for the host may change: we add
 * an address to listen on, who may ask there and, if configured, whom it
 * forwards to; and a fragment that it refuses is taken back.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dns_internal.h"

#define	FRAGMENT	"coppice.conf"
#define	BEGIN		"# coppice begin (written by \"coppicectl net setup\")"
#define	END		"# coppice end"

/* Whether a line "key: ..." stands in ${text}; with ${value} unless NULL. */
static bool
conf_has(const char *text, const char *key, const char *value)
{
	size_t n = strlen(key), line;

	for (; *text != '\0'; text += line + (text[line] == '\n')) {
		line = strcspn(text, "\n");
		while (line > 0 && (*text == ' ' || *text == '\t')) {
			text++;
			line--;
		}
		if (line <= n || strncmp(text, key, n) != 0 || text[n] != ':')
			continue;
		if (value == NULL)
			return (true);
		if (strncmp(text + n + 1 + strspn(text + n + 1, " \t"), value,
		    strlen(value)) == 0)
			return (true);
	}
	return (false);
}

/* Every word of ${list} as "key: word". */
static void
conf_words(struct co_buf *b, const char *key, const char *list)
{
	size_t n;

	while (*(list += strspn(list, " \t,")) != '\0') {
		n = strcspn(list, " \t,");
		co_buf_printf(b, "\t%s: %.*s\n", key, (int)n, list);
		list += n;
	}
}

char *
net_render_unbound(const struct net_conf *c, const char *main)
{
	struct co_buf b = { 0 };
	struct net_range r[2];
	char s[NET_ADDRSTR];
	int i;

	for (i = 0; i < 2; i++)
		if (net_range_parse(c, (enum net_kind)i, &r[i], NULL) != 0)
			return (NULL);
	co_buf_printf(&b, BEGIN "\nserver:\n");
	/* To name one interface is to lose the default ones. */
	if (main == NULL || !conf_has(main, "interface", NULL))
		co_buf_printf(&b, "\tinterface: 127.0.0.1\n"
		    "\tinterface: ::1\n");
	net_addr_print(&r[NET_PAIR].gateway, s);
	co_buf_printf(&b, "\tinterface: %s@%u\n", s, c->unbound_port);
	/* The host must resolve also while the bridge is not there yet. */
	co_buf_printf(&b, "\tip-transparent: yes\n");
	co_buf_printf(&b, "\taccess-control: %s/32 allow\n", s);
	for (i = 0; i < 2; i++) {
		co_buf_printf(&b, "\taccess-control: ");
		net_prefix_print(&b, &r[i].net);
		co_buf_printf(&b, " refuse\n");
	}
	if (c->forwarders != NULL && c->forwarders[0] != '\0') {
		co_buf_printf(&b, "forward-zone:\n\tname: \".\"\n");
		conf_words(&b, "forward-addr", c->forwarders);
	}
	co_buf_printf(&b, END "\n");
	return (co_buf_take(&b));
}

static void
conf_append(struct co_buf *b, int dir, const char *name)
{
	char *text;
	size_t len;

	if (co_file_read(dir, name, 1 << 20, &text, &len, NULL) != 0)
		return;
	co_buf_printf(b, "%s\n", text);
	free(text);
}

/* The text of everything else that the server reads. */
static char *
conf_others(const struct net_conf *c)
{
	struct co_buf b = { 0 };
	struct dirent *de;
	char *slash, base[512];
	size_t n;
	DIR *d;

	conf_append(&b, AT_FDCWD, c->unbound_main);
	snprintf(base, sizeof(base), "%s", c->unbound_main);
	if ((slash = strrchr(base, '/')) != NULL) {
		snprintf(slash, sizeof(base) - (size_t)(slash - base),
		    "/forward.conf");
		conf_append(&b, AT_FDCWD, base);
	}
	if ((d = opendir(c->unbound_dir)) != NULL) {
		while ((de = readdir(d)) != NULL) {
			n = strlen(de->d_name);
			if (n > 5 && strcmp(de->d_name + n - 5, ".conf") == 0 &&
			    strcmp(de->d_name, FRAGMENT) != 0)
				conf_append(&b, dirfd(d), de->d_name);
		}
		closedir(d);
	}
	return (co_buf_take(&b));
}

static int
unbound_run(const char *const *cmd, const char *more, struct co_error *e)
{
	const char *argv[16];
	struct co_run r = { .argv = argv };
	struct co_result res;
	int n = 0;

	if (cmd == NULL)
		return (0);
	for (; cmd[n] != NULL && n < 14; n++)
		argv[n] = cmd[n];
	if (more != NULL)
		argv[n++] = more;
	argv[n] = NULL;
	r.deadline = co_after(30000);
	if (co_run(&r, &res, e) != 0)
		return (-1);
	if (res.status != 0)
		co_error_set(e, CO_ENET_DNS, argv[0],
		    "%s failed: %.400s", argv[0], res.out);
	n = res.status;
	free(res.out);
	return (n == 0 ? 0 : -1);
}

/* Whether one has an interface that the other lacks. */
static bool
interfaces_differ(const char *a, const char *b)
{
	size_t line;

	for (; *a != '\0'; a += line + (a[line] == '\n')) {
		line = strcspn(a, "\n");
		if (strncmp(a, "\tinterface:", 11) == 0) {
			char word[80];

			snprintf(word, sizeof(word), "%.*s",
			    (int)(line - 12 < 79 ? line - 12 : 79), a + 12);
			if (!conf_has(b, "interface", word))
				return (true);
		}
	}
	return (false);
}

static int
unbound_put(const struct net_conf *c, int dir, const char *new,
    const char *old, struct co_error *e)
{
	bool restart = interfaces_differ(new, old) ||
	    interfaces_differ(old, new);
	int r;

	if (new[0] != '\0')
		r = co_file_replace(dir, FRAGMENT, new, strlen(new), 0644, e);
	else
		r = unlinkat(dir, FRAGMENT, 0) == 0 || errno == ENOENT ? 0 :
		    co_error_errno(e, errno, FRAGMENT, "can't remove it");
	if (r == 0)
		r = unbound_run(c->unbound_check, c->unbound_main, e);
	/* An address is bound at the start only. */
	if (r == 0)
		r = unbound_run(restart ? c->unbound_restart :
		    c->unbound_reload, NULL, e);
	return (r);
}

static int
unbound_change(struct net *n, int dir, const char *new, struct co_error *e)
{
	char *old = NULL;
	size_t len;
	int r = 0;

	if (co_file_read(dir, FRAGMENT, 1 << 20, &old, &len, NULL) != 0)
		old = NULL;
	if (strcmp(new, old == NULL ? "" : old) != 0 &&
	    (r = unbound_put(&n->conf, dir, new, old == NULL ? "" : old,
	    e)) != 0)
		(void)unbound_put(&n->conf, dir, old == NULL ? "" : old, new,
		    NULL);
	free(old);
	return (r);
}

static int
unbound_dirfd(struct net *n, struct co_error *e)
{
	int fd;

	if ((fd = open(n->conf.unbound_dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) < 0)
		return (co_error_set(e, CO_ENET_DNS, n->conf.unbound_dir,
		    "there is no %s; install unbound, or do without names by "
		    "\"coppicectl net setup -n\"", n->conf.unbound_dir));
	return (fd);
}

int
net_unbound_install(struct net *n, struct co_error *e)
{
	char *others, *text = NULL;
	int dir, r = -1;

	if ((dir = unbound_dirfd(n, e)) < 0)
		return (-1);
	if ((others = conf_others(&n->conf)) == NULL ||
	    (text = net_render_unbound(&n->conf, others)) == NULL) {
		co_error_errno(e, ENOMEM, NULL, "unbound");
		goto out;
	}
	if (n->conf.forwarders != NULL && n->conf.forwarders[0] != '\0' &&
	    conf_has(others, "name", "\".\"")) {
		co_error_set(e, CO_ENET_DNS, n->conf.unbound_main,
		    "unbound has a forward-zone \".\" of the host's own, "
		    "which we leave alone; remove \"dns.forward\" from "
		    "coppice.conf, or that zone");
		goto out;
	}
	r = unbound_change(n, dir, text, e);
out:
	free(text);
	free(others);
	close(dir);
	return (r);
}

bool
net_unbound_there(const struct net *n)
{
	int dir;
	bool there;

	if ((dir = open(n->conf.unbound_dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) < 0)
		return (false);
	there = faccessat(dir, FRAGMENT, F_OK, 0) == 0;
	close(dir);
	return (there);
}

int
net_unbound_remove(struct net *n, struct co_error *e)
{
	int dir, r;

	if ((dir = unbound_dirfd(n, NULL)) < 0)
		return (0);
	r = faccessat(dir, FRAGMENT, F_OK, 0) != 0 ? 0 :
	    unbound_change(n, dir, "", e);
	close(dir);
	return (r);
}

void
net_unbound_check(struct net *n, net_finding *f, void *arg)
{
	char *others, *text = NULL, *have = NULL;
	size_t len;
	int dir;

	if ((dir = unbound_dirfd(n, NULL)) < 0) {
		f(arg, NET_WARN, "resolver", "unbound is not installed; "
		    "sandboxes resolve nothing but the gateway's name");
		return;
	}
	others = conf_others(&n->conf);
	if (others != NULL)
		text = net_render_unbound(&n->conf, others);
	if (co_file_read(dir, FRAGMENT, 1 << 20, &have, &len, NULL) != 0)
		f(arg, NET_WARN, "resolver", "unbound does not know of "
		    "sandboxes yet; run \"coppicectl net setup\"");
	else if (text == NULL || strcmp(text, have) != 0)
		f(arg, NET_WARN, "resolver", "our fragment of unbound's "
		    "configuration is out of date; run \"coppicectl net "
		    "setup\"");
	else
		f(arg, NET_GOOD, "resolver", "unbound listens for the relay");
	free(have);
	free(text);
	free(others);
	close(dir);
}

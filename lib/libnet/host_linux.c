/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The host's part on Linux: our two tables and the forwarding switches,
 * nothing else.  Other packet filters are looked at, never touched.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "deadman.h"
#include "nft_linux.h"

static const char *const switches[] = {
	"/proc/sys/net/ipv4/ip_forward",
	"/proc/sys/net/ipv6/conf/all/forwarding",
};

static const char *const saved[] = { "forward4", "forward6" };

/* Read a switch; -1 when there is none (a kernel without IPv6). */
static int
switch_get(int i)
{
	char c = 0;
	int fd;

	if ((fd = open(switches[i], O_RDONLY | O_CLOEXEC)) < 0)
		return (-1);
	if (read(fd, &c, 1) != 1)
		c = 0;
	close(fd);
	return (c == '0' ? 0 : c == '1' ? 1 : -1);
}

static int
switch_set(int i, int value, struct co_error *e)
{
	int err, fd;

	if (value < 0 || switch_get(i) == value)
		return (0);
	if ((fd = open(switches[i], O_WRONLY | O_CLOEXEC)) < 0)
		return (co_error_errno(e, errno, switches[i],
		    "can't open %s", switches[i]));
	err = co_write_all(fd, value ? "1" : "0", 1);
	close(fd);
	if (err != 0)
		return (co_error_errno(e, err, switches[i], "can't set %s",
		    switches[i]));
	return (0);
}

static int
switch_save(int dir, int i, struct co_error *e)
{
	char text[8];

	snprintf(text, sizeof(text), "%d\n", switch_get(i));
	return (co_file_replace(dir, saved[i], text, strlen(text), 0600, e));
}

static int
switch_restore(int dir, int i, struct co_error *e)
{
	char *text;
	size_t len;
	int value;

	if (co_file_read(dir, saved[i], 16, &text, &len, e) != 0)
		return (-1);
	value = atoi(text);
	free(text);
	return (switch_set(i, value, e));
}

/* Commands that end with the table being as it is now, or not being. */
static int
table_save(const struct net_conf *c, const char *family, struct co_buf *b,
    struct co_error *e)
{
	char cmd[96], *text = NULL;

	(void)e;
	co_buf_printf(b, "table %s %s {\n}\ndelete table %s %s\n", family,
	    c->instance, family, c->instance);
	snprintf(cmd, sizeof(cmd), "list table %s %s", family, c->instance);
	if (net_nft_run(cmd, &text, NULL) == 0)
		co_buf_printf(b, "%s\n", text);
	free(text);
	return (0);
}

int
net_host_save(struct net *n, int dir, struct co_error *e)
{
	struct co_buf b = { 0 };
	char *text;
	int r;

	table_save(&n->conf, "inet", &b, e);
	table_save(&n->conf, "bridge", &b, e);
	if ((text = co_buf_take(&b)) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	r = co_file_replace(dir, "rules", text, strlen(text), 0600, e);
	free(text);
	if (r == 0)
		r = switch_save(dir, 0, e);
	if (r == 0)
		r = switch_save(dir, 1, e);
	return (r);
}

int
net_host_restore(int dir, struct co_error *e)
{
	char *text;
	size_t len;
	int r;

	if (co_file_read(dir, "rules", 64 << 20, &text, &len, e) != 0)
		return (-1);
	r = net_nft_run(text, NULL, e);
	free(text);
	net_point("restore-rules");
	if (switch_restore(dir, 0, e) != 0 || switch_restore(dir, 1, e) != 0)
		r = -1;
	return (r);
}

int
net_host_ready(struct net *n, bool *ready, struct co_error *e)
{
	int r;

	if ((r = net_rules_base_ok(n->rules, e)) < 0)
		return (-1);
	*ready = r == 1 && switch_get(0) != 0 &&
	    (!n->conf.ip6 || switch_get(1) != 0);
	return (0);
}

/* Everything in one transaction, attached sandboxes included. */
static char *
apply_text(struct net *n)
{
	struct net_sandbox *s;
	struct co_buf b = { 0 };
	char *text;
	size_t i;

	co_buf_printf(&b, "table inet %s {\n}\ndelete table inet %s\n"
	    "table bridge %s {\n}\ndelete table bridge %s\n",
	    n->conf.instance, n->conf.instance, n->conf.instance,
	    n->conf.instance);
	if ((text = net_render_nft_base(&n->conf)) == NULL)
		b.failed = true;
	else
		co_buf_add(&b, text, strlen(text));
	free(text);
	for (i = 0; i < NET_BUCKETS; i++)
		for (s = n->bucket[i]; s != NULL; s = s->next) {
			text = net_render_nft_plan(&n->conf, s->plan);
			if (text == NULL)
				b.failed = true;
			else
				co_buf_add(&b, text, strlen(text));
			free(text);
		}
	return (co_buf_take(&b));
}

/* Remember how the switches were before we ever touched them. */
static int
apply_switches(struct net *n, struct co_error *e)
{
	int i;

	for (i = 0; i < (n->conf.ip6 ? 2 : 1); i++) {
		if (switch_get(i) != 0)
			continue;
		if (switch_save(n->statefd, i, e) != 0 ||
		    switch_set(i, 1, e) != 0)
			return (-1);
	}
	return (0);
}

int
net_host_apply(struct net *n, struct co_error *e)
{
	char *text;
	int r;

	if ((text = apply_text(n)) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	r = net_nft_run(text, NULL, e);
	free(text);
	if (r == 0 && net_rules_base_ok(n->rules, e) != 1)
		return (co_error_set(e, CO_ENET_VERIFY, n->conf.instance,
		    "the base rules read back differ from those loaded"));
	net_point("host-rules");
	return (r == 0 ? apply_switches(n, e) : -1);
}

/* Nothing of ours outlives a boot: the daemon sets up again. */
int
net_host_commit(struct net *n, struct co_error *e)
{

	(void)n;
	(void)e;
	return (0);
}

bool
net_host_touched(struct net *n)
{
	char cmd[96];

	snprintf(cmd, sizeof(cmd), "list table inet %s", n->conf.instance);
	if (net_nft_run(cmd, NULL, NULL) == 0)
		return (true);
	snprintf(cmd, sizeof(cmd), "list table bridge %s", n->conf.instance);
	return (net_nft_run(cmd, NULL, NULL) == 0 ||
	    faccessat(n->statefd, saved[0], F_OK, 0) == 0 ||
	    faccessat(n->statefd, saved[1], F_OK, 0) == 0);
}

int
net_host_undo(struct net *n, struct co_error *e)
{
	char cmd[256];
	int i;

	snprintf(cmd, sizeof(cmd), "table inet %s {\n}\ndelete table inet %s\n"
	    "table bridge %s {\n}\ndelete table bridge %s\n",
	    n->conf.instance, n->conf.instance, n->conf.instance,
	    n->conf.instance);
	if (net_nft_run(cmd, NULL, e) != 0)
		return (-1);
	net_point("undo-rules");
	for (i = 0; i < 2; i++)
		if (faccessat(n->statefd, saved[i], F_OK, 0) == 0 &&
		    switch_restore(n->statefd, i, e) != 0)
			return (-1);
	return (0);
}

int
net_host_forget(struct net *n, struct co_error *e)
{

	(void)e;
	(void)unlinkat(n->statefd, saved[0], 0);
	(void)unlinkat(n->statefd, saved[1], 0);
	return (0);
}

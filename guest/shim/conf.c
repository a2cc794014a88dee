/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the shim is told about its network and its commands: by the
 * environment, by the kernel's command line, by a configure message, in
 * this order; and how it is put into effect.
 */

#include <sys/socket.h>
#include <sys/stat.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"
#include "sys.h"

#define	RESOLV	"/etc/resolv.conf"

int
conf_number(const char *s, int64_t min, int64_t max, int64_t *n)
{
	char *end;
	long long v;

	if (*s < '0' || *s > '9')
		return (EINVAL);
	errno = 0;
	v = strtoll(s, &end, 10);
	if (errno != 0 || *end != '\0' || v < min || v > max)
		return (EINVAL);
	*n = v;
	return (0);
}

static void
copy(char *to, size_t size, const char *from)
{

	if (strlen(from) < size)
		memcpy(to, from, strlen(from) + 1);
}

/* 255.255.255.0 or 24 to 24; -1 if it is neither. */
static int
mask(const char *s)
{
	struct in_addr in;
	int64_t n;
	uint32_t m;

	if (conf_number(s, 0, 32, &n) == 0)
		return ((int)n);
	if (inet_pton(AF_INET, s, &in) != 1)
		return (-1);
	m = ntohl(in.s_addr);
	if ((~m & (~m + 1)) != 0)
		return (-1);
	return (m == 0 ? 0 : 32 - __builtin_ctz(m));
}

/* Keep a setting by the name it has in the environment. */
static void
setting(struct guest *g, const char *key, const char *value)
{
	struct conf *c = &g->conf;
	int64_t n;
	char *slash;
	int p;

	if (strcmp(key, "ip") == 0) {
		copy(c->ip, sizeof(c->ip), value);
		if ((slash = strchr(c->ip, '/')) != NULL) {
			*slash = '\0';
			if ((p = mask(slash + 1)) != -1)
				c->prefix = p;
		}
	} else if (strcmp(key, "mask") == 0 && (p = mask(value)) != -1) {
		c->prefix = p;
	} else if (strcmp(key, "gw") == 0) {
		copy(c->gw, sizeof(c->gw), value);
	} else if (strcmp(key, "dns") == 0 && c->ndns < 8) {
		copy(c->dns[c->ndns++], sizeof(c->dns[0]), value);
	} else if (strcmp(key, "if") == 0) {
		copy(c->interface, sizeof(c->interface), value);
	} else if (strcmp(key, "mtu") == 0 &&
	    conf_number(value, 576, 65535, &n) == 0) {
		c->mtu = (int)n;
	} else if (strcmp(key, "host") == 0) {
		copy(c->hostname, sizeof(c->hostname), value);
	}
}

void
conf_environ(struct guest *g)
{
	static const struct {
		const char	*env;
		const char	*key;
	} names[] = {
		{ "COPPICE_IP", "ip" }, { "COPPICE_MASK", "mask" },
		{ "COPPICE_GW", "gw" }, { "COPPICE_DNS", "dns" },
		{ "COPPICE_IF", "if" }, { "COPPICE_MTU", "mtu" },
		{ "COPPICE_HOST", "host" },
	};
	const char *v;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((v = getenv(names[i].env)) != NULL)
			setting(g, names[i].key, v);
}

void
conf_cmdline(struct guest *g, char *line)
{
	char *save, *word, *eq;

	for (word = strtok_r(line, " \t\n", &save); word != NULL;
	    word = strtok_r(NULL, " \t\n", &save)) {
		if (strncmp(word, "coppice.", 8) != 0 ||
		    (eq = strchr(word, '=')) == NULL)
			continue;
		*eq = '\0';
		setting(g, word + 8, eq + 1);
	}
}

static int
set_env(struct guest *g, const struct sw_list *l)
{
	struct conf *c = &g->conf;
	char *s;

	for (size_t i = 0; i < c->nenv; i++)
		free(c->env[i]);
	c->nenv = 0;
	for (size_t i = 0; i < l->n; i++) {
		const struct sj_val *k = &l->val[2 * i], *v = k + 1;

		if (c->nenv == MAXENV)
			return (E2BIG);
		if ((s = malloc(k->len + v->len + 2)) == NULL)
			return (ENOMEM);
		memcpy(s, k->str, k->len);
		s[k->len] = '=';
		memcpy(s + k->len + 1, v->str, v->len + 1);
		c->env[c->nenv++] = s;
	}
	return (0);
}

int
conf_message(struct guest *g, const struct sw_msg *m, const char **what)
{
	struct conf *c = &g->conf;
	struct sw_list l;
	int error;

	if (sw_has(m, F_ENV)) {
		l = sw_list(m, F_ENV);
		*what = "env";
		if ((error = set_env(g, &l)) != 0)
			return (error);
	}
	*what = NULL;
	copy(c->user, sizeof(c->user), sw_str(m, F_USER, c->user));
	copy(c->cwd, sizeof(c->cwd), sw_str(m, F_CWD, c->cwd));
	copy(c->interface, sizeof(c->interface),
	    sw_str(m, F_INTERFACE, c->interface));
	copy(c->ip, sizeof(c->ip), sw_str(m, F_IP, ""));
	copy(c->gw, sizeof(c->gw), sw_str(m, F_GW, ""));
	copy(c->hostname, sizeof(c->hostname), sw_str(m, F_HOSTNAME, ""));
	c->prefix = (int)sw_num(m, F_PREFIX, 24);
	c->mtu = (int)sw_num(m, F_MTU, 0);
	l = sw_list(m, F_DNS);
	c->ndns = 0;
	for (size_t i = 0; i < l.n && i < 8; i++)
		copy(c->dns[c->ndns++], sizeof(c->dns[0]), l.val[i].str);
	return (conf_apply(g, what));
}

/* The link, if there is one, may lead to what nobody mounted. */
static int
write_resolv(const struct conf *c)
{
	struct in6_addr in;
	char text[1024];
	size_t n = 0;
	int fd, error = 0;

	for (int i = 0; i < c->ndns; i++) {
		if (inet_pton(AF_INET, c->dns[i], &in) != 1 &&
		    inet_pton(AF_INET6, c->dns[i], &in) != 1)
			return (EINVAL);
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "nameserver %s\n", c->dns[i]);
	}
	/* An image may have nothing but a program in it. */
	(void)mkdir("/etc", 0755);
	(void)unlink(RESOLV);
	fd = open(RESOLV, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
	    O_CLOEXEC, 0644);
	if (fd == -1)
		return (errno);
	if (write(fd, text, n) != (ssize_t)n)
		error = errno != 0 ? errno : ENOSPC;
	close(fd);
	return (error);
}

static int
apply_net(const struct conf *c, const char **what)
{
	struct sys_net n = { .interface = c->interface, .prefix = c->prefix,
	    .mtu = c->mtu };
	struct in_addr in;

	if (c->ip[0] != '\0') {
		*what = "ip";
		if (inet_pton(AF_INET, c->ip, &in) != 1 || in.s_addr == 0)
			return (EINVAL);
		n.ip = in.s_addr;
	}
	if (c->gw[0] != '\0') {
		*what = "gw";
		if (inet_pton(AF_INET, c->gw, &in) != 1 || in.s_addr == 0)
			return (EINVAL);
		n.gw = in.s_addr;
	}
	*what = "network";
	return (sys_net_up(&n, what));
}

int
conf_apply(struct guest *g, const char **what)
{
	const struct conf *c = &g->conf;
	int error;

	/* Without an address, loopback that is up is only a wish. */
	error = apply_net(c, what);
	if (error != 0 && c->ip[0] != '\0')
		return (error);
	*what = "hostname";
	if (c->hostname[0] != '\0' &&
	    (error = sys_set_hostname(c->hostname)) != 0)
		return (error);
	*what = RESOLV;
	if (c->ndns > 0 && (error = write_resolv(c)) != 0)
		return (error);
	*what = NULL;
	return (0);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The network's handle: its configuration from coppice.conf, the lock that
 * jobs take to use it, and the name relay, which is served by jobs as well.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine_internal.h"

#define	MARK		"net-is-up"	/* in the state folder */
#define	DNS_RETRY_MS	5000

void
net_lock(struct engine *en)
{

	uv_mutex_lock(&en->netlock);
}

void
net_unlock(struct engine *en)
{

	uv_mutex_unlock(&en->netlock);
}

/* Keep a text as long as the engine; NULL for an empty one. */
static const char *
keep(struct engine *en, char *text)
{

	if (text == NULL || *text == '\0' ||
	    en->nnet_text == sizeof(en->net_text) / sizeof(char *)) {
		free(text);
		return (NULL);
	}
	en->net_text[en->nnet_text++] = text;
	return (text);
}

static const char *
text_of(struct engine *en, const char *key)
{

	return (keep(en, strdup(co_conf_string(en->c.conf, key))));
}

static const char *
words_of(struct engine *en, const char *key)
{
	const char *const *v = co_conf_list(en->c.conf, key);
	size_t len = 1;
	char *s;

	for (size_t i = 0; v[i] != NULL; i++)
		len += strlen(v[i]) + 1;
	s = calloc(1, len);
	for (size_t i = 0; s != NULL && v[i] != NULL; i++) {
		strcat(s, v[i]);
		strcat(s, " ");
	}
	return (keep(en, s));
}

static void
subnet(struct engine *en, enum net_kind kind, const char *prefix)
{
	struct net_subnet *s = &en->netconf.subnet[kind];
	char key[64];

#define	KEY(name)	((void)snprintf(key, sizeof(key), "%s.%s", prefix, \
			    name), key)
	s->range = text_of(en, KEY("range"));
	s->bridge = text_of(en, KEY("bridge"));
	s->gateway = text_of(en, KEY("gateway"));
	s->first = text_of(en, KEY("first"));
	s->last = text_of(en, KEY("last"));
	s->reserved = words_of(en, KEY("reserved"));
	s->range6 = text_of(en, KEY("range6"));
#undef KEY
}

static int
services(struct engine *en, struct co_error *e)
{
	const char *const *v = co_conf_list(en->c.conf, "net.services");
	unsigned int port;
	char proto[8];
	size_t n = 0;

	for (size_t i = 0; v[i] != NULL; i++) {
		if (sscanf(v[i], "%u/%7s", &port, proto) != 2 || port == 0 ||
		    port > 65535 || (strcmp(proto, "tcp") != 0 &&
		    strcmp(proto, "udp") != 0) ||
		    n == sizeof(en->service) / sizeof(en->service[0]))
			return (co_error_set(e, CO_ESYS_CONFIG, v[i],
			    "\"net.services\" has \"%s\", but wants up to 64 "
			    "of the form 53/udp", v[i]));
		en->service[n++] = (struct net_service){
		    .proto = *proto == 't' ? 6 : 17,
		    .port = (uint16_t)port };
	}
	en->netconf.service = en->service;
	en->netconf.nservice = n;
	return (0);
}

static int
configure(struct engine *en, struct co_error *e)
{
	const struct co_conf *c = en->c.conf;
	struct net_conf *n = &en->netconf;
	char *dir;

	net_conf_default(n);
	if (asprintf(&dir, "%s/net", en->c.state) == -1)
		dir = NULL;
	n->statedir = keep(en, dir);
	subnet(en, NET_PAIR, "net.jail");
	subnet(en, NET_TAP, "net.vm");
	n->ip6 = co_conf_bool(c, "net.ipv6");
	n->quarantine_ms = (int)co_conf_int(c, "net.quarantine");
	n->deadman_ms = (int)co_conf_int(c, "net.confirm");
	if (strcmp(co_conf_string(c, "net.uplink"), "auto") != 0)
		n->uplink = text_of(en, "net.uplink");
	n->forwarders = words_of(en, "dns.forward");
	n->unbound_port = (uint16_t)co_conf_int(c, "dns.port");
	n->dns_floor_ms = (int)co_conf_int(c, "dns.floor");
	n->helper = en->c.net_helper;
	n->log = en->c.log;
	return (services(en, e));
}

/* The bridges may be gone with the machine; make them again. */
static void
set_up_again(struct engine *en)
{
	struct net_setup s = { .smoke = NULL };
	struct co_error e;

	if (faccessat(en->statefd, MARK, F_OK, 0) != 0)
		return;
	en->net_up = net_setup(en->net, &s, &e) == 0;
	if (!en->net_up)
		co_log(en->c.log, CO_ERROR, "net", NULL, "the network can't "
		    "be set up again: %s", e.message);
}

int
net_begin(struct engine *en, struct co_error *e)
{

	if (uv_mutex_init(&en->netlock) != 0)
		return (co_error_set(e, CO_ESYS_NOMEM, NULL, "no mutex"));
	if (en->c.net_helper == NULL)
		return (0);
	if (configure(en, e) != 0 || net_open(&en->netconf, &en->net,
	    e) != 0) {
		uv_mutex_destroy(&en->netlock);
		return (-1);
	}
	set_up_again(en);
	return (0);
}

/* The connections of the relay end with us, those of sandboxes do not. */
void
net_end(struct engine *en)
{

	if (en->net != NULL) {
		net_dns_stop(en->net);
		net_close(en->net);
	}
	uv_mutex_destroy(&en->netlock);
	for (size_t i = 0; i < en->nnet_text; i++)
		free(en->net_text[i]);
}

/* Remember for the next start whether the host was set up. */
void
net_mark(struct engine *en, bool up)
{
	int fd;

	en->net_up = up;
	if (!up) {
		(void)unlinkat(en->statefd, MARK, 0);
		return;
	}
	fd = openat(en->statefd, MARK, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd != -1)
		(void)close(fd);
}

int
net_policy_of(struct engine *en, const char *text, char **out,
    struct co_error *e)
{
	struct net_policy *p;
	enum net_mode mode;

	if (text != NULL && *text != '\0') {
		if (net_policy_parse(text, strlen(text), &p, e) != 0)
			return (-1);
	} else {
		mode = NET_DISABLED;
		if (en->net != NULL)
			(void)net_mode_parse(co_conf_string(en->c.conf,
			    "net.default_policy"), &mode);
		p = net_policy_new(mode);
		if (p == NULL)
			return (co_error_set(e, CO_ESYS_NOMEM, NULL,
			    "out of memory"));
	}
	if (p->mode != NET_DISABLED && en->net == NULL) {
		net_policy_free(p);
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "policy",
		    "this engine has no network; only \"mode disabled\" can "
		    "be had"));
	}
	*out = net_policy_print(p);
	net_policy_free(p);
	return (*out != NULL ? 0 : co_error_set(e, CO_ESYS_NOMEM, NULL,
	    "out of memory"));
}

/*
 * The relay.
 */
struct dns_job {
	struct engine	*en;
	bool		 start;
	int		 ret;
	struct co_error	 e;
};

static void
dns_work(void *arg)
{
	struct dns_job *j = arg;

	net_lock(j->en);
	j->ret = j->start ? net_dns_start(j->en->net, &j->e) :
	    net_dns_dispatch(j->en->net, &j->e);
	net_unlock(j->en);
}

static void dns_ready(void *, int);

static void
dns_again(void *arg)
{
	struct engine *en = arg;

	alarm_free(en->dns_retry);
	en->dns_retry = NULL;
	net_dns_begin(en);
}

static void
dns_after(void *arg)
{
	struct dns_job *j = arg;
	struct engine *en = j->en;

	en->dns_busy = false;
	if (j->ret != 0) {
		co_log(en->c.log, CO_WARN, "net", NULL, "name relay: %s",
		    j->e.message);
		watch_free(en->dns);
		en->dns = NULL;
		if (!en->closing && en->net_up && en->dns_retry == NULL)
			en->dns_retry = alarm_new(en, DNS_RETRY_MS,
			    dns_again, en);
	} else if (!en->closing) {
		if (en->dns == NULL)
			en->dns = watch_new(en, net_dns_fd(en->net),
			    dns_ready, en);
		watch_want(en->dns, POLLIN);
	}
	free(j);
}

static void
dns_job(struct engine *en, bool start)
{
	struct dns_job *j;

	if (en->dns_busy || (j = calloc(1, sizeof(*j))) == NULL)
		return;
	en->dns_busy = true;
	j->en = en;
	j->start = start;
	job_start(en, dns_work, dns_after, j);
}

static void
dns_ready(void *arg, int revents)
{
	struct engine *en = arg;

	(void)revents;
	watch_want(en->dns, 0);
	dns_job(en, false);
}

/* Start the relay if there is a gateway to listen on, and it does not run. */
void
net_dns_begin(struct engine *en)
{

	if (en->net != NULL && en->net_up && en->dns == NULL && !en->closing)
		dns_job(en, true);
}

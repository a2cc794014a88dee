/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the defaults are on FreeBSD.
 */

#include "net_internal.h"

static const char *const check[] = { "local-unbound-checkconf", NULL };
static const char *const reload[] = {
	"service", "local_unbound", "reload", NULL
};
static const char *const restart[] = {
	"service", "local_unbound", "restart", NULL
};

void
net_conf_platform(struct net_conf *c)
{

	c->inner = "vnet0";
	c->unbound_dir = "/var/unbound/conf.d";
	c->unbound_main = "/var/unbound/unbound.conf";
	c->unbound_check = check;
	c->unbound_reload = reload;
	c->unbound_restart = restart;
	c->dns_user = "nobody";
}

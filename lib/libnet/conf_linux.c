/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What the defaults are on Linux.
 */

#include "net_internal.h"

static const char *const check[] = { "unbound-checkconf", NULL };
static const char *const reload[] = { "unbound-control", "reload", NULL };
static const char *const restart[] = {
	"systemctl", "restart", "unbound", NULL
};

void
net_conf_platform(struct net_conf *c)
{

	c->inner = "eth0";
	c->unbound_dir = "/etc/unbound/unbound.conf.d";
	c->unbound_main = "/etc/unbound/unbound.conf";
	c->unbound_check = check;
	c->unbound_reload = reload;
	c->unbound_restart = restart;
	c->dns_user = "nobody";
}

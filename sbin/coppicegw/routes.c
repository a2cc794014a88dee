/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is where: the tables of routes.
 */

#include "gw.h"

const struct route api_routes[] = {
	{ "GET", "/health", SCOPE_NONE, false, gw_health },
	{ "GET", "/metrics", SCOPE_ADMIN, false, gw_metrics },

	{ "POST", "/sandboxes", SCOPE_USE, false, api_create },
	{ "GET", "/sandboxes", SCOPE_READ, false, api_list },
	{ "POST", "/v2/sandboxes", SCOPE_USE, false, api_create_v2 },
	{ "GET", "/v2/sandboxes", SCOPE_READ, false, api_list_v2 },
	{ "GET", "/sandboxes/metrics", SCOPE_READ, false, api_metrics_all },
	{ "GET", "/sandboxes/*", SCOPE_READ, false, api_get },
	{ "DELETE", "/sandboxes/*", SCOPE_USE, false, api_delete },
	{ "POST", "/sandboxes/*/timeout", SCOPE_USE, false, api_timeout },
	{ "POST", "/sandboxes/*/refreshes", SCOPE_USE, false, api_refresh },
	{ "POST", "/sandboxes/*/pause", SCOPE_USE, false, api_pause },
	{ "POST", "/sandboxes/*/resume", SCOPE_USE, false, api_resume },
	{ "POST", "/sandboxes/*/connect", SCOPE_USE, false, api_connect },
	{ "POST", "/v2/sandboxes/*/connect", SCOPE_USE, false, api_connect },
	{ "POST", "/sandboxes/*/fork", SCOPE_USE, false, api_fork },
	{ "PUT", "/sandboxes/*/network", SCOPE_USE, false, api_network },
	{ "GET", "/sandboxes/*/metrics", SCOPE_READ, false, api_metrics },
	{ "GET", "/sandboxes/*/logs", SCOPE_READ, false, api_logs },
	{ "GET", "/v2/sandboxes/*/logs", SCOPE_READ, false, api_logs_v2 },
	{ "POST", "/sandboxes/*/snapshots", SCOPE_USE, false, api_snapshot },
	{ "GET", "/snapshots", SCOPE_READ, false, api_snapshots },

	{ "GET", "/templates", SCOPE_READ, false, api_templates },
	{ "GET", "/v2/templates", SCOPE_READ, false, api_templates },
	{ "GET", "/templates/aliases/*", SCOPE_READ, false,
	    api_template_alias },
	{ "GET", "/templates/*", SCOPE_READ, false, api_template_get },
	{ "DELETE", "/templates/*", SCOPE_USE, false, api_template_delete },
};
const size_t api_nroutes = COUNT(api_routes);

const struct route envd_routes[] = {
	{ "GET", "/health", SCOPE_NONE, false, envd_health },
	{ "POST", "/init", SCOPE_NONE, false, envd_init },
	{ "GET", "/envs", SCOPE_NONE, false, envd_envs },
	{ "GET", "/metrics", SCOPE_NONE, false, envd_metrics },
	{ "GET", "/files", SCOPE_NONE, false, envd_download },
	{ "POST", "/files", SCOPE_NONE, true, envd_upload },
	{ "POST", "/process.Process/*", SCOPE_NONE, true, envd_rpc },
	{ "POST", "/filesystem.Filesystem/*", SCOPE_NONE, true, envd_rpc },
};
const size_t envd_nroutes = COUNT(envd_routes);

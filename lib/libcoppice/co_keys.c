/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The keys of coppice.conf(5): one row each, and nowhere else.  A test
 * compares the rows with the man page and the sample file.
 */

#include <stdlib.h>
#include <string.h>

#include "coppice.h"

#define	GB	(INT64_C(1) << 30)

static const char *
absolute(const char *s)
{

	return (s[0] == '/' ? NULL : "an absolute path");
}

static const char *
absolute_or_none(const char *s)
{

	return (*s == '\0' ? NULL : absolute(s));
}

/* Levels are checked by the code that sets them. */
static const char *
loglevel(const char *s)
{
	struct co_log *l;
	int ret;

	l = co_log_new(2, "coppice");
	if (l == NULL)
		return (NULL);
	ret = co_log_level(l, s, NULL);
	co_log_free(l);
	return (ret == 0 ? NULL : "debug, info, warn or error, or a list "
	    "such as info,net=debug");
}

static bool
decimal(const char **s, unsigned long max)
{
	unsigned long v = 0;
	const char *p = *s;

	for (; *p >= '0' && *p <= '9' && p - *s < 4; p++)
		v = v * 10 + (unsigned long)(*p - '0');
	if (p == *s || v > max)
		return (false);
	*s = p;
	return (true);
}

/* a.b.c.d/n, from /16 to /29. */
static const char *
range4(const char *s)
{
	static const char want[] = "an IPv4 range from /16 to /29, such as "
	    "10.78.0.0/24";
	const char *p = s;

	for (int i = 0; i < 4; i++) {
		if (!decimal(&p, 255) || *p != (i < 3 ? '.' : '/'))
			return (want);
		p++;
	}
	s = p;
	if (!decimal(&p, 29) || *p != '\0' || strtoul(s, NULL, 10) < 16)
		return (want);
	return (NULL);
}

static const char *
ifname(const char *s)
{
	size_t n = strlen(s);

	return (n > 0 && n < 16 && strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n ? NULL :
	    "an interface name of at most 15 letters, digits, . _ and -");
}

#define	TEXT(n, d, c, h)	{ n, CO_STRING, d, 0, 0, NULL, c, h }
#define	LIST(n, d, c, h)	{ n, CO_LIST, d, 0, 0, NULL, c, h }
#define	ENUM(n, d, w, h)	{ n, CO_ENUM, d, 0, 0, w, NULL, h }
#define	BOOL(n, d, h)		{ n, CO_BOOL, d, 0, 0, NULL, NULL, h }
#define	NUM(n, t, d, lo, hi, h)	{ n, t, d, lo, hi, NULL, NULL, h }

const struct co_key co_keys[] = {
	TEXT("state", "/var/db/coppice", absolute,
	    "directory of all state that survives a restart"),
	TEXT("run", "/var/run/coppice", absolute,
	    "directory of sockets and process ids"),
	BOOL("control.open", "false",
	    "whether all users of the host may have sandboxes"),
	TEXT("log.level", "info", loglevel,
	    "what is logged, for all or by component"),

	NUM("limits.memory", CO_SIZE, "2gb", 0, 1024 * 1024 * GB,
	    "memory of a sandbox that names no limit; 0 for none"),
	NUM("limits.cpu", CO_INT, "0", 0, 1000000000,
	    "thousandths of a processor likewise"),
	NUM("limits.processes", CO_INT, "1024", 0, 1000000000,
	    "processes and threads likewise"),
	NUM("limits.disk", CO_SIZE, "0", 0, 1024 * 1024 * GB,
	    "bytes that may be written likewise"),
	NUM("limits.files", CO_INT, "16384", 0, 1000000000,
	    "open files of a process likewise"),

	NUM("undo.max_log_size", CO_SIZE, "1gb", 1 << 20, 1024 * GB,
	    "space of one undo store before its oldest steps are dropped"),
	NUM("undo.max_step_count", CO_INT, "100", 1, 100000,
	    "steps that one undo store keeps"),
	NUM("undo.max_single_step_size", CO_SIZE, "200mb", 1 << 20,
	    1024 * GB, "space of one step before it goes on unprotected"),
	NUM("undo.quiet", CO_SECONDS, "100ms", 0, 60000,
	    "time without writes before a completed step is final"),
	NUM("undo.ambient_quiet", CO_SECONDS, "5s", 100, 3600000,
	    "time without writes that ends an ambient step"),
	ENUM("undo.durability", "process", "process|power",
	    "what the undo store survives"),
	ENUM("undo.external", "barrier", "barrier|warn|lock",
	    "what a change from outside does"),

	NUM("safeguard.deletes", CO_INT, "50", 0, 1000000000,
	    "deletes in one step that ask first; 0 never asks"),
	NUM("safeguard.overwrites", CO_INT, "10", 0, 1000000000,
	    "large files overwritten in one step that ask first"),
	NUM("safeguard.overwrite_size", CO_SIZE, "1mb", 1, 1024 * GB,
	    "size from which a file counts as large"),
	NUM("safeguard.renames_over", CO_INT, "0", 0, 1000000000,
	    "renames over existing files in one step that ask first"),
	NUM("safeguard.timeout", CO_SECONDS, "30s", 1000, 86400000,
	    "time to answer before the step is denied"),

	BOOL("net.enable", "true",
	    "whether sandboxes have a network at all"),
	TEXT("net.jail.range", "10.78.0.0/24", range4,
	    "addresses of jails and namespaces"),
	TEXT("net.jail.bridge", "coppicenet0", ifname,
	    "bridge of jails and namespaces"),
	TEXT("net.jail.gateway", "", NULL,
	    "address of the bridge; empty for the first of the range"),
	TEXT("net.jail.first", "", NULL,
	    "first address handed out; empty for the tenth"),
	TEXT("net.jail.last", "", NULL,
	    "last address handed out; empty for all but the last five"),
	LIST("net.jail.reserved", "", NULL,
	    "addresses or ranges a-b that are never handed out"),
	TEXT("net.jail.range6", "fd63:6f70:7069:4e::/64", NULL,
	    "unique local IPv6 range, a /64, of jails and namespaces"),
	TEXT("net.vm.range", "10.77.0.0/24", range4,
	    "addresses of virtual machines"),
	TEXT("net.vm.bridge", "cubenet0", ifname,
	    "bridge of virtual machines"),
	TEXT("net.vm.gateway", "", NULL,
	    "address of the bridge; empty for the first of the range"),
	TEXT("net.vm.first", "", NULL,
	    "first address handed out; empty for the tenth"),
	TEXT("net.vm.last", "", NULL,
	    "last address handed out; empty for all but the last five"),
	LIST("net.vm.reserved", "", NULL,
	    "addresses or ranges a-b that are never handed out"),
	TEXT("net.vm.range6", "fd63:6f70:7069:4d::/64", NULL,
	    "unique local IPv6 range, a /64, of virtual machines"),
	BOOL("net.ipv6", "true",
	    "whether sandboxes also get an IPv6 address"),
	NUM("net.quarantine", CO_SECONDS, "5s", 0, 3600000,
	    "time before a released address is used again"),
	TEXT("net.uplink", "auto", ifname,
	    "interface to the outside, or auto"),
	NUM("net.confirm", CO_SECONDS, "30s", 1000, 600000,
	    "time to confirm a change of the host's rules"),
	ENUM("net.default_policy", "open",
	    "open|allowlist|airgap|disabled",
	    "policy of a sandbox that names none"),
	LIST("net.services", "53/udp 53/tcp 49982/tcp 49983/tcp", NULL,
	    "ports of the gateway that sandboxes may reach"),

	LIST("dns.forward", "", NULL,
	    "resolvers that names are forwarded to; none to recurse"),
	NUM("dns.port", CO_INT, "5335", 1024, 65535,
	    "port of unbound on the gateway, behind the relay"),
	NUM("dns.floor", CO_SECONDS, "5s", 0, 3600000,
	    "shortest life of an address learnt from an answer"),

	LIST("gateway.listen", "127.0.0.1:3000", NULL,
	    "addresses that the gateway serves"),
	LIST("gateway.envd_listen", "", NULL,
	    "addresses where it serves the debug mode of SDKs"),
	TEXT("gateway.domain", "", NULL,
	    "domain of PORT-ID.DOMAIN, the hosts of sandboxes"),
	TEXT("gateway.keys", "", absolute_or_none,
	    "file of API keys; empty for gateway/keys in state"),
	TEXT("gateway.tls_cert", "", absolute_or_none,
	    "certificate chain; empty for no TLS"),
	TEXT("gateway.tls_key", "", absolute_or_none,
	    "key of the certificate"),
	TEXT("gateway.template", "tiny", NULL,
	    "template that clients call base"),
	TEXT("gateway.user", "", NULL,
	    "who runs commands; empty for whom the template names"),
	NUM("gateway.head_timeout", CO_SECONDS, "15s", 100, 600000,
	    "time for the head of a request to arrive"),
	NUM("gateway.idle_timeout", CO_SECONDS, "75s", 100, 3600000,
	    "time that a connection may wait for a request"),
	NUM("gateway.stall_timeout", CO_SECONDS, "60s", 100, 3600000,
	    "time without progress before a client is hung up on"),
	NUM("gateway.max_connections", CO_INT, "4096", 1, 100000,
	    "connections at a time"),
	NUM("gateway.max_upload", CO_SIZE, "16gb", 1, 1024 * GB,
	    "size of a file that is uploaded"),
	NUM("gateway.rate", CO_INT, "0", 0, 1000000,
	    "requests a second that a key may make; 0 is any number"),
	NUM("gateway.max_sandboxes", CO_INT, "0", 0, 100000,
	    "sandboxes that a key may have; 0 is any number"),
	NUM("gateway.max_memory", CO_SIZE, "0", 0, 1024 * GB,
	    "memory of all sandboxes of a key; 0 is any")
};
const size_t co_nkeys = sizeof(co_keys) / sizeof(co_keys[0]);

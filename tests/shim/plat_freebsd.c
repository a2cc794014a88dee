/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * FreeBSD: children as they are; a network stack of their own by a jail.
 */

#include <sys/types.h>
#include <sys/param.h>
#include <sys/jail.h>
#include <sys/sysctl.h>
#include <sys/uio.h>
#include <sys/user.h>

#include <atf-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "plat.h"

/* A jail in the same tree with its own network; dies with its processes. */
static int
enter_jail(void)
{
	static const char *const keys[] = { "path", "/", "vnet", NULL,
	    "host.hostname", "test", "allow.set_hostname", NULL };
	struct iovec iov[8];
	int vnet = 1;

	for (size_t i = 0; i < 8; i++) {
		char *s = keys[i] != NULL ? strdup(keys[i]) : NULL;

		iov[i].iov_base = s;
		iov[i].iov_len = s != NULL ? strlen(s) + 1 : 0;
	}
	iov[3].iov_base = &vnet;
	iov[3].iov_len = sizeof(vnet);
	return (jail_set(iov, 8, JAIL_CREATE | JAIL_ATTACH));
}

pid_t
plat_fork(int want)
{
	pid_t pid;

	if ((pid = fork()) != 0)
		return (pid);
	if ((want & PLAT_NET) != 0 && enter_jail() == -1) {
		perror("jail_set");
		_exit(1);
	}
	return (0);
}

void
plat_exec(const char *prog, const char *const *argv, const char *const *env)
{
	char *a[32], *e[32];
	size_t n;

	/* The interface is older than const. */
	for (n = 0; argv[n] != NULL && n < 31; n++)
		a[n] = strdup(argv[n]);
	a[n] = NULL;
	for (n = 0; env[n] != NULL && n < 31; n++)
		e[n] = strdup(env[n]);
	e[n] = NULL;
	execve(prog, a, e);
}

static bool
info(pid_t pid, struct kinfo_proc *kp)
{
	int mib[4] = { CTL_KERN, KERN_PROC, KERN_PROC_PID, pid };
	size_t len = sizeof(*kp);

	return (sysctl(mib, 4, kp, &len, NULL, 0) == 0 && len > 0);
}

long
plat_rss(pid_t pid)
{
	struct kinfo_proc kp;

	if (!info(pid, &kp))
		return (0);
	return ((long)kp.ki_rssize * getpagesize() / 1024);
}

const char *
plat_self(void)
{
	static char path[MAXPATHLEN];
	int mib[4] = { CTL_KERN, KERN_PROC, KERN_PROC_PATHNAME, -1 };
	size_t len = sizeof(path);

	ATF_REQUIRE(sysctl(mib, 4, path, &len, NULL, 0) == 0);
	return (path);
}

bool
plat_sanitized(void)
{

	return (false);
}

bool
plat_namespaces(void)
{

	return (true);
}

/* One end of an epair(4) into the jail of the process. */
void
plat_make_interface(pid_t pid)
{
	const char *make[] = { "ifconfig", "epair", "create", NULL };
	const char *give[] = { "ifconfig", NULL, "vnet", NULL, NULL };
	struct co_run run = { .argv = make };
	struct co_result res;
	struct kinfo_proc kp;
	struct co_error e;
	char jid[16], name[32];

	ATF_REQUIRE_MSG(co_run(&run, &res, &e) == 0, "%s", e.message);
	ATF_REQUIRE_EQ_MSG(0, res.status, "%s", res.out);
	/* "epair0a": the b end is the sandbox's. */
	snprintf(name, sizeof(name), "%.*sb",
	    (int)strcspn(res.out, "\n") - 1, res.out);
	free(res.out);
	ATF_REQUIRE(info(pid, &kp));
	snprintf(jid, sizeof(jid), "%d", kp.ki_jid);
	give[1] = name;
	give[3] = jid;
	run.argv = give;
	ATF_REQUIRE_MSG(co_run(&run, &res, &e) == 0, "%s", e.message);
	ATF_REQUIRE_EQ_MSG(0, res.status, "%s", res.out);
	free(res.out);
}

const char *
plat_show_network(void)
{

	return ("ifconfig; netstat -rn -f inet");
}

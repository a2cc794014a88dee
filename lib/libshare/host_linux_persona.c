/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: taking the caller's identity, for one thread.  The kernel keeps
 * filesystem ids, groups, capabilities and (once unshared) the umask per
 * thread; the C library's calls would change all threads, so these are the
 * system calls themselves.
 */

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/capability.h>

#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "coppice.h"

#include "host.h"
#include "host_linux.h"

#define	CAP_BIT(c)	(UINT32_C(1) << (c))
/* What makes the kernel not ask whose a file is; all in the first word. */
#define	FILE_CAPS	(CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) | \
	CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_FOWNER) |		  \
	CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_LINUX_IMMUTABLE) |		  \
	CAP_BIT(CAP_MKNOD))
#define	WANT_CAPS	(CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) | \
	CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_FOWNER) |		  \
	CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID))

/* What the kernel knows of this thread, read when first needed. */
struct thread {
	bool	 own_umask;	/* not shared with other threads any more */
	mode_t	 umask;		/* if so */
	bool	 known;		/* the rest */
	uid_t	 uid;
	gid_t	 gid;
	gid_t	 groups[HOST_GROUPS];
	int	 ngroups;
	struct __user_cap_data_struct caps[2];
};

static _Thread_local struct thread self;

static int
caps_get(struct __user_cap_data_struct caps[2])
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};

	return (syscall(SYS_capget, &head, caps) == -1 ? errno : 0);
}

static int
caps_set(const struct __user_cap_data_struct caps[2])
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};

	return (syscall(SYS_capset, &head, caps) == -1 ? errno : 0);
}

int
host_persona_check(struct co_error *e)
{
	struct __user_cap_data_struct caps[2];
	int error;

	if ((error = caps_get(caps)) != 0)
		return (co_error_errno(e, error, NULL,
		    "cannot read the capabilities of this process"));
	if ((caps[0].effective & WANT_CAPS) != WANT_CAPS)
		return (co_error_set(e, CO_ESYS_PERMISSION, NULL,
		    "acting as the caller needs root, or the capabilities "
		    "chown, dac_override, dac_read_search, fowner, fsetid, "
		    "setuid and setgid; without them, serve as yourself"));
	return (0);
}

bool
host_personas(void)
{

	return (true);
}

static int
self_know(void)
{
	int error;

	if (self.known)
		return (0);
	self.uid = geteuid();
	self.gid = getegid();
	self.ngroups = getgroups(HOST_GROUPS, self.groups);
	if (self.ngroups == -1)
		self.ngroups = 0;
	if ((error = caps_get(self.caps)) != 0)
		return (error);
	self.known = true;
	return (0);
}

static int
groups_set(int n, const gid_t *groups)
{

	return (syscall(SYS_setgroups, (size_t)n, groups) == -1 ? errno : 0);
}

static int
umask_enter(uint32_t mask, struct host_saved *saved)
{

	if (self.own_umask && self.umask == mask)
		return (0);
	if (!self.own_umask && unshare(CLONE_FS) == -1)
		return (errno);
	self.own_umask = true;
	saved->umask = umask(mask);
	self.umask = mask;
	/* One that takes nothing from ourselves may stay for the next. */
	saved->masked = (mask & 0700) != 0;
	return (0);
}

/* Order matters: the right to change groups goes with the user. */
static int
persona_enter(const struct host_persona *p)
{
	struct __user_cap_data_struct caps[2];
	int error;

	memcpy(caps, self.caps, sizeof(caps));
	if (!p->privileged) {
		caps[0].effective &= ~FILE_CAPS;
		error = groups_set((int)p->ngroups, p->groups);
		if (error != 0)
			return (error);
	}
	(void)setfsgid(p->gid);
	(void)setfsuid(p->uid);
	if ((gid_t)setfsgid((gid_t)-1) != p->gid ||
	    (uid_t)setfsuid((uid_t)-1) != p->uid)
		return (EPERM);
	return (caps_set(caps));
}

static void
persona_leave(bool groups)
{

	(void)setfsuid(self.uid);
	(void)setfsgid(self.gid);
	(void)caps_set(self.caps);
	if (groups)
		(void)groups_set(self.ngroups, self.groups);
}

int
host_enter(const struct host *h, const struct host_persona *p,
    uint32_t mask, struct host_saved *saved)
{
	int error;

	saved->masked = saved->entered = saved->groups = false;
	if (mask != UINT32_MAX && (error = umask_enter(mask, saved)) != 0)
		return (error);
	if (p == NULL)
		return (0);
	if ((error = self_know()) != 0)
		goto err0;
	if (p->privileged && p->uid == self.uid && p->gid == self.gid)
		return (0);
	saved->entered = true;
	saved->groups = !p->privileged;
	if ((error = persona_enter(p)) != 0)
		goto err0;
	return (0);
err0:
	host_leave(h, saved);
	return (error);
}

void
host_leave(const struct host *h, const struct host_saved *saved)
{

	(void)h;
	if (saved->entered)
		persona_leave(saved->groups);
	if (saved->masked) {
		(void)umask(saved->umask);
		self.umask = saved->umask;
	}
}

int
host_give(const struct host *h, int fd, const struct host_persona *p,
    uint32_t mode, uint32_t mask, struct host_stat *st)
{

	(void)h;
	(void)fd;
	(void)p;
	(void)mode;
	(void)mask;
	(void)st;
	return (0);
}

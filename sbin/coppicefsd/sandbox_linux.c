/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linux: another user, no capability but those that acting as the caller
 * needs, an empty root in a mount namespace of its own, no network but the
 * sockets that are open, and a filter of system calls.
 */

#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/capability.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "coppicefsd.h"

#define	CAP_BIT(c)	(UINT32_C(1) << (c))
/* What share_open() asks for in order to act as the caller. */
#define	CALLER_CAPS	(CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) | \
	CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_FOWNER) |		  \
	CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID))

static int
put_line(const char *path, const char *line)
{
	int error, fd;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return (errno);
	error = write(fd, line, strlen(line)) == -1 ? errno : 0;
	(void)close(fd);
	return (error);
}

/* A user namespace gives the right to make the others; ids stay. */
static int
enter_user(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char line[64];
	int error;

	if (unshare(CLONE_NEWUSER) == -1)
		return (errno);
	(void)put_line("/proc/self/setgroups", "deny");
	(void)snprintf(line, sizeof(line), "%u %u 1", (unsigned)uid,
	    (unsigned)uid);
	if ((error = put_line("/proc/self/uid_map", line)) != 0)
		return (error);
	(void)snprintf(line, sizeof(line), "%u %u 1", (unsigned)gid,
	    (unsigned)gid);
	return (put_line("/proc/self/gid_map", line));
}

static int
bind_file(const char *from, const char *to)
{
	int fd;

	if ((fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == -1)
		return (-1);
	(void)close(fd);
	return (mount(from, to, NULL, MS_BIND, NULL));
}

/*
 * The new root: /proc, of our own processes where the kernel can show only
 * these, and the device that FUSE opens for each of its threads.
 */
static int
furnish(void)
{
	const unsigned long f = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	if (mkdir("proc", 0755) == -1 || mkdir("dev", 0755) == -1)
		return (errno);
	if (mount("proc", "proc", "proc", f, "subset=pid,hidepid=2") == -1 &&
	    mount("/proc", "proc", NULL, MS_BIND, NULL) == -1)
		return (errno);
	if (access("/dev/fuse", F_OK) == 0)
		(void)bind_file("/dev/fuse", "dev/fuse");
	return (0);
}

static int
enter_root(void)
{
	static const char *const places[] = { "/tmp", "/mnt", "/var", "/usr",
	    NULL };
	const char *const *p;
	int error;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return (errno);
	for (p = places; *p != NULL; p++)
		if (mount("tmpfs", *p, "tmpfs", MS_NOSUID | MS_NOEXEC,
		    "size=64k,mode=755") == 0)
			break;
	if (*p == NULL || chdir(*p) == -1)
		return (errno);
	if ((error = furnish()) != 0)
		return (error);
	if (syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		return (errno);
	(void)mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY |
	    MS_NOSUID | MS_NOEXEC, NULL);
	return (0);
}

/* Without the rights for it, there is still the rest. */
static int
enter_namespaces(struct server *s, struct co_error *e)
{
	int error;

	error = geteuid() == 0 ? 0 : enter_user();
	if (error == 0 && unshare(CLONE_NEWNS | CLONE_NEWNET |
	    CLONE_NEWIPC | CLONE_NEWUTS) == -1)
		error = errno;
	if (error != 0 && geteuid() != 0) {
		server_log(s, CO_WARN, "no namespaces of our own: %s",
		    strerror(error));
		return (0);
	}
	if (error == 0)
		error = enter_root();
	if (error != 0)
		return (co_error_errno(e, error, NULL,
		    "cannot enter namespaces of our own; -o nosandbox does "
		    "without"));
	return (0);
}

static int
become(const struct passwd *pw, struct co_error *e)
{

	if (pw == NULL)
		return (0);
	if (prctl(PR_SET_KEEPCAPS, 1) == -1 ||
	    setgroups(0, NULL) == -1 ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) == -1 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) == -1)
		return (co_error_errno(e, errno, pw->pw_name,
		    "cannot become this user"));
	return (0);
}

static int
drop_caps(struct server *s, struct co_error *e)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];
	uint32_t keep = 0;
	int c;

	if (s->conf->share.identity == SHARE_CALLER)
		keep |= CALLER_CAPS;
	if (s->conf->share.devices)
		keep |= CAP_BIT(CAP_MKNOD);
	if (syscall(SYS_capget, &head, data) == -1)
		return (co_error_errno(e, errno, NULL, "no capabilities"));
	for (c = 0; c <= CAP_LAST_CAP; c++)
		if (c >= 32 || (keep & CAP_BIT(c)) == 0)
			(void)prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	keep &= data[0].permitted;
	memset(data, 0, sizeof(data));
	data[0].effective = data[0].permitted = keep;
	if (syscall(SYS_capset, &head, data) == -1)
		return (co_error_errno(e, errno, NULL,
		    "cannot drop capabilities"));
	return (0);
}

static void *
nothing(void *arg)
{

	(void)arg;
	for (;;)
		(void)pause();
	return (NULL);
}

/* The C library loads what pthread_cancel(3) needs when it is first used. */
static void
warm_up(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, nothing, NULL) != 0)
		return;
	(void)pthread_cancel(t);
	(void)pthread_join(t, NULL);
}

static int
user_of(const struct config *c, struct passwd **pw, struct co_error *e)
{

	*pw = NULL;
	if (c->user != NULL && (*pw = getpwnam(c->user)) == NULL)
		return (co_error_set(e, CO_ESYS_CONFIG, c->user,
		    "there is no such user"));
	return (0);
}

/* The kernel takes rights over files away with the id; they come back. */
static int
raise_caps(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) == -1)
		return (-1);
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	return (syscall(SYS_capset, &head, data) == -1 ? -1 : 0);
}

int
sandbox_as(const struct config *c, bool on, struct co_error *e)
{
	struct passwd *pw;

	if (user_of(c, &pw, e) == -1)
		return (-1);
	if (pw == NULL)
		return (0);
	(void)setfsgid(on ? pw->pw_gid : getegid());
	(void)setfsuid(on ? pw->pw_uid : geteuid());
	if (raise_caps() == -1)
		return (co_error_errno(e, errno, c->user,
		    "cannot act as this user"));
	return (0);
}

int
sandbox_peer(int fd, uid_t *uid)
{
	socklen_t len = sizeof(struct ucred);
	struct ucred cr;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cr, &len) == -1)
		return (-1);
	*uid = cr.uid;
	return (0);
}

int
sandbox_enter(struct server *s, struct co_error *e)
{
	pid_t parent = getppid();
	struct passwd *pw;

	if (user_of(s->conf, &pw, e) == -1)
		return (-1);
	warm_up();
	if (s->conf->sandbox && enter_namespaces(s, e) == -1)
		return (-1);
	if (become(pw, e) == -1)
		return (-1);
	if (drop_caps(s, e) == -1)
		return (-1);
	/* Changing ids made us forget. */
	sandbox_orphan(parent);
	(void)prctl(PR_SET_DUMPABLE, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return (co_error_errno(e, errno, NULL,
		    "cannot give up new privileges"));
	if (s->conf->seccomp == SECCOMP_OFF)
		return (0);
	return (seccomp_enter(s, e));
}

void
sandbox_orphan(pid_t parent)
{

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		(void)raise(SIGKILL);
}

int
sandbox_scratch(void)
{

	return (memfd_create("diff", MFD_CLOEXEC));
}

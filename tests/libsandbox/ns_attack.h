/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Attacks on a sandbox from within.  Each returns 0 if it worked, else an
 * errno.  They run in a sandbox, where none may work, and outside of it,
 * where they must, so that a refusal means something.
 *
 * What they look for is in the environment:
 *	BAIT_PID	a process of the host
 *	BAIT_FILE	a file of the host, by its path there
 *	BAIT_HANDLE	its handle, in hex: type and bytes
 *	BAIT_DISK	the folder of the sandbox's disk, by its path there
 *	BAIT_SOCKET	a name of an abstract socket
 *	BAIT_PORT	a port of the host's loopback
 *	BAIT_SHM	key of a shared memory segment
 *	BAIT_QUEUE	name of a message queue
 *	TARGET		the process to take over: the shim, or BAIT_PID
 *	SHARE		a folder that both have, BAIT_FILE is beside it
 *	SUID		a program with its setuid bit set: this one
 */

#ifndef NS_ATTACK_H
#define NS_ATTACK_H

#include <stdbool.h>
#include <stddef.h>

enum where {
	HOST,		/* works on the host */
	HOST_OWN,	/* there in a network and names of its own */
	NEVER		/* would hurt the host, or has no meaning there */
};

struct attack {
	const char	*name;
	int		(*run)(void);
	enum where	 proof;
};

extern const struct attack attacks[];
extern const size_t nattacks;

/* A variable that must be there, and as a number. */
const char *bait(const char *);
int bait_number(const char *);

/* errno of what returned -1, else 0. */
int outcome(long);

/* Run it in a child; 0 if that exited with 0, else its exit status. */
int in_child(int (*)(void));

/* ns_attack_spaces.c */
int a_userns_clone(void), a_userns_unshare(void), a_userns_clone3(void);
int a_mountns(void), a_netns(void), a_pidns(void), a_setns(void);
int a_setns_pidfd(void), a_mount_tmpfs(void), a_mount_proc(void);
int a_mount_sysfs(void), a_mount_debugfs(void), a_umount_mask(void);
int a_remount(void), a_fsopen(void), a_open_tree(void);
int a_mount_setattr(void), a_pivot_root(void), a_release_agent(void);
int a_cgroup_leave(void), a_hostname(void), a_int80(void);

/* ns_attack_files.c */
int a_chroot(void), a_dotdot(void), a_proc_root(void), a_handle(void);
int a_mknod_disk(void), a_mknod_mem(void), a_mknod_kmsg(void);
int a_devices(void), a_kcore(void), a_kallsyms(void), a_sysrq(void);
int a_core_pattern(void), a_sysctl(void), a_sys_write(void);
int a_upper(void), a_share_up(void), a_share_node(void);
int a_share_suid(void), a_setuid_file(void), a_setcap(void);
int a_immutable(void), a_chown_outside(void), a_fanotify(void);
int a_proc_net_write(void), a_binfmt(void);

/* ns_attack_procs.c */
int a_mem(void), a_exe(void), a_fd_steal(void), a_ptrace(void);
int a_vm_read(void), a_signal(void), a_prlimit(void), a_leaked(void);
int a_capset(void), a_new_privs(void), a_no_filter(void);
int a_core_limit(void), a_core_trick(void), a_uid_outside(void);
int a_nice(void), a_realtime(void), a_oom_adj(void), a_tiocsti(void);
int a_tioclinux(void), a_personality(void), a_shim_socket(void);
int a_environ(void);

/* ns_attack_kernel.c */
int a_af_packet(void), a_raw(void), a_netfilter(void), a_uevent(void);
int a_sock_diag(void), a_vsock(void), a_alg(void), a_net_admin(void);
int a_abstract(void), a_loopback(void), a_shm(void), a_queue(void);
int a_add_key(void), a_request_key(void), a_keyctl(void), a_bpf(void);
int a_perf(void), a_userfaultfd(void), a_io_uring(void), a_kexec(void);
int a_module(void), a_reboot(void), a_settime(void), a_adjtime(void);
int a_swapon(void), a_syslog(void), a_ioperm(void), a_alarm(void);
int a_acct(void), a_quota(void), a_tun(void);

#endif /* NS_ATTACK_H */

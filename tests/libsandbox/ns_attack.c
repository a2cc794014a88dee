/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The table of attacks, and what they have in common.
 */

#include <sys/wait.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ns_attack.h"

const struct attack attacks[] = {
	{ "userns_clone", a_userns_clone, HOST },
	{ "userns_unshare", a_userns_unshare, HOST },
	{ "userns_clone3", a_userns_clone3, HOST },
	{ "mountns_unshare", a_mountns, HOST },
	{ "netns_unshare", a_netns, HOST },
	{ "pidns_unshare", a_pidns, HOST },
	{ "setns_by_proc", a_setns, HOST },
	{ "setns_by_pidfd", a_setns_pidfd, HOST },
	{ "mount_tmpfs", a_mount_tmpfs, HOST },
	{ "mount_proc", a_mount_proc, HOST },
	{ "mount_sysfs", a_mount_sysfs, HOST },
	{ "mount_debugfs", a_mount_debugfs, HOST },
	{ "umount_mask", a_umount_mask, NEVER },
	{ "remount_writable", a_remount, NEVER },
	{ "fsopen", a_fsopen, HOST },
	{ "open_tree", a_open_tree, HOST },
	{ "mount_setattr", a_mount_setattr, HOST },
	{ "pivot_root", a_pivot_root, NEVER },
	{ "cgroup_release_agent", a_release_agent, HOST },
	{ "cgroup_leave", a_cgroup_leave, HOST },
	{ "sethostname", a_hostname, HOST_OWN },
	{ "syscalls_of_i386", a_int80, HOST },

	{ "chroot_twice", a_chroot, HOST },
	{ "dotdot", a_dotdot, HOST },
	{ "proc_root", a_proc_root, HOST },
	{ "open_by_handle", a_handle, HOST },
	{ "mknod_disk", a_mknod_disk, HOST },
	{ "mknod_mem", a_mknod_mem, HOST },
	{ "mknod_kmsg", a_mknod_kmsg, HOST },
	{ "device_nodes", a_devices, HOST },
	{ "proc_kcore", a_kcore, HOST },
	{ "proc_kallsyms", a_kallsyms, HOST },
	{ "proc_sysrq", a_sysrq, HOST },
	{ "core_pattern", a_core_pattern, HOST },
	{ "sysctl_write", a_sysctl, HOST },
	{ "sysctl_of_network", a_proc_net_write, HOST_OWN },
	{ "sys_write", a_sys_write, HOST },
	{ "binfmt_misc", a_binfmt, HOST },
	{ "overlay_upper", a_upper, HOST },
	{ "share_upwards", a_share_up, HOST },
	{ "share_device", a_share_node, HOST },
	{ "share_setuid", a_share_suid, HOST },
	{ "setuid_file", a_setuid_file, HOST },
	{ "file_capability", a_setcap, HOST },
	{ "immutable_flag", a_immutable, HOST },
	{ "chown_to_host_user", a_chown_outside, HOST },
	{ "fanotify", a_fanotify, HOST },

	{ "shim_memory", a_mem, HOST },
	{ "shim_overwrite", a_exe, NEVER },
	{ "shim_descriptors", a_fd_steal, HOST },
	{ "shim_ptrace", a_ptrace, HOST },
	{ "shim_vm_read", a_vm_read, HOST },
	{ "shim_environ", a_environ, HOST },
	{ "shim_socket", a_shim_socket, NEVER },
	{ "signal_host_process", a_signal, HOST },
	{ "prlimit_host_process", a_prlimit, HOST },
	{ "leaked_descriptors", a_leaked, HOST },
	{ "capset", a_capset, HOST },
	{ "new_privileges", a_new_privs, HOST },
	{ "no_filter", a_no_filter, HOST },
	{ "core_limit", a_core_limit, HOST },
	{ "core_limit_by_pointer", a_core_trick, HOST },
	{ "setuid_to_host_user", a_uid_outside, HOST },
	{ "nice", a_nice, HOST },
	{ "realtime_scheduler", a_realtime, HOST },
	{ "oom_immunity", a_oom_adj, NEVER },
	{ "tiocsti", a_tiocsti, HOST },
	{ "tioclinux", a_tioclinux, NEVER },
	{ "personality", a_personality, HOST },

	{ "af_packet", a_af_packet, HOST },
	{ "raw_socket", a_raw, HOST },
	{ "netlink_netfilter", a_netfilter, HOST },
	{ "netlink_uevent", a_uevent, HOST },
	{ "netlink_sock_diag", a_sock_diag, HOST },
	{ "af_vsock", a_vsock, HOST },
	{ "af_alg", a_alg, HOST },
	{ "net_admin", a_net_admin, HOST_OWN },
	{ "tun_device", a_tun, HOST_OWN },
	{ "abstract_socket", a_abstract, HOST },
	{ "host_loopback", a_loopback, HOST },
	{ "sysv_shm", a_shm, HOST },
	{ "posix_queue", a_queue, HOST },
	{ "add_key", a_add_key, HOST },
	{ "request_key", a_request_key, HOST },
	{ "keyctl", a_keyctl, HOST },
	{ "bpf", a_bpf, HOST },
	{ "perf_event_open", a_perf, HOST },
	{ "userfaultfd", a_userfaultfd, HOST },
	{ "io_uring", a_io_uring, HOST },
	{ "kexec", a_kexec, NEVER },
	{ "kernel_module", a_module, NEVER },
	{ "reboot", a_reboot, NEVER },
	{ "set_time", a_settime, NEVER },
	{ "adjust_time", a_adjtime, NEVER },
	{ "swapon", a_swapon, NEVER },
	{ "kernel_log", a_syslog, HOST },
	{ "io_ports", a_ioperm, HOST },
	{ "wake_alarm", a_alarm, HOST },
	{ "accounting", a_acct, NEVER },
	{ "quotactl", a_quota, NEVER },
};
const size_t nattacks = sizeof(attacks) / sizeof(attacks[0]);

const char *
bait(const char *name)
{
	const char *s;

	if ((s = getenv(name)) == NULL) {
		fprintf(stderr, "no %s\n", name);
		exit(3);
	}
	return (s);
}

int
bait_number(const char *name)
{

	return ((int)strtol(bait(name), NULL, 0));
}

int
outcome(long r)
{

	return (r == -1 ? errno : 0);
}

int
in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	if ((pid = fork()) == 0)
		_exit(fn());
	if (pid == -1 || waitpid(pid, &status, 0) != pid)
		return (ECHILD);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : EPERM);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Attacks by sockets, shared objects and calls that only the host's own
 * programs need.
 */

#include <sys/ioctl.h>
#include <sys/io.h>
#include <sys/ipc.h>
#include <sys/klog.h>
#include <sys/quota.h>
#include <sys/reboot.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/un.h>

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/vm_sockets.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ns_attack.h"

int
a_af_packet(void)
{

	return (outcome(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL))));
}

int
a_raw(void)
{

	return (outcome(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)));
}

int
a_netfilter(void)
{

	return (outcome(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)));
}

int
a_uevent(void)
{

	return (outcome(socket(AF_NETLINK, SOCK_RAW,
	    NETLINK_KOBJECT_UEVENT)));
}

int
a_sock_diag(void)
{

	return (outcome(socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG)));
}

int
a_vsock(void)
{

	return (outcome(socket(AF_VSOCK, SOCK_STREAM, 0)));
}

int
a_alg(void)
{

	return (outcome(socket(AF_ALG, SOCK_SEQPACKET, 0)));
}

int
a_net_admin(void)
{
	struct ifreq ifr = { .ifr_flags = 0 };
	int fd;

	memcpy(ifr.ifr_name, "lo", 3);
	if ((fd = socket(AF_INET, SOCK_DGRAM, 0)) == -1)
		return (errno);
	return (outcome(ioctl(fd, SIOCSIFFLAGS, &ifr)));
}

int
a_tun(void)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN };
	int fd;

	if ((fd = open("/dev/net/tun", O_RDWR)) == -1)
		return (errno);
	return (outcome(ioctl(fd, TUNSETIFF, &ifr)));
}

int
a_abstract(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	const char *name = bait("BAIT_SOCKET");
	size_t n = strlen(name);
	int fd;

	memcpy(sun.sun_path + 1, name, n);
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		return (errno);
	return (outcome(connect(fd, (struct sockaddr *)&sun,
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n))));
}

int
a_loopback(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)bait_number("BAIT_PORT")),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd;

	if ((fd = socket(AF_INET, SOCK_STREAM, 0)) == -1)
		return (errno);
	return (outcome(connect(fd, (struct sockaddr *)&sin, sizeof(sin))));
}

int
a_shm(void)
{

	return (outcome(shmget(bait_number("BAIT_SHM"), 4096, 0)));
}

int
a_queue(void)
{

	return (outcome(mq_open(bait("BAIT_QUEUE"), O_RDONLY)));
}

int
a_add_key(void)
{

	return (outcome(syscall(SYS_add_key, "user", "attack", "x", 1,
	    KEY_SPEC_PROCESS_KEYRING)));
}

int
a_request_key(void)
{
	long r;

	r = syscall(SYS_request_key, "user", "coppice:attack", NULL, 0);
	/* That there is none is an answer. */
	return (r == -1 && errno != ENOKEY ? errno : 0);
}

int
a_keyctl(void)
{

	return (outcome(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID,
	    KEY_SPEC_USER_KEYRING, 1)));
}

int
a_bpf(void)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_type = BPF_MAP_TYPE_ARRAY;
	a.key_size = a.value_size = 4;
	a.max_entries = 1;
	return (outcome(syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof(a))));
}

int
a_perf(void)
{
	struct perf_event_attr a;

	memset(&a, 0, sizeof(a));
	a.size = sizeof(a);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_CPU_CLOCK;
	return (outcome(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0)));
}

int
a_userfaultfd(void)
{

	return (outcome(syscall(SYS_userfaultfd, 0)));
}

int
a_io_uring(void)
{
	char params[256];

	memset(params, 0, sizeof(params));
	return (outcome(syscall(SYS_io_uring_setup, 4, params)));
}

/* An error about the arguments would mean that it was listened to. */
static int
refused(long r)
{

	return (r == -1 && (errno == EPERM || errno == ENOSYS) ? errno : 0);
}

int
a_kexec(void)
{

	return (refused(syscall(SYS_kexec_load, 0, 0, NULL, 1UL << 20)));
}

int
a_module(void)
{

	return (refused(syscall(SYS_finit_module, -1, "", 0)));
}

int
a_reboot(void)
{

	return (refused(reboot(RB_DISABLE_CAD)));
}

int
a_settime(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (refused(clock_settime(CLOCK_REALTIME, &ts)));
}

int
a_adjtime(void)
{
	struct timex t = { .modes = ADJ_FREQUENCY };

	return (refused(adjtimex(&t)));
}

int
a_swapon(void)
{

	return (refused(swapon("/tmp/none", 0)));
}

int
a_syslog(void)
{
	char buf[1024];

	return (outcome(klogctl(3, buf, sizeof(buf))));
}

int
a_ioperm(void)
{
#ifdef __x86_64__
	return (outcome(ioperm(0x80, 1, 1)));
#else
	return (ENOSYS);
#endif
}

int
a_alarm(void)
{

	return (outcome(timerfd_create(CLOCK_BOOTTIME_ALARM, 0)));
}

int
a_acct(void)
{

	return (refused(acct("/tmp/none")));
}

int
a_quota(void)
{

	return (refused(quotactl(QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL)));
}

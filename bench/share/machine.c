/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The machine: its initrd, its servers, QEMU, and the shim in it by which it
 * is told what to do.
 */

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coppice.h>
#include <shim.h>

#include "machine.h"

#define	KERNELS		"/usr/local/lib/coppice-guest"
#define	WAIT_MS		300000
#define	OPTIONS		"cache=none,caller,step=64g,log=128g,steps=1000"

static const char *const names[M_MAX] = {
	"vhost", "virtiofsd", "nine", "diod", "virtio9p"
};

static struct shim *shim;
static pid_t qemu = -1;
static bool ready, done;
static int status;
static char output[4096];
static size_t outlen;
static int64_t commands;

static void
on_ready(void *arg, const struct shim_hello *h)
{

	(void)arg;
	(void)h;
	ready = true;
}

static void
on_output(void *arg, int64_t id, enum shim_stream stream, uint64_t offset,
    const void *data, size_t n)
{
	size_t room = sizeof(output) - 1 - outlen;

	(void)arg;
	(void)stream;
	(void)offset;
	memcpy(output + outlen, data, n < room ? n : room);
	outlen += n < room ? n : room;
	output[outlen] = '\0';
	shim_consumed(shim, id, n);
}

static void
on_completed(void *arg, int64_t id, const struct shim_exit *x)
{

	(void)arg;
	(void)id;
	status = x->exit_code;
	done = true;
}

static const struct shim_handlers handlers = {
	.ready = on_ready, .output = on_output, .completed = on_completed
};

static int
wait_for(const bool *flag)
{
	struct co_error e;
	struct pollfd p;
	co_moment end;

	for (end = co_after(WAIT_MS); !*flag;) {
		p.fd = shim_fd(shim);
		p.events = (short)shim_want(shim);
		p.revents = 0;
		(void)poll(&p, 1, 1000);
		if (co_left(end) == 0 ||
		    shim_dispatch(shim, p.revents, &e) != 0)
			return (-1);
	}
	return (0);
}

/* Run it there; its output is in ${output}. */
static int
command(const char *text)
{
	static const char *const env[] = { "PATH=/bin:/sbin", NULL };
	struct shim_exec x = { .id = ++commands, .command = text,
	    .env = env };
	struct co_error e;

	outlen = 0;
	output[0] = '\0';
	done = false;
	if (shim_exec(shim, &x, &e) != 0) {
		warnx("%s", e.message);
		return (-1);
	}
	if (wait_for(&done) == -1) {
		warnx("%s: the machine does not answer", text);
		return (-1);
	}
	if (status == 0)
		return (0);
	warnx("%s: status %d: %s", text, status, output);
	return (-1);
}

static int
meet(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct co_error e;
	co_moment end;
	int fd;

	if (strlen(path) >= sizeof(sun.sun_path)) {
		warnx("%s: too long", path);
		return (-1);
	}
	memcpy(sun.sun_path, path, strlen(path) + 1);
	for (end = co_after(WAIT_MS); co_left(end) > 0; (void)usleep(50000)) {
		if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
			return (-1);
		if (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0) {
			shim = shim_new(fd, 0, &handlers, NULL, &e);
			if (shim == NULL)
				return (-1);
			if (wait_for(&ready) == 0)
				return (0);
			/* It boots for longer than a shim has to answer. */
			shim_free(shim);
			shim = NULL;
		} else
			(void)close(fd);
		if (waitpid(qemu, NULL, WNOHANG) == qemu)
			break;
	}
	warnx("no machine");
	return (-1);
}

/* The newest kernel that is there, and its modules. */
static int
find_kernel(char *kernel, char *modules, size_t size)
{
	const char *version;
	glob_t g;
	int ok;

	ok = glob(KERNELS "/boot/vmlinuz-*", 0, NULL, &g) == 0;
	if (ok) {
		(void)snprintf(kernel, size, "%s",
		    g.gl_pathv[g.gl_pathc - 1]);
		version = strrchr(kernel, '/') + strlen("/vmlinuz-");
		(void)snprintf(modules, size, KERNELS "/lib/modules/%s",
		    version);
		globfree(&g);
	} else
		warnx("no kernel for guests; see make deps");
	return (ok ? 0 : -1);
}

static int
make_initrd(const char *base, const char *modules)
{
	char initrd[PATH_MAX], sh[PATH_MAX], shto[PATH_MAX + 8];
	const char *const argv[] = { MKINITRD, "-k", modules, "-i", INIT,
	    "-s", SHIM, "-f", "/bin/busybox:bin/busybox", "-f", shto, "-f",
	    GUEST_LOAD ":bin/guest_load", "-o", initrd, NULL };
	struct co_run r = { .argv = argv };
	struct co_result res;
	struct co_error e;

	(void)snprintf(initrd, sizeof(initrd), "%s/initrd", base);
	(void)snprintf(sh, sizeof(sh), "%s/sh", base);
	(void)snprintf(shto, sizeof(shto), "%s:bin/sh", sh);
	if (symlink("busybox", sh) == -1 || co_run(&r, &res, &e) == -1) {
		warnx("no initrd");
		return (-1);
	}
	if (res.status != 0)
		warnx("mkinitrd: %s", res.out);
	free(res.out);
	return (res.status == 0 ? 0 : -1);
}

static int
serve(const char *base, struct mount *m)
{
	char sock[M_MAX][PATH_MAX], tag[PATH_MAX + 16], source[PATH_MAX + 16];
	const char *const virtiofsd[] = { "/usr/lib/qemu/virtiofsd", tag,
	    "-o", source, "-o", "cache=none", "-o", "log_level=err", NULL };
	const char *const diod[] = { "diod", "-f", "-n", "-c",
	    "/dev/null", "-L", "stderr", "-e", m[M_DIOD].dir, "-l",
	    sock[M_DIOD], NULL };
	int i;

	for (i = 0; i < M_MAX; i++) {
		if (mount_places(&m[i], base, names[i]) == -1)
			return (-1);
		(void)snprintf(m[i].at, sizeof(m[i].at), "/mnt/%s",
		    names[i]);
		(void)snprintf(sock[i], sizeof(sock[i]), "%s/%s.s", base,
		    names[i]);
	}
	(void)snprintf(tag, sizeof(tag), "--socket-path=%s",
	    sock[M_VIRTIOFSD]);
	(void)snprintf(source, sizeof(source), "source=%s",
	    m[M_VIRTIOFSD].dir);
	if (mount_serve(&m[M_VHOST], base, names[M_VHOST], "vhost:",
	    sock[M_VHOST], OPTIONS) == -1 || mount_serve(&m[M_NINE], base,
	    names[M_NINE], "9p:unix:", sock[M_NINE], OPTIONS) == -1 ||
	    mount_spawn(&m[M_VIRTIOFSD], base, virtiofsd,
	    sock[M_VIRTIOFSD]) == -1 ||
	    mount_spawn(&m[M_DIOD], base, diod, sock[M_DIOD]) == -1)
		return (-1);
	return (0);
}

static int
boot(const char *base, const char *kernel)
{
	char initrd[PATH_MAX + 16], vhost[PATH_MAX + 64];
	char virtiofsd[PATH_MAX + 64], net[2 * PATH_MAX + 256];
	char fsdev[PATH_MAX + 128], port[PATH_MAX + 64], sock[PATH_MAX + 16];
	char log[PATH_MAX + 16];
	const char *const argv[] = { "qemu-system-x86_64", "-accel",
	    "tcg,thread=multi", "-M", "q35", "-cpu", "max", "-nodefaults",
	    "-no-user-config", "-display", "none", "-no-reboot", "-m", "512",
	    "-smp", "2", "-object",
	    "memory-backend-memfd,id=mem,size=512M,share=on", "-numa",
	    "node,memdev=mem", "-kernel", kernel, "-initrd", initrd,
	    "-append", "quiet panic=-1 coppice.channel=serial:coppice",
	    "-device", "virtio-serial-pci", "-chardev", port, "-device",
	    "virtserialport,chardev=shim,name=coppice",
	    "-chardev", vhost, "-device",
	    "vhost-user-fs-pci,chardev=v,tag=vhost", "-chardev", virtiofsd,
	    "-device", "vhost-user-fs-pci,chardev=w,tag=virtiofsd",
	    "-netdev", net, "-device", "virtio-net-pci,netdev=n", "-fsdev",
	    fsdev, "-device", "virtio-9p-pci,fsdev=q,mount_tag=virtio9p",
	    NULL };

	(void)snprintf(initrd, sizeof(initrd), "%s/initrd", base);
	(void)snprintf(sock, sizeof(sock), "%s/shim.s", base);
	(void)snprintf(log, sizeof(log), "%s/log", base);
	(void)snprintf(port, sizeof(port),
	    "socket,id=shim,path=%s,server=on,wait=off", sock);
	(void)snprintf(vhost, sizeof(vhost), "socket,id=v,path=%s/vhost.s",
	    base);
	(void)snprintf(virtiofsd, sizeof(virtiofsd),
	    "socket,id=w,path=%s/virtiofsd.s", base);
	(void)snprintf(net, sizeof(net), "user,id=n,restrict=on,"
	    "guestfwd=tcp:10.0.2.100:564-unix:%s/nine.s,"
	    "guestfwd=tcp:10.0.2.101:565-unix:%s/diod.s", base, base);
	(void)snprintf(fsdev, sizeof(fsdev), "local,id=q,path=%s/virtio9p,"
	    "security_model=passthrough", base);
	if ((qemu = mount_run(argv, log)) == -1)
		return (-1);
	return (meet(sock));
}

int
machine_start(const char *base, struct mount *m)
{
	static const char nine[] = "version=9p2000.L,cache=none,"
	    "access=client,uname=root,msize=131072";
	char kernel[PATH_MAX], modules[PATH_MAX], text[2 * PATH_MAX];

	if (find_kernel(kernel, modules, sizeof(kernel)) == -1 ||
	    make_initrd(base, modules) == -1 || serve(base, m) == -1 ||
	    boot(base, kernel) == -1)
		return (-1);
	(void)snprintf(text, sizeof(text),
	    "set -e; busybox --install -s /bin;"
	    "cd /mnt; mkdir vhost virtiofsd nine diod virtio9p;"
	    "ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up;"
	    "mount -t virtiofs vhost vhost;"
	    "mount -t virtiofs virtiofsd virtiofsd;"
	    "mount -t 9p -o trans=virtio,%s virtio9p virtio9p;"
	    "mount -t 9p -o trans=tcp,%s 10.0.2.100 nine;"
	    "mount -t 9p -o trans=tcp,port=565,%s,aname=%s 10.0.2.101 diod",
	    nine, nine, nine, m[M_DIOD].dir);
	return (command(text));
}

double
machine_load(const char *load, const char *at, unsigned int n, size_t size)
{
	char text[PATH_MAX + 128];

	(void)snprintf(text, sizeof(text), "guest_load %s %s %u %zu", load,
	    at, n, size);
	return (command(text) == -1 ? -1 : strtod(output, NULL));
}

void
machine_stop(struct mount *m)
{
	int i;

	shim_free(shim);
	shim = NULL;
	if (qemu > 0) {
		(void)kill(qemu, SIGKILL);
		(void)waitpid(qemu, NULL, 0);
	}
	qemu = -1;
	for (i = 0; i < M_MAX; i++)
		mount_close(&m[i]);
}

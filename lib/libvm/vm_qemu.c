/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * QEMU's arguments.  In its options a comma within a value is doubled.
 */

#include <stdlib.h>
#include <string.h>

#include "vm_internal.h"

struct render {
	const struct vmspec *vm;
	const struct vm_qemu *q;
	struct vm_args	*a;
	const char	*bus;		/* end of the names of devices */
};

/* A value, quoted, at the end of the last argument. */
static void
value(struct vm_args *a, const char *s)
{
	char *last, *p, *to;

	if (a->failed)
		return;
	last = a->v[a->n - 1];
	p = realloc(last, strlen(last) + 2 * strlen(s) + 1);
	if (p == NULL) {
		a->failed = true;
		return;
	}
	a->v[a->n - 1] = p;
	for (to = p + strlen(p); *s != '\0'; s++) {
		*to++ = *s;
		if (*s == ',')
			*to++ = ',';
	}
	*to = '\0';
}

static const char *
accel_name(enum vm_accel accel)
{

	switch (accel) {
	case VM_KVM:
		return ("kvm");
	case VM_HVF:
		return ("hvf");
	case VM_WHPX:
		return ("whpx,kernel-irqchip=off");
	case VM_TCG:
		break;
	}
	return ("tcg,thread=multi");
}

static const char *
machine_name(const struct render *r)
{

	if (r->vm->arch == VM_AARCH64)
		return (r->q->accel == VM_TCG ? "virt,gic-version=3" :
		    "virt,gic-version=host");
	if (r->q->machine == VM_MACHINE_PCI)
		return ("q35,usb=off,vmport=off,smbus=off,sata=off,"
		    "i8042=off,hpet=off,graphics=off");
	/* Software has no other clock than the old ones. */
	return (r->q->accel == VM_TCG ?
	    "microvm,x-option-roms=off,rtc=on" :
	    "microvm,x-option-roms=off,pic=off,pit=off,rtc=on");
}

static const char *
memory_object(enum vm_host host)
{

	switch (host) {
	case VM_LINUX:
		return ("memory-backend-memfd");
	case VM_MACOS:
		return ("memory-backend-shm");
	case VM_WINDOWS:
		break;
	}
	return ("memory-backend-ram");
}

static void
board(struct render *r)
{
	const struct vmspec *vm = r->vm;
	char name[VM_NAME_SIZE], uuid[VM_UUID_SIZE];
	unsigned long long mib = vm->memory / MIB;

	vm_option(r->a, "-name", "%s", vm_name(vm, name));
	vm_option(r->a, "-uuid", "%s", vm_uuid(vm, uuid));
	vm_arg(r->a, "-no-user-config");
	vm_arg(r->a, "-nodefaults");
	vm_option(r->a, "-display", "none");
	/* A machine that ended stays to be looked at. */
	vm_option(r->a, "-action", "reboot=shutdown,shutdown=pause");
	vm_option(r->a, "-machine", "%s,memory-backend=mem",
	    machine_name(r));
	vm_option(r->a, "-accel", "%s", accel_name(r->q->accel));
	vm_option(r->a, "-cpu", "%s", r->q->accel == VM_KVM ||
	    r->q->accel == VM_HVF ? "host" : "max");
	vm_option(r->a, "-smp", "%u", vm->cpus);
	vm_option(r->a, "-m", "%lluM", mib);
	vm_option(r->a, "-object", "%s,id=mem,size=%lluM,share=%s",
	    memory_object(r->q->host), mib,
	    r->q->host == VM_WINDOWS ? "off" : "on");
	vm_option(r->a, "-kernel", "%s", vm->kernel);
	if (vm->initrd != NULL)
		vm_option(r->a, "-initrd", "%s", vm->initrd);
	vm_option(r->a, "-append", "%s", vm->cmdline);
}

/* Where QEMU can be kept from running programs or gaining privileges. */
static void
confine(struct render *r)
{

	if (r->q->host == VM_LINUX)
		vm_option(r->a, "-sandbox", "on,obsolete=deny,"
		    "elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
}

static void
server_at(struct render *r, const char *id, const char *path)
{

	vm_option(r->a, "-chardev", "socket,id=%s,server=on,wait=off,path=",
	    id);
	value(r->a, path);
}

static void
always(struct render *r)
{

	vm_option(r->a, "-object", "rng-builtin,id=rng");
	vm_option(r->a, "-device", "virtio-rng-%s,rng=rng", r->bus);
	vm_option(r->a, "-device",
	    "virtio-balloon-%s,free-page-reporting=on", r->bus);
	vm_option(r->a, "-chardev", "stdio,id=console,signal=off");
	vm_option(r->a, "-serial", "chardev:console");
	vm_option(r->a, "-device", "virtio-serial-%s,id=ports,max_ports=%d",
	    r->bus, 2 + VM_SHARES);
	server_at(r, "control", r->vm->control);
	vm_option(r->a, "-device", "virtserialport,bus=ports.0,nr=1,"
	    "chardev=control,name=" VM_PORT_CONTROL);
	if (r->vm->monitor == NULL)
		return;
	server_at(r, "monitor", r->vm->monitor);
	vm_option(r->a, "-mon", "chardev=monitor,mode=control");
}

static void
disk(struct render *r, size_t i)
{
	const struct vm_disk *d = &r->vm->disk[i];

	vm_option(r->a, "-blockdev", "driver=%s,node-name=disk%zu,"
	    "read-only=%s,discard=unmap,file.driver=file,file.filename=",
	    d->qcow2 ? "qcow2" : "raw", i, d->readonly ? "on" : "off");
	value(r->a, d->path);
	vm_option(r->a, "-device", "virtio-blk-%s,drive=disk%zu,serial=%s",
	    r->bus, i, d->tag);
}

static void
share(struct render *r, size_t i)
{
	const struct vm_share *s = &r->vm->share[i];

	vm_option(r->a, "-chardev", "socket,id=share%zu,path=", i);
	value(r->a, s->socket);
	if (s->stream)
		vm_option(r->a, "-device", "virtserialport,bus=ports.0,"
		    "nr=%zu,chardev=share%zu,name=" VM_PORT_SHARE "%s",
		    2 + i, i, s->tag);
	else
		vm_option(r->a, "-device", "vhost-user-fs-%s,"
		    "chardev=share%zu,tag=%s,queue-size=1024", r->bus, i,
		    s->tag);
}

static void
nic(struct render *r)
{
	const struct vm_nic *n = &r->vm->nic;
	char mac[VM_MAC_SIZE];

	if (n->tap != NULL)
		vm_option(r->a, "-netdev", "tap,id=net,ifname=%s,script=no,"
		    "downscript=no", n->tap);
	else {
		vm_option(r->a, "-netdev", "stream,id=net,server=off,"
		    "addr.type=unix,addr.path=");
		value(r->a, n->socket);
	}
	/* A card on a bus brings code to boot from, which nobody needs. */
	vm_option(r->a, "-device", "virtio-net-%s,netdev=net,mac=%s%s",
	    r->bus, vm_mac_text(n->mac, mac),
	    strcmp(r->bus, "pci") == 0 ? ",romfile=" : "");
}

static int
possible(const struct vmspec *vm, const struct vm_qemu *q,
    struct co_error *e)
{

	if (q->machine == VM_MACHINE_MICROVM && vm->arch != VM_X86_64)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "microvm",
		    "QEMU's machine \"microvm\" is for x86_64 only"));
	if (q->host != VM_WINDOWS)
		return (0);
	for (size_t i = 0; i < vm->nshares; i++)
		if (!vm->share[i].stream)
			return (co_error_set(e, CO_ESYS_UNSUPPORTED,
			    vm->share[i].tag, "Windows has no vhost-user; "
			    "serve the folder by 9P"));
	if (vm->nic.tap != NULL)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, vm->nic.tap,
		    "use a gateway in user space on Windows"));
	return (0);
}

int
vm_qemu(const struct vmspec *vm, const struct vm_qemu *q,
    struct vm_args *args, struct co_error *e)
{
	struct render r = { .vm = vm, .q = q, .a = args,
	    .bus = q->machine == VM_MACHINE_MICROVM ? "device" : "pci" };

	memset(args, 0, sizeof(*args));
	if (possible(vm, q, e) != 0)
		return (-1);
	vm_arg(args, q->program);
	board(&r);
	confine(&r);
	always(&r);
	for (size_t i = 0; i < vm->ndisks; i++)
		disk(&r, i);
	for (size_t i = 0; i < vm->nshares; i++)
		share(&r, i);
	if (vm_has_nic(vm))
		nic(&r);
	return (vm_args_done(args, e));
}

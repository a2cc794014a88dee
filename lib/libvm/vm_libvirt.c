/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A domain of libvirt's QEMU driver.
 */

#include <stdlib.h>
#include <string.h>

#include "vm_internal.h"

static void
quoted(struct co_buf *b, const char *s)
{
	static const char special[] = "&<>'\"";
	static const char *const entity[] = { "&amp;", "&lt;", "&gt;",
	    "&apos;", "&quot;" };
	const char *p;

	for (; *s != '\0'; s++) {
		p = strchr(special, *s);
		if (p != NULL)
			co_buf_printf(b, "%s", entity[p - special]);
		else
			co_buf_add(b, s, 1);
	}
}

/* An element with text, or with one attribute. */
static void
element(struct co_buf *b, const char *indent, const char *name,
    const char *text)
{

	co_buf_printf(b, "%s<%s>", indent, name);
	quoted(b, text);
	co_buf_printf(b, "</%s>\n", name);
}

static void
attribute(struct co_buf *b, const char *before, const char *value,
    const char *after)
{

	co_buf_printf(b, "%s'", before);
	quoted(b, value);
	co_buf_printf(b, "'%s\n", after);
}

static const char *
domain_type(enum vm_accel accel)
{

	switch (accel) {
	case VM_KVM:
		return ("kvm");
	case VM_HVF:
		return ("hvf");
	case VM_TCG:
	case VM_WHPX:
		break;
	}
	return ("qemu");
}

static void
board(struct co_buf *b, const struct vmspec *vm, const struct vm_qemu *q)
{
	char buf[64];
	bool x86 = vm->arch == VM_X86_64;

	co_buf_printf(b, "<domain type='%s'>\n", domain_type(q->accel));
	element(b, "  ", "name", vm_name(vm, buf));
	element(b, "  ", "uuid", vm_uuid(vm, buf));
	co_buf_printf(b, "  <metadata>\n"
	    "    <coppice:sandbox xmlns:coppice='urn:coppice:1' id='%s'/>\n"
	    "  </metadata>\n", vm->id);
	co_buf_printf(b, "  <memory unit='MiB'>%llu</memory>\n",
	    (unsigned long long)(vm->memory / MIB));
	co_buf_printf(b, "  <memoryBacking>\n"
	    "    <source type='%s'/>\n"
	    "    <access mode='shared'/>\n"
	    "  </memoryBacking>\n", q->host == VM_LINUX ? "memfd" : "file");
	co_buf_printf(b, "  <vcpu>%u</vcpu>\n", vm->cpus);
	co_buf_printf(b, "  <os>\n    <type arch='%s' machine='%s'>hvm"
	    "</type>\n", x86 ? "x86_64" : "aarch64", x86 ? "q35" : "virt");
	element(b, "    ", "kernel", vm->kernel);
	if (vm->initrd != NULL)
		element(b, "    ", "initrd", vm->initrd);
	element(b, "    ", "cmdline", vm->cmdline);
	co_buf_printf(b, "  </os>\n  <features>\n    <acpi/>\n%s"
	    "  </features>\n", x86 ? "" : "    <gic version='3'/>\n");
	co_buf_printf(b, "  <cpu mode='%s'/>\n", q->accel == VM_TCG ?
	    "maximum" : "host-passthrough");
	co_buf_printf(b, "  <on_poweroff>destroy</on_poweroff>\n"
	    "  <on_reboot>destroy</on_reboot>\n"
	    "  <on_crash>destroy</on_crash>\n");
}

static void
disk(struct co_buf *b, const struct vm_disk *d, size_t i)
{

	co_buf_printf(b, "    <disk type='file' device='disk'>\n"
	    "      <driver name='qemu' type='%s' discard='unmap'/>\n",
	    d->qcow2 ? "qcow2" : "raw");
	attribute(b, "      <source file=", d->path, "/>");
	co_buf_printf(b, "      <target dev='vd%c' bus='virtio'/>\n",
	    (char)('a' + i));
	if (d->readonly)
		co_buf_printf(b, "      <readonly/>\n");
	element(b, "      ", "serial", d->tag);
	co_buf_printf(b, "    </disk>\n");
}

/* A port inside, and the socket that it leads to. */
static void
channel(struct co_buf *b, const char *mode, const char *path,
    const char *prefix, const char *name)
{

	co_buf_printf(b, "    <channel type='unix'>\n"
	    "      <source mode='%s'", mode);
	attribute(b, " path=", path, "/>");
	co_buf_printf(b, "      <target type='virtio' name='%s%s'/>\n"
	    "    </channel>\n", prefix, name);
}

static void
share(struct co_buf *b, const struct vm_share *s)
{

	if (s->stream) {
		channel(b, "connect", s->socket, VM_PORT_SHARE, s->tag);
		return;
	}
	co_buf_printf(b, "    <filesystem type='mount'>\n"
	    "      <driver type='virtiofs' queue='1024'/>\n");
	attribute(b, "      <source socket=", s->socket, "/>");
	attribute(b, "      <target dir=", s->tag, "/>");
	co_buf_printf(b, "    </filesystem>\n");
}

static void
nic(struct co_buf *b, const struct vm_nic *n)
{
	char mac[VM_MAC_SIZE];

	co_buf_printf(b, "    <interface type='ethernet'>\n");
	attribute(b, "      <mac address=", vm_mac_text(n->mac, mac), "/>");
	attribute(b, "      <target dev=", n->tap, " managed='no'/>");
	co_buf_printf(b, "      <model type='virtio'/>\n"
	    "      <rom enabled='no'/>\n    </interface>\n");
}

static void
devices(struct co_buf *b, const struct vmspec *vm, const struct vm_qemu *q)
{

	co_buf_printf(b, "  <devices>\n");
	element(b, "    ", "emulator", q->program);
	for (size_t i = 0; i < vm->ndisks; i++)
		disk(b, &vm->disk[i], i);
	co_buf_printf(b, "    <controller type='usb' model='none'/>\n"
	    "    <controller type='virtio-serial' index='0' ports='%d'/>\n",
	    2 + VM_SHARES);
	channel(b, "bind", vm->control, VM_PORT_CONTROL, "");
	for (size_t i = 0; i < vm->nshares; i++)
		share(b, &vm->share[i]);
	if (vm->nic.tap != NULL)
		nic(b, &vm->nic);
	co_buf_printf(b, "    <serial type='unix'>\n");
	attribute(b, "      <source mode='bind' path=", vm->console, "/>");
	co_buf_printf(b, "      <target port='0'/>\n    </serial>\n"
	    "    <rng model='virtio'>\n"
	    "      <backend model='builtin'/>\n    </rng>\n"
	    "    <memballoon model='virtio' freePageReporting='on'/>\n"
	    "  </devices>\n");
}

static int
possible(const struct vmspec *vm, const struct vm_qemu *q,
    struct co_error *e)
{

	if (q->accel == VM_WHPX || q->host == VM_WINDOWS)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "libvirt",
		    "there is no libvirt on Windows; use the backend "
		    "\"qemu\""));
	if (q->machine == VM_MACHINE_MICROVM)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "microvm",
		    "libvirt has no machine \"microvm\"; use the backend "
		    "\"qemu\""));
	if (vm->nic.socket != NULL)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, vm->nic.socket,
		    "libvirt has no interface over a socket; use a tap"));
	if (vm->console == NULL)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, "console",
		    "virtual machine: console: expected an absolute path"));
	return (0);
}

int
vm_libvirt(const struct vmspec *vm, const struct vm_qemu *q, char **xml,
    struct co_error *e)
{
	struct co_buf b = { 0 };

	*xml = NULL;
	if (possible(vm, q, e) != 0)
		return (-1);
	board(&b, vm, q);
	devices(&b, vm, q);
	co_buf_printf(&b, "</domain>\n");
	return (vm_text_done(&b, xml, e));
}

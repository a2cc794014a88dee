/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * bhyve, by its configuration variables, and grub-bhyve, which loads a Linux
 * kernel for it.  In the value of a variable "%" is doubled.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm_internal.h"

/* Lines of a file, that become arguments in the end. */
struct render {
	const struct vmspec *vm;
	struct co_buf	 text;
	unsigned int	 slot;		/* on the bus */
};

static void put(struct render *, const char *, const char *, ...)
    CO_PRINTF(3, 4);

/* Let the variable, which the rest names, have this value. */
static void
put(struct render *r, const char *value, const char *fmt, ...)
{
	va_list ap;
	char name[64];

	va_start(ap, fmt);
	(void)vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	co_buf_printf(&r->text, "%s=", name);
	for (; *value != '\0'; value++)
		co_buf_printf(&r->text, *value == '%' ? "%%%%" : "%c",
		    *value);
	co_buf_printf(&r->text, "\n");
}

static void
board(struct render *r)
{
	char buf[64];

	put(r, vm_name(r->vm, buf), "name");
	put(r, vm_uuid(r->vm, buf), "uuid");
	(void)snprintf(buf, sizeof(buf), "%u", r->vm->cpus);
	put(r, buf, "cpus");
	(void)snprintf(buf, sizeof(buf), "%lluM",
	    (unsigned long long)(r->vm->memory / MIB));
	put(r, buf, "memory.size");
	put(r, "true", "acpi_tables");
	put(r, "false", "rtc.use_localtime");
	put(r, "true", "destroy_on_poweroff");
	if (r->vm->arch == VM_X86_64) {
		put(r, "true", "x86.x2apic");
		put(r, "false", "x86.strictmsr");
		put(r, "true", "x86.vmexit_on_hlt");
		put(r, "true", "x86.vmexit_on_pause");
		put(r, "lpc", "pci.0.31.0.device");
		put(r, "stdio", "lpc.com1.path");
	} else
		put(r, "stdio", "console");
	put(r, "hostbridge", "pci.0.0.0.device");
}

static void
device(struct render *r, const char *model)
{

	put(r, model, "pci.0.%u.0.device", ++r->slot);
}

static void
disk(struct render *r, const struct vm_disk *d)
{

	device(r, "virtio-blk");
	put(r, d->path, "pci.0.%u.0.path", r->slot);
	put(r, d->tag, "pci.0.%u.0.ser", r->slot);
	if (d->readonly)
		put(r, "true", "pci.0.%u.0.ro", r->slot);
}

static void
share(struct render *r, const struct vm_share *s)
{

	device(r, "virtio-9p");
	put(r, s->tag, "pci.0.%u.0.sharename", r->slot);
	put(r, s->folder, "pci.0.%u.0.path", r->slot);
	if (s->readonly)
		put(r, "true", "pci.0.%u.0.ro", r->slot);
}

static void
nic(struct render *r)
{
	char mac[VM_MAC_SIZE];

	device(r, "virtio-net");
	put(r, r->vm->nic.tap, "pci.0.%u.0.backend", r->slot);
	put(r, vm_mac_text(r->vm->nic.mac, mac), "pci.0.%u.0.mac", r->slot);
}

static int
possible(const struct vmspec *vm, struct co_error *e)
{

	for (size_t i = 0; i < vm->ndisks; i++)
		if (vm->disk[i].qcow2)
			return (co_error_set(e, CO_ESYS_UNSUPPORTED,
			    vm->disk[i].tag,
			    "bhyve has no qcow2 disks; use a raw one"));
	for (size_t i = 0; i < vm->nshares; i++)
		if (vm->share[i].folder == NULL)
			return (co_error_set(e, CO_ESYS_UNSUPPORTED,
			    vm->share[i].tag, "bhyve serves folders itself; "
			    "mount it on the host by fusefs"));
	if (vm->nic.socket != NULL)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, vm->nic.socket,
		    "bhyve has no interface over a socket; use a tap"));
	return (0);
}

int
vm_bhyve_config(const struct vmspec *vm, char **text, struct co_error *e)
{
	struct render r = { .vm = vm };

	*text = NULL;
	if (possible(vm, e) != 0)
		return (-1);
	board(&r);
	device(&r, "virtio-rnd");
	device(&r, "virtio-console");
	put(&r, VM_PORT_CONTROL, "pci.0.%u.0.port.0.name", r.slot);
	put(&r, vm->control, "pci.0.%u.0.port.0.path", r.slot);
	for (size_t i = 0; i < vm->ndisks; i++)
		disk(&r, &vm->disk[i]);
	for (size_t i = 0; i < vm->nshares; i++)
		share(&r, &vm->share[i]);
	if (vm->nic.tap != NULL)
		nic(&r);
	return (vm_text_done(&r.text, text, e));
}

int
vm_bhyve(const struct vmspec *vm, struct vm_args *args, struct co_error *e)
{
	char *line, *next, *text;

	memset(args, 0, sizeof(*args));
	if (vm_bhyve_config(vm, &text, e) != 0)
		return (-1);
	vm_arg(args, "bhyve");
	for (line = text; *line != '\0'; line = next + 1) {
		next = strchr(line, '\n');
		*next = '\0';
		vm_option(args, "-o", "%s", line);
	}
	free(text);
	return (vm_args_done(args, e));
}

int
vm_grub(const struct vmspec *vm, const char *map, struct vm_args *args,
    struct co_error *e)
{
	char name[VM_NAME_SIZE];

	memset(args, 0, sizeof(*args));
	vm_arg(args, "grub-bhyve");
	vm_option(args, "-m", "%s", map);
	vm_option(args, "-M", "%llu",
	    (unsigned long long)(vm->memory / MIB));
	vm_option(args, "-r", "host");
	vm_arg(args, vm_name(vm, name));
	return (vm_args_done(args, e));
}

/* A word of GRUB's language, which single quotes quote entirely. */
static int
word(struct co_buf *b, const char *s, struct co_error *e)
{

	if (strchr(s, '\'') != NULL)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, s,
		    "GRUB can't be told of \"%s\": it has a quote in it", s));
	co_buf_printf(b, "'%s'", s);
	return (0);
}

int
vm_grub_script(const struct vmspec *vm, char **text, struct co_error *e)
{
	struct co_buf b = { 0 };
	int ret;

	*text = NULL;
	co_buf_printf(&b, "linux ");
	ret = word(&b, vm->kernel, e);
	/* Its words are the kernel's, as they are. */
	co_buf_printf(&b, " %s\n", vm->cmdline);
	if (ret == 0 && vm->initrd != NULL) {
		co_buf_printf(&b, "initrd ");
		ret = word(&b, vm->initrd, e);
		co_buf_printf(&b, "\n");
	}
	co_buf_printf(&b, "boot\n");
	if (ret == 0)
		return (vm_text_done(&b, text, e));
	free(co_buf_take(&b));
	return (-1);
}

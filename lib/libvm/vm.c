/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What every hypervisor needs of a description: whether it can be told at
 * all, names, and the command line of its kernel.
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "vm_internal.h"

static bool
path_ok(const char *s)
{

	if (s == NULL || strlen(s) >= VM_PATH || (s[0] != '/' &&
	    (!isalpha((unsigned char)s[0]) || s[1] != ':')))
		return (false);
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return (false);
	return (true);
}

/* Also of an interface: nothing that means something to a hypervisor. */
static bool
tag_ok(const char *s)
{
	size_t n;

	if (s == NULL)
		return (false);
	n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789-_");
	return (n > 0 && n < VM_TAG && s[n] == '\0');
}

static int
bad(struct co_error *e, const char *what, const char *expected)
{

	return (co_error_set(e, CO_EPROTO_ARGUMENT, what,
	    "virtual machine: %s: expected %s", what, expected));
}

static int
check_disks(const struct vmspec *vm, struct co_error *e)
{

	if (vm->ndisks > VM_DISKS)
		return (bad(e, "disks", "at most 4"));
	for (size_t i = 0; i < vm->ndisks; i++) {
		if (!tag_ok(vm->disk[i].tag))
			return (bad(e, "disk",
			    "a name of letters, digits, \"-\" and \"_\""));
		if (!path_ok(vm->disk[i].path))
			return (bad(e, vm->disk[i].tag, "an absolute path"));
		for (size_t j = 0; j < i; j++)
			if (strcmp(vm->disk[i].tag, vm->disk[j].tag) == 0)
				return (bad(e, vm->disk[i].tag,
				    "disks with different names"));
	}
	return (0);
}

static int
check_shares(const struct vmspec *vm, struct co_error *e)
{

	if (vm->nshares > VM_SHARES)
		return (bad(e, "shares", "at most 8"));
	for (size_t i = 0; i < vm->nshares; i++) {
		if (!tag_ok(vm->share[i].tag))
			return (bad(e, "share",
			    "a name of letters, digits, \"-\" and \"_\""));
		if (!path_ok(vm->share[i].socket) ||
		    (vm->share[i].folder != NULL &&
		    !path_ok(vm->share[i].folder)))
			return (bad(e, vm->share[i].tag, "an absolute path"));
		for (size_t j = 0; j < i; j++)
			if (strcmp(vm->share[i].tag, vm->share[j].tag) == 0)
				return (bad(e, vm->share[i].tag,
				    "shares with different names"));
	}
	return (0);
}

static int
check_paths(const struct vmspec *vm, struct co_error *e)
{

	if (!path_ok(vm->kernel))
		return (bad(e, "kernel", "an absolute path"));
	if (vm->initrd != NULL && !path_ok(vm->initrd))
		return (bad(e, "initrd", "an absolute path"));
	if (!path_ok(vm->control))
		return (bad(e, "control", "an absolute path"));
	if (vm->monitor != NULL && !path_ok(vm->monitor))
		return (bad(e, "monitor", "an absolute path"));
	if (vm->console != NULL && !path_ok(vm->console))
		return (bad(e, "console", "an absolute path"));
	if (vm->nic.tap != NULL && !tag_ok(vm->nic.tap))
		return (bad(e, "tap", "the name of an interface"));
	if (vm->nic.socket != NULL && !path_ok(vm->nic.socket))
		return (bad(e, "gateway", "an absolute path"));
	return (0);
}

int
vm_check(const struct vmspec *vm, struct co_error *e)
{

	if (vm->id == NULL || !co_id_valid(vm->id))
		return (bad(e, "id", "32 hexadecimal digits"));
	if (vm->cpus < 1 || vm->cpus > VM_CPUS)
		return (bad(e, "processors", "1 to 64"));
	if (vm->memory < VM_MEMORY_MIN || vm->memory > VM_MEMORY_MAX ||
	    vm->memory % MIB != 0)
		return (bad(e, "memory",
		    "32 MiB to 1 TiB, in whole mebibytes"));
	if (vm->cmdline == NULL || strlen(vm->cmdline) > 2047 ||
	    strpbrk(vm->cmdline, "\r\n") != NULL)
		return (bad(e, "command line",
		    "one line of at most 2,047 characters"));
	if (check_paths(vm, e) != 0 || check_disks(vm, e) != 0)
		return (-1);
	return (check_shares(vm, e));
}

const char *
vm_name(const struct vmspec *vm, char buf[VM_NAME_SIZE])
{

	(void)snprintf(buf, VM_NAME_SIZE, "coppice-%.12s", vm->id);
	return (buf);
}

const char *
vm_uuid(const struct vmspec *vm, char buf[VM_UUID_SIZE])
{
	const char *s = vm->id;

	(void)snprintf(buf, VM_UUID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", s,
	    s + 8, s + 12, s + 16, s + 20);
	return (buf);
}

const char *
vm_mac_text(const uint8_t m[6], char buf[VM_MAC_SIZE])
{

	(void)snprintf(buf, VM_MAC_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x",
	    m[0], m[1], m[2], m[3], m[4], m[5]);
	return (buf);
}

bool
vm_has_nic(const struct vmspec *vm)
{

	return (vm->nic.tap != NULL || vm->nic.socket != NULL);
}

static void
setting(struct co_buf *b, const char *name, const char *value)
{

	if (value == NULL)
		return;
	if (strpbrk(value, " \t\r\n\"") != NULL)
		b->failed = true;
	co_buf_printf(b, " coppice.%s=%s", name, value);
}

char *
vm_cmdline(enum vm_arch arch, const char *channel,
    const struct vm_address *a, const char *more)
{
	struct co_buf b = { 0 };

	co_buf_printf(&b, "console=%s panic=-1 quiet",
	    arch == VM_AARCH64 ? "ttyAMA0" : "ttyS0");
	setting(&b, "channel", channel);
	if (a != NULL) {
		setting(&b, "ip", a->ip);
		setting(&b, "gw", a->gateway);
		setting(&b, "dns", a->dns);
		setting(&b, "host", a->host);
	}
	if (more != NULL)
		co_buf_printf(&b, " %s", more);
	co_buf_printf(&b, " -- --init");
	return (co_buf_take(&b));
}

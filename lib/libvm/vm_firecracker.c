/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Firecracker's configuration.  It runs on Linux only, has one kind of
 * everything, and neither folders nor ports: the shim listens on a vsock.
 */

#include <jansson.h>

#include "vm_internal.h"

#define	GUEST_CID	3
#define	CPUS_MAX	32

static int
possible(const struct vmspec *vm, struct co_error *e)
{

	if (vm->cpus > CPUS_MAX)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, "processors",
		    "Firecracker gives a machine at most 32 processors"));
	if (vm->nshares > 0)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED,
		    vm->share[0].tag, "Firecracker has no shared folders; "
		    "use another backend"));
	if (vm->nic.socket != NULL)
		return (co_error_set(e, CO_ESYS_UNSUPPORTED, vm->nic.socket,
		    "Firecracker has no interface over a socket; use a tap"));
	for (size_t i = 0; i < vm->ndisks; i++)
		if (vm->disk[i].qcow2)
			return (co_error_set(e, CO_ESYS_UNSUPPORTED,
			    vm->disk[i].tag,
			    "Firecracker has no qcow2 disks; use a raw one"));
	return (0);
}

static json_t *
boot(const struct vmspec *vm)
{

	return (json_pack("{s:s, s:s*, s:s}", "kernel_image_path", vm->kernel,
	    "initrd_path", vm->initrd, "boot_args", vm->cmdline));
}

static json_t *
drives(const struct vmspec *vm)
{
	json_t *list = json_array();

	for (size_t i = 0; i < vm->ndisks; i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:b}",
		    "drive_id", vm->disk[i].tag,
		    "path_on_host", vm->disk[i].path,
		    "is_root_device", 0,
		    "is_read_only", vm->disk[i].readonly));
	return (list);
}

static json_t *
interfaces(const struct vmspec *vm)
{
	json_t *list = json_array();
	char mac[VM_MAC_SIZE];

	if (vm->nic.tap != NULL)
		json_array_append_new(list, json_pack("{s:s, s:s, s:s}",
		    "iface_id", "eth0",
		    "guest_mac", vm_mac_text(vm->nic.mac, mac),
		    "host_dev_name", vm->nic.tap));
	return (list);
}

int
vm_firecracker(const struct vmspec *vm, char **text, struct co_error *e)
{
	json_t *all;

	*text = NULL;
	if (possible(vm, e) != 0)
		return (-1);
	all = json_pack("{s:o, s:o, s:{s:i, s:I, s:b}, s:o, s:{s:i, s:s},"
	    " s:{s:i, s:b, s:i}, s:{}}",
	    "boot-source", boot(vm),
	    "drives", drives(vm),
	    "machine-config",
	    "vcpu_count", (int)vm->cpus,
	    "mem_size_mib", (json_int_t)(vm->memory / MIB),
	    "smt", 0,
	    "network-interfaces", interfaces(vm),
	    "vsock",
	    "guest_cid", GUEST_CID,
	    "uds_path", vm->control,
	    "balloon",
	    "amount_mib", 0,
	    "deflate_on_oom", 1,
	    "stats_polling_interval_s", 0,
	    "entropy");
	if (all != NULL)
		*text = json_dumps(all, JSON_INDENT(2));
	json_decref(all);
	if (*text == NULL)
		return (co_error_set(e, CO_EPROTO_ARGUMENT, vm->id,
		    "Firecracker can't be told of this machine: is a path "
		    "not UTF-8?"));
	return (0);
}

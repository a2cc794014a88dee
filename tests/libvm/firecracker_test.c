/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Firecracker's file, field by field: every field that its documentation
 * requires is there, and nothing that it does not know, since it refuses
 * what it does not know.
 */

#include <jansson.h>

#include "golden.h"
#include "machines.h"

static struct vmspec
machine(void)
{
	struct vmspec vm = MACHINE_SMALL;

	vm.initrd = "/boot/initrd";
	vm.disk[0] = (struct vm_disk){ .tag = "root",
	    .path = "/disks/\"root\".img", .readonly = true };
	vm.disk[1] = (struct vm_disk){ .tag = "data",
	    .path = "/disks/data.img" };
	vm.ndisks = 2;
	vm.nic = (struct vm_nic){ .tap = "tap0", .mac = { 2, 0, 0, 0, 0, 1 } };
	return (vm);
}

/* All of these, and no others; "?" before those that may be missing. */
static void
fields(const json_t *o, const char *const *names)
{
	const char *key;
	json_t *v;
	size_t found = 0;

	ATF_REQUIRE(json_is_object(o));
	for (const char *const *n = names; *n != NULL; n++) {
		if (json_object_get(o, **n == '?' ? *n + 1 : *n) != NULL)
			found++;
		else
			ATF_CHECK_MSG(**n == '?', "no \"%s\"", *n);
	}
	json_object_foreach((json_t *)(uintptr_t)o, key, v)
		printf("%s\n", key);
	ATF_CHECK_EQ(json_object_size(o), found);
}

static json_t *
render(const struct vmspec *vm)
{
	struct co_error e;
	json_t *all;
	char *text;

	ATF_REQUIRE_EQ_MSG(0, vm_firecracker(vm, &text, &e), "%s",
	    e.message);
	all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	ATF_REQUIRE(all != NULL);
	free(text);
	return (all);
}

ATF_TC_WITHOUT_HEAD(known);
ATF_TC_BODY(known, tc)
{
	static const char *const top[] = { "boot-source", "drives",
	    "machine-config", "network-interfaces", "vsock", "balloon",
	    "entropy", NULL };
	static const char *const boot[] = { "kernel_image_path",
	    "?initrd_path", "boot_args", NULL };
	static const char *const drive[] = { "drive_id", "path_on_host",
	    "is_root_device", "is_read_only", NULL };
	static const char *const config[] = { "vcpu_count", "mem_size_mib",
	    "smt", NULL };
	static const char *const nic[] = { "iface_id", "guest_mac",
	    "host_dev_name", NULL };
	static const char *const vsock[] = { "guest_cid", "uds_path", NULL };
	static const char *const balloon[] = { "amount_mib",
	    "deflate_on_oom", "stats_polling_interval_s", NULL };
	struct vmspec vm = machine(), small = MACHINE_SMALL;
	json_t *all = render(&vm), *v;
	size_t i;

	fields(all, top);
	fields(json_object_get(all, "boot-source"), boot);
	json_array_foreach(json_object_get(all, "drives"), i, v)
		fields(v, drive);
	ATF_CHECK_EQ(2, i);
	fields(json_object_get(all, "machine-config"), config);
	json_array_foreach(json_object_get(all, "network-interfaces"), i, v)
		fields(v, nic);
	ATF_CHECK_EQ(1, i);
	fields(json_object_get(all, "vsock"), vsock);
	fields(json_object_get(all, "balloon"), balloon);
	json_decref(all);
	/* No initrd is no field, since null is not a path. */
	all = render(&small);
	fields(json_object_get(all, "boot-source"), boot);
	json_decref(all);
}

ATF_TC_WITHOUT_HEAD(text);
ATF_TC_BODY(text, tc)
{
	struct vmspec vm = machine();
	struct co_error e;
	char *s;

	ATF_REQUIRE_EQ(0, vm_firecracker(&vm, &s, &e));
	golden_check("full.firecracker", s);
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	struct vmspec vm = machine();
	struct co_error e;
	char *s;

	vm.cpus = 33;
	ATF_CHECK_EQ(-1, vm_firecracker(&vm, &s, &e));
	vm = machine();
	vm.disk[0].qcow2 = true;
	ATF_CHECK_EQ(-1, vm_firecracker(&vm, &s, &e));
	vm = machine();
	vm.nshares = 1;
	vm.share[0].tag = "work";
	ATF_CHECK_EQ(-1, vm_firecracker(&vm, &s, &e));
	vm = machine();
	vm.nic.socket = "/run/net";
	ATF_CHECK_EQ(-1, vm_firecracker(&vm, &s, &e));
	vm = machine();
	vm.kernel = "/\xff";
	ATF_CHECK_EQ(-1, vm_firecracker(&vm, &s, &e));
	ATF_CHECK(s == NULL);
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, known);
	ATF_TP_ADD_TC(tp, text);
	ATF_TP_ADD_TC(tp, refused);
	return (atf_no_error());
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The renderers against golden files, and what they and the check refuse.
 */

#include "golden.h"
#include "machines.h"

/* Paths that need quoting wherever they are. */
static const struct vmspec full = {
	.id = MACHINE_ID,
	.cpus = 4,
	.memory = UINT64_C(2048) << 20,
	.kernel = "/var/db/coppice/guest/vmlinuz",
	.initrd = "/var/db/coppice/guest/initrd",
	.cmdline = "console=ttyS0 panic=-1 coppice.ip=10.77.0.10/24 "
	    "coppice.channel=serial:coppice -- --init",
	.disk = {
		{ .tag = "root", .path = "/var/db/coppice/it's,100%.erofs",
		    .readonly = true },
		{ .tag = "data", .path = "/var/db/coppice/<a>&\"b\".img" },
	},
	.ndisks = 2,
	.share = {
		{ .tag = "work", .socket = "/run/vm/work,1.sock",
		    .folder = "/run/vm/work" },
		{ .tag = "lib", .socket = "/run/vm/lib.sock", .stream = true,
		    .folder = "/run/vm/lib", .readonly = true },
	},
	.nshares = 2,
	.nic = { .tap = "cp0123456789ab",
	    .mac = { 0x02, 0x63, 10, 77, 0, 10 } },
	.control = "/run/vm/control",
	.monitor = "/run/vm/monitor",
	.console = "/run/vm/console",
};

static char *
lines(struct vm_args *a)
{
	struct co_buf b = { 0 };

	for (size_t i = 0; i < a->n; i++)
		co_buf_printf(&b, "%s\n", a->v[i]);
	ATF_CHECK(a->v[a->n] == NULL);
	vm_args_free(a);
	return (co_buf_take(&b));
}

static void
sound(const struct vmspec *vm)
{
	struct co_error e;

	ATF_CHECK_EQ_MSG(0, vm_check(vm, &e), "%s", e.message);
}

static void
qemu(const char *file, const struct vmspec *vm, const struct vm_qemu *q)
{
	struct vm_args a;
	struct co_error e;

	sound(vm);
	ATF_REQUIRE_EQ_MSG(0, vm_qemu(vm, q, &a, &e), "%s", e.message);
	golden_check(file, lines(&a));
}

ATF_TC_WITHOUT_HEAD(qemu_linux);
ATF_TC_BODY(qemu_linux, tc)
{
	struct vm_qemu q = { .program = "qemu-system-x86_64" };
	struct vmspec small = MACHINE_SMALL;

	qemu("tcg.qemu", &full, &q);
	q.accel = VM_KVM;
	qemu("kvm.qemu", &full, &q);
	q.machine = VM_MACHINE_MICROVM;
	qemu("microvm.qemu", &full, &q);
	qemu("small.qemu", &small, &q);
	q.accel = VM_TCG;
	qemu("microvm_tcg.qemu", &small, &q);
}

ATF_TC_WITHOUT_HEAD(qemu_macos);
ATF_TC_BODY(qemu_macos, tc)
{
	const struct vm_qemu q = { .program = "qemu-system-aarch64",
	    .accel = VM_HVF, .host = VM_MACOS };
	struct vmspec vm = full;

	vm.arch = VM_AARCH64;
	vm.nic.tap = NULL;
	vm.nic.socket = "/run/vm/net";
	qemu("hvf.qemu", &vm, &q);
}

ATF_TC_WITHOUT_HEAD(qemu_windows);
ATF_TC_BODY(qemu_windows, tc)
{
	const struct vm_qemu q = {
	    .program = "C:\\Program Files\\qemu\\qemu-system-x86_64.exe",
	    .accel = VM_WHPX, .host = VM_WINDOWS };
	struct vmspec vm = full;
	struct vm_args a;
	struct co_error e;

	ATF_CHECK_EQ(-1, vm_qemu(&vm, &q, &a, &e));
	ATF_CHECK_EQ(CO_ESYS_UNSUPPORTED, e.code);
	vm.share[0].stream = true;
	ATF_CHECK_EQ(-1, vm_qemu(&vm, &q, &a, &e));
	vm.nic.tap = NULL;
	vm.nic.socket = "C:\\vm\\net";
	vm.kernel = "C:\\vm\\vmlinuz";
	qemu("whpx.qemu", &vm, &q);
}

static void
libvirt(const char *file, const struct vmspec *vm, const struct vm_qemu *q)
{
	struct co_error e;
	char *xml;

	sound(vm);
	ATF_REQUIRE_EQ_MSG(0, vm_libvirt(vm, q, &xml, &e), "%s", e.message);
	golden_check(file, xml);
}

ATF_TC_WITHOUT_HEAD(domains);
ATF_TC_BODY(domains, tc)
{
	struct vm_qemu q = { .program = "/usr/bin/qemu-system-x86_64",
	    .accel = VM_KVM };
	struct vmspec small = MACHINE_SMALL, vm = full;
	struct co_error e;
	char *xml;

	libvirt("kvm.xml", &full, &q);
	q.accel = VM_TCG;
	libvirt("tcg.xml", &small, &q);
	q.machine = VM_MACHINE_MICROVM;
	ATF_CHECK_EQ(-1, vm_libvirt(&small, &q, &xml, &e));
	q.machine = VM_MACHINE_PCI;
	small.console = NULL;
	ATF_CHECK_EQ(-1, vm_libvirt(&small, &q, &xml, &e));
	q = (struct vm_qemu){ .program = "/opt/local/bin/qemu-system-aarch64",
	    .accel = VM_HVF, .host = VM_MACOS };
	vm.arch = VM_AARCH64;
	libvirt("hvf.xml", &vm, &q);
	vm.nic.tap = NULL;
	vm.nic.socket = "/run/vm/net";
	ATF_CHECK_EQ(-1, vm_libvirt(&vm, &q, &xml, &e));
	ATF_CHECK(xml == NULL);
}

ATF_TC_WITHOUT_HEAD(bhyve);
ATF_TC_BODY(bhyve, tc)
{
	struct vmspec small = MACHINE_SMALL, vm = full;
	struct vm_args a;
	struct co_error e;
	char *text;

	ATF_REQUIRE_EQ(0, vm_bhyve_config(&full, &text, &e));
	golden_check("full.bhyve", text);
	ATF_REQUIRE_EQ(0, vm_bhyve(&small, &a, &e));
	golden_check("small.bhyve", lines(&a));
	ATF_REQUIRE_EQ(0, vm_grub(&full, "/run/vm/map", &a, &e));
	golden_check("full.grub", lines(&a));
	ATF_REQUIRE_EQ(0, vm_grub_script(&full, &text, &e));
	golden_check("full.grub.in", text);

	vm.kernel = "/it's";
	ATF_CHECK_EQ(-1, vm_grub_script(&vm, &text, &e));
	vm = full;
	vm.disk[0].qcow2 = true;
	ATF_CHECK_EQ(-1, vm_bhyve(&vm, &a, &e));
	vm = full;
	vm.share[0].folder = NULL;
	ATF_CHECK_EQ(-1, vm_bhyve(&vm, &a, &e));
	vm = full;
	vm.nic.socket = "/run/vm/net";
	ATF_CHECK_EQ(-1, vm_bhyve(&vm, &a, &e));
}

ATF_TC_WITHOUT_HEAD(cmdline);
ATF_TC_BODY(cmdline, tc)
{
	const struct vm_address a = { .ip = "10.77.0.10/24",
	    .gateway = "10.77.0.1", .dns = "10.77.0.1", .host = "try" };
	const struct vm_address evil = { .host = "x init=/bin/sh" };
	char *s;

	s = vm_cmdline(VM_X86_64, VM_CHANNEL_PORT, &a, "root=/dev/vda");
	ATF_CHECK_STREQ("console=ttyS0 panic=-1 quiet "
	    "coppice.channel=serial:coppice coppice.ip=10.77.0.10/24 "
	    "coppice.gw=10.77.0.1 coppice.dns=10.77.0.1 coppice.host=try "
	    "root=/dev/vda -- --init", s);
	free(s);
	s = vm_cmdline(VM_AARCH64, VM_CHANNEL_VSOCK, NULL, NULL);
	ATF_CHECK_STREQ("console=ttyAMA0 panic=-1 quiet "
	    "coppice.channel=vsock-listen:1024 -- --init", s);
	free(s);
	ATF_CHECK(vm_cmdline(VM_X86_64, VM_CHANNEL_PORT, &evil, NULL) ==
	    NULL);
}

#define	REFUSED(field, value) do {					\
	struct vmspec vm_ = full;					\
	struct co_error e_;						\
									\
	vm_.field = (value);						\
	ATF_CHECK_EQ_MSG(-1, vm_check(&vm_, &e_), #field " = " #value);	\
	ATF_CHECK_EQ(CO_EPROTO_ARGUMENT, e_.code);			\
} while (0)

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	char line[2100], path[1100];

	memset(line, 'x', sizeof(line));
	line[2099] = '\0';
	memset(path, '/', sizeof(path));
	path[1099] = '\0';
	sound(&full);
	REFUSED(id, NULL);
	REFUSED(id, "../../../../../../../../etc/pass");
	REFUSED(cpus, 0);
	REFUSED(cpus, 65);
	REFUSED(memory, 0);
	REFUSED(memory, (UINT64_C(64) << 20) + 1);
	REFUSED(memory, UINT64_C(2) << 40);
	REFUSED(kernel, NULL);
	REFUSED(kernel, "vmlinuz");
	REFUSED(kernel, path);
	REFUSED(initrd, "initrd");
	REFUSED(cmdline, NULL);
	REFUSED(cmdline, line);
	REFUSED(cmdline, "a\nboot");
	REFUSED(control, NULL);
	REFUSED(control, "/run/a\nb");
	REFUSED(monitor, "monitor");
	REFUSED(console, "console");
	REFUSED(nic.tap, "tap0,script=/bin/sh");
	REFUSED(nic.tap, "");
	REFUSED(nic.socket, "net");
	REFUSED(ndisks, 5);
	REFUSED(disk[0].tag, "data");
	REFUSED(disk[0].tag, "a,b");
	REFUSED(disk[0].tag, "longer-than-anybody-allows");
	REFUSED(disk[1].path, "disk.img");
	REFUSED(nshares, 9);
	REFUSED(share[0].tag, NULL);
	REFUSED(share[1].tag, "work");
	REFUSED(share[0].socket, NULL);
	REFUSED(share[0].folder, "work");
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, qemu_linux);
	ATF_TP_ADD_TC(tp, qemu_macos);
	ATF_TP_ADD_TC(tp, qemu_windows);
	ATF_TP_ADD_TC(tp, domains);
	ATF_TP_ADD_TC(tp, bhyve);
	ATF_TP_ADD_TC(tp, cmdline);
	ATF_TP_ADD_TC(tp, refused);
	return (atf_no_error());
}

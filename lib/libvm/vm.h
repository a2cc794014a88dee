/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * libvm: a virtual machine, described once, and told to each hypervisor in
 * its own words.
 *
 * A struct vmspec says what there is: processors, memory, a kernel that is
 * booted directly, disks, folders, an interface, a channel to the shim.  The
 * renderers turn it into arguments, XML or JSON.  They are pure: they look at
 * nothing but what they are given, and give the same text for the same
 * description.  A machine has a source of random numbers, a balloon that
 * reports free pages, a serial console, and else only what is described.
 *
 * The strings of a description stay the caller's.  Call vm_check() first; a
 * renderer believes a description that passed it, and quotes what its
 * language needs quoted.
 */

#ifndef VM_H
#define VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coppice.h"

#define	VM_DISKS	4
#define	VM_SHARES	8
#define	VM_CPUS		64
#define	VM_MEMORY_MIN	(UINT64_C(32) * 1024 * 1024)
#define	VM_MEMORY_MAX	(UINT64_C(1) << 40)
#define	VM_TAG		20	/* longest name of a disk or share */
#define	VM_PATH		1024

enum vm_arch { VM_X86_64, VM_AARCH64 };

struct vm_disk {
	const char	*tag;		/* its serial number inside */
	const char	*path;
	bool		 qcow2;		/* raw otherwise */
	bool		 readonly;
};

/* A folder, served by coppicefsd. */
struct vm_share {
	const char	*tag;
	const char	*socket;	/* where coppicefsd listens */
	bool		 stream;	/* 9P through a port of the machine;
					   otherwise vhost-user */
	const char	*folder;	/* where coppicefsd mounted it on the
					   host, for bhyve's own 9P */
	bool		 readonly;
};

struct vm_nic {
	const char	*tap;		/* name of the interface, or */
	const char	*socket;	/* of a gateway in user space */
	uint8_t		 mac[6];
};

struct vmspec {
	const char	*id;		/* of the sandbox, 32 hex digits */
	enum vm_arch	 arch;
	unsigned int	 cpus;
	uint64_t	 memory;	/* bytes, whole mebibytes */

	const char	*kernel;
	const char	*initrd;
	const char	*cmdline;	/* see vm_cmdline() */

	struct vm_disk	 disk[VM_DISKS];
	size_t		 ndisks;
	struct vm_share	 share[VM_SHARES];
	size_t		 nshares;
	struct vm_nic	 nic;		/* neither tap nor socket: none */

	const char	*control;	/* socket that the hypervisor makes: the
					   port of the shim */
	const char	*monitor;	/* socket that the hypervisor makes: its
					   own (QMP, API) */
	const char	*console;	/* socket that the hypervisor makes, for
					   those whose console is not their
					   standard output */
};

/* The names of ports inside. */
#define	VM_PORT_CONTROL	"coppice"
#define	VM_PORT_SHARE	"coppice.share."	/* and the tag */

/**
 * vm_check(vm, e):
 * Whether every hypervisor could be told this: the id, ranges, names of disks
 * and shares (letters, digits, "-", "_", no two alike), and paths (absolute
 * and without control characters).  Return 0, or -1 with what is wrong.
 */
int vm_check(const struct vmspec *, struct co_error *);

/* What the guest is told of its address; NULL: nothing. */
struct vm_address {
	const char	*ip;		/* with its prefix length */
	const char	*gateway;
	const char	*dns;
	const char	*host;		/* name */
};

/**
 * vm_cmdline(arch, channel, address, more):
 * Return the kernel's command line for a machine with our initrd, which the
 * caller frees: console, no reboot after a panic, ${channel} to the shim,
 * ${address} and ${more} if not NULL, and the shim's arguments.  NULL: out of
 * memory, or a value with a space in it.
 */
char *vm_cmdline(enum vm_arch, const char *, const struct vm_address *,
    const char *);

#define	VM_CHANNEL_PORT		"serial:" VM_PORT_CONTROL
#define	VM_CHANNEL_VSOCK	"vsock-listen:1024"

/* Arguments of a program, NULL after the last. */
struct vm_args {
	char		**v;
	size_t		 n, cap;
	bool		 failed;
};

void vm_args_free(struct vm_args *);

/*
 * QEMU.
 */
enum vm_accel { VM_TCG, VM_KVM, VM_HVF, VM_WHPX };
enum vm_machine { VM_MACHINE_PCI, VM_MACHINE_MICROVM };
enum vm_host { VM_LINUX, VM_MACOS, VM_WINDOWS };

struct vm_qemu {
	const char	*program;
	enum vm_accel	 accel;
	enum vm_machine	 machine;	/* q35 or virt; or microvm */
	enum vm_host	 host;		/* what memory can be shared by, and
					   how QEMU confines itself */
};

/**
 * vm_qemu(vm, q, args, e):
 * The arguments, the program first.  The console is QEMU's standard output.
 * Return 0, or -1: what QEMU does not offer on this host or machine.
 */
int vm_qemu(const struct vmspec *, const struct vm_qemu *, struct vm_args *,
    struct co_error *);

/**
 * vm_libvirt(vm, q, xml, e):
 * A domain of libvirt's QEMU driver, named "coppice-" and the first 12 digits
 * of the id, in text that the caller frees.
 */
int vm_libvirt(const struct vmspec *, const struct vm_qemu *, char **,
    struct co_error *);

/**
 * vm_bhyve(vm, args, e), vm_bhyve_config(vm, text, e):
 * bhyve(8), told by variables of bhyve_config(5): as arguments, the program
 * first, or as a file for -k.  The kernel is loaded before, by the arguments
 * of vm_grub().  The console is bhyve's standard output.
 */
int vm_bhyve(const struct vmspec *, struct vm_args *, struct co_error *);
int vm_bhyve_config(const struct vmspec *, char **, struct co_error *);

/**
 * vm_grub(vm, map, args, e), vm_grub_script(vm, text, e):
 * grub-bhyve for a Linux kernel: its arguments, with ${map} a file that the
 * caller made, empty, and what it reads from its standard input.
 */
int vm_grub(const struct vmspec *, const char *, struct vm_args *,
    struct co_error *);
int vm_grub_script(const struct vmspec *, char **, struct co_error *);

/**
 * vm_firecracker(vm, json, e):
 * The file for "firecracker --config-file".  The shim is reached by vsock
 * there; the control socket is that of the vsock.  The console is
 * Firecracker's standard output.
 */
int vm_firecracker(const struct vmspec *, char **, struct co_error *);

#endif /* VM_H */

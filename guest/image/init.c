/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * coppice-init: the first program of a Linux machine that boots from an
 * initrd of coppice-mkinitrd(8).  Loads the modules that lead to the host,
 * then becomes the shim.  Run by the kernel as modprobe, it loads what a
 * mount or a socket needs; there is nothing else in the initrd to do so.
 */

#include <sys/reboot.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define	DIR	"/lib/modules/"
#define	SHIM	"/sbin/coppice-shim"
#define	MAXARGS	64

static void
complain(const char *what, const char *why)
{

	dprintf(2, "coppice-init: %s: %s\n", what, why);
}

/* Load one file; that it is there already is fine. */
static bool
load(const char *name)
{
	char path[512];
	int error, fd;

	(void)snprintf(path, sizeof(path), DIR "%s", name);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1) {
		complain(path, strerror(errno));
		return (false);
	}
	error = syscall(SYS_finit_module, fd, "", 0) == 0 ? 0 : errno;
	(void)close(fd);
	/* ENODEV: a driver for hardware that is not here. */
	if (error == 0 || error == EEXIST || error == ENODEV)
		return (true);
	complain(path, strerror(error));
	return (false);
}

/*
 * Read a list: lines of a name and the files to be loaded for it, in order.
 * Load those of ${name}; false: it is not there, or one was not loaded.
 */
static bool
load_for(const char *name)
{
	bool ok = true, found = false;
	char line[4096], *p, *word;
	FILE *f;

	if ((f = fopen(DIR "list", "re")) == NULL) {
		complain(DIR "list", strerror(errno));
		return (false);
	}
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		word = strtok_r(line, " \n", &p);
		if (word == NULL || strcmp(word, name) != 0)
			continue;
		found = true;
		while ((word = strtok_r(NULL, " \n", &p)) != NULL)
			ok = load(word) && ok;
	}
	(void)fclose(f);
	return (found && ok);
}

/* The kernel writes "fs-9p" and "net-pf-40"; people also "fs_9p". */
static int
modprobe(int argc, char *argv[])
{
	char name[256], *p;

	if (argc < 2)
		return (1);
	(void)snprintf(name, sizeof(name), "%s", argv[argc - 1]);
	for (p = name; *p != '\0'; p++)
		if (*p == '_')
			*p = '-';
	return (load_for(name) ? 0 : 1);
}

int
main(int argc, char *argv[])
{
	static char shim[] = SHIM, init[] = "--init";
	char *args[MAXARGS + 3], *name;
	int i, n = 0;

	name = strrchr(argv[0], '/');
	if (strcmp(name != NULL ? name + 1 : argv[0], "modprobe") == 0)
		return (modprobe(argc, argv));
	if (getpid() != 1) {
		complain("usage", "runs as the first process of a machine");
		return (2);
	}
	/* Without one of these the host hears nothing; the shim tells. */
	(void)load_for("boot");
	args[n++] = shim;
	args[n++] = init;
	for (i = 1; i < argc && n < MAXARGS; i++)
		if (strcmp(argv[i], init) != 0)
			args[n++] = argv[i];
	args[n] = NULL;
	(void)execv(shim, args);
	complain(shim, strerror(errno));
	sync();
	(void)reboot(RB_POWER_OFF);
	return (1);
}

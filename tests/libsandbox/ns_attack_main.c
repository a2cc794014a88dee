/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * ns_attack name: run one attack; exit 0 if it was refused, 1 if it worked,
 * 3 if it could not be tried.  As "euid" tell by the exit status whether we
 * are root.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ns_attack.h"

int
main(int argc, char **argv)
{
	int error;

	if (argc != 2)
		return (3);
	if (strcmp(argv[1], "euid") == 0)
		return (geteuid() == 0 ? 0 : 1);
	for (size_t i = 0; i < nattacks; i++)
		if (strcmp(attacks[i].name, argv[1]) == 0) {
			error = attacks[i].run();
			printf("%s\n", error == 0 ? "worked" :
			    strerror(error));
			return (error == 0 ? 1 : 0);
		}
	return (3);
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Answer whoever connects with a word.
 *
 * usage: answer address port word
 */

#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <err.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int
main(int argc, char *argv[])
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	int c, s;

	if (argc != 4 || inet_pton(AF_INET, argv[1], &sin.sin_addr) != 1)
		errx(2, "usage: answer address port word");
	sin.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
	if ((s = socket(AF_INET, SOCK_STREAM, 0)) == -1 ||
	    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 },
	    sizeof(int)) == -1 ||
	    bind(s, (struct sockaddr *)&sin, sizeof(sin)) == -1 ||
	    listen(s, 8) == -1)
		err(1, "%s port %s", argv[1], argv[2]);
	/* Not longer than any test. */
	(void)alarm(600);
	while ((c = accept(s, NULL, NULL)) != -1) {
		(void)!write(c, argv[3], strlen(argv[3]));
		(void)close(c);
	}
	err(1, "accept");
}

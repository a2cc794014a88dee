/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Programs of the sandbox that talk TCP: a server that says "hi" and
 * echoes, and one who asks it.
 */

#ifndef PEER_H
#define	PEER_H

int peer_serve(const char *, const char *);
int peer_ask(const char *, const char *);

#endif /* PEER_H */

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The file of API keys, which coppicectl writes and the gateway reads: a
 * JSON object with "keys", a list.  Of a key only its id, which is its first
 * eight digits, and a scrypt(3) hash are kept.
 */

#ifndef KEY_FILE_H
#define KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_error;

#define	KEY_PREFIX	"e2b_"
#define	KEY_DIGITS	40		/* after the prefix */
#define	KEY_IDLEN	8
#define	KEY_HASHLEN	32
#define	KEY_SALTLEN	16
#define	KEYS_MAX	4096

struct key_entry {
	char		 id[KEY_IDLEN + 1];
	char		 name[65];
	char		 scope[8];	/* read, use, admin */
	unsigned char	 salt[KEY_SALTLEN], hash[KEY_HASHLEN];
	int64_t		 created;	/* seconds */
	uint64_t	 sandboxes, memory, rate;	/* 0: as configured */
};

/**
 * key_file_load(path, list, n, e):
 * Read the file; one that is not there has no keys.  The caller frees
 * ${list}.
 */
int key_file_load(const char *, struct key_entry **, size_t *,
    struct co_error *);

/**
 * key_file_save(path, list, n, e):
 * Replace the file, with mode 0640 and the group of its directory, which is
 * coppice where there is such a group.
 */
int key_file_save(const char *, const struct key_entry *, size_t,
    struct co_error *);

/**
 * key_hash(key, salt, hash):
 * Hash the text of a key; slow by intention.  Return 0, or -1.
 */
int key_hash(const char *, const unsigned char[KEY_SALTLEN],
    unsigned char[KEY_HASHLEN]);

/**
 * key_make(entry, key):
 * Make a new key: fill in id, salt and hash, and store its text.
 */
int key_make(struct key_entry *, char[sizeof(KEY_PREFIX) + KEY_DIGITS]);

/**
 * key_well_formed(key):
 * Tell whether ${key} looks like one.
 */
bool key_well_formed(const char *);

#endif /* KEY_FILE_H */

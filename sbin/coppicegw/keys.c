/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whose key a request has.  Hashing is slow, so it is done by a thread, and
 * a key that was right is remembered by a fast digest with a salt of this
 * process.
 */

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "gw.h"
#include "key_file.h"

#define	DIGEST	32
#define	CHECKS_MAX	64		/* hashed at a time */

struct key {
	struct key_entry entry;
	unsigned char	 digest[DIGEST];	/* of the right text */
	bool		 known;
	double		 tokens;	/* of the rate's bucket */
	uint64_t	 filled;	/* ms */
	unsigned int	 creating;
	bool		 revoked;
};

/* Keys live as long as the process: requests point to them. */
struct keys {
	char		*path;
	struct key	**list;
	size_t		 n;
	size_t		 active;
	struct timespec	 stamp;
	ino_t		 inode;
	bool		 loaded;
	unsigned char	 salt[16];
	unsigned int	 checks;
};

/* A request that waits for its key to be hashed. */
struct check {
	uv_work_t	 work;
	struct keys	*keys;
	struct req	*req;		/* NULL: gone meanwhile */
	struct key	*key;
	struct key_entry entry;		/* the thread's copy */
	char		*text;
	void		(*then)(struct req *);
	bool		 right;
};

bool
same_secret(const char *a, const char *b)
{
	size_t n = strlen(a);

	return (n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0);
}

struct keys *
keys_new(const char *path)
{
	struct keys *k = calloc(1, sizeof(*k));

	if (k == NULL || (k->path = strdup(path)) == NULL) {
		free(k);
		return (NULL);
	}
	co_random(k->salt, sizeof(k->salt));
	return (k);
}

void
keys_free(struct keys *k)
{

	if (k == NULL)
		return;
	for (size_t i = 0; i < k->n; i++)
		free(k->list[i]);
	free(k->list);
	free(k->path);
	free(k);
}

static struct key *
find(const struct keys *k, const char *id)
{

	for (size_t i = 0; i < k->n; i++)
		if (strncmp(k->list[i]->entry.id, id, KEY_IDLEN) == 0)
			return (k->list[i]);
	return (NULL);
}

static void
merge(struct keys *k, const struct key_entry *entry)
{
	struct key *key = find(k, entry->id), **list;

	if (key == NULL) {
		key = calloc(1, sizeof(*key));
		list = realloc(k->list, (k->n + 1) * sizeof(struct key *));
		if (list != NULL)
			k->list = list;
		if (key == NULL || list == NULL) {
			free(key);
			return;
		}
		k->list[k->n++] = key;
	} else if (memcmp(key->entry.hash, entry->hash, KEY_HASHLEN) != 0)
		key->known = false;
	key->entry = *entry;
	key->revoked = false;
}

/* Read the file again if it is another one. */
static void
refresh(struct keys *k)
{
	struct key_entry *list;
	struct co_error e;
	struct stat st;
	size_t n;

	if (stat(k->path, &st) != 0)
		st = (struct stat){ 0 };
	if (k->loaded && st.st_ino == k->inode &&
	    st.st_mtim.tv_sec == k->stamp.tv_sec &&
	    st.st_mtim.tv_nsec == k->stamp.tv_nsec)
		return;
	if (key_file_load(k->path, &list, &n, &e) != 0)
		return;
	k->loaded = true;
	k->inode = st.st_ino;
	k->stamp = st.st_mtim;
	k->active = n;
	for (size_t i = 0; i < k->n; i++)
		k->list[i]->revoked = true;
	for (size_t i = 0; i < n; i++)
		merge(k, &list[i]);
	free(list);
}

/* One who had keys and revoked them all is not open to everybody. */
bool
keys_none(struct keys *k)
{

	refresh(k);
	return (k->loaded && k->n == 0);
}

const char *
key_id(const struct key *key)
{

	return (key != NULL ? key->entry.id : "local");
}

bool
key_may(const struct key *key, enum scope scope)
{
	enum scope has;

	if (key == NULL)
		return (true);
	has = strcmp(key->entry.scope, "admin") == 0 ? SCOPE_ADMIN :
	    strcmp(key->entry.scope, "use") == 0 ? SCOPE_USE : SCOPE_READ;
	return (has >= scope);
}

uint64_t
key_max_sandboxes(const struct gw *gw, const struct key *key)
{

	return (key != NULL && key->entry.sandboxes != 0 ?
	    key->entry.sandboxes : (uint64_t)gw->s.sandboxes);
}

uint64_t
key_max_memory(const struct gw *gw, const struct key *key)
{

	return (key != NULL && key->entry.memory != 0 ? key->entry.memory :
	    (uint64_t)gw->s.memory);
}

unsigned int *
key_creating(struct key *key)
{
	static unsigned int local;

	return (key != NULL ? &key->creating : &local);
}

static bool
digest(const struct keys *k, const char *text, unsigned char out[DIGEST])
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	bool ok;

	ok = md != NULL && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
	    EVP_DigestUpdate(md, k->salt, sizeof(k->salt)) == 1 &&
	    EVP_DigestUpdate(md, text, strlen(text)) == 1 &&
	    EVP_DigestFinal_ex(md, out, NULL) == 1;
	EVP_MD_CTX_free(md);
	return (ok);
}

/* Take one from the bucket, which holds what two seconds bring. */
static bool
within_rate(struct req *r, struct key *key)
{
	double rate = (double)(key->entry.rate != 0 ? key->entry.rate :
	    (uint64_t)r->gw->s.rate);
	uint64_t now = uv_now(r->gw->loop);

	if (rate <= 0)
		return (true);
	if (key->filled == 0)
		key->tokens = 2 * rate;
	key->tokens += rate * (double)(now - key->filled) / 1000;
	if (key->tokens > 2 * rate)
		key->tokens = 2 * rate;
	key->filled = now;
	if (key->tokens < 1)
		return (false);
	key->tokens--;
	return (true);
}

static void
accept_key(struct req *r, struct key *key, void (*then)(struct req *))
{

	if (!within_rate(r, key)) {
		reply_error(r, 429, "this key made too many requests");
		return;
	}
	r->key = key;
	if (!key_may(key, SCOPE_ADMIN))
		(void)snprintf(r->as, sizeof(r->as), "key:%s", key->entry.id);
	then(r);
}

static void
deny(struct req *r)
{

	reply_error(r, 401, "the API key is not valid; \"coppicectl key "
	    "create\" makes one");
}

/*
 * The thread, and back from it.
 */
static void
work(uv_work_t *w)
{
	struct check *c = w->data;
	unsigned char hash[KEY_HASHLEN];

	c->right = key_hash(c->text, c->entry.salt, hash) == 0 &&
	    CRYPTO_memcmp(hash, c->entry.hash, KEY_HASHLEN) == 0;
}

static void
check_gone(struct req *r)
{
	struct check *c = r->data;

	c->req = NULL;
	r->data = NULL;
}

static const struct req_ops waiting = { .gone = check_gone };

static void
after(uv_work_t *w, int status)
{
	struct check *c = w->data;
	struct req *r = c->req;

	c->keys->checks--;
	/* It may have become another one meanwhile. */
	c->right = c->right && status == 0 && !c->key->revoked &&
	    memcmp(c->key->entry.hash, c->entry.hash, KEY_HASHLEN) == 0;
	if (c->right)
		c->key->known = digest(c->keys, c->text, c->key->digest);
	if (r != NULL) {
		r->ops = NULL;
		r->data = NULL;
		r->paused = false;
		if (c->right)
			accept_key(r, c->key, c->then);
		else
			deny(r);
		conn_soon(r->conn);
	}
	OPENSSL_cleanse(c->text, strlen(c->text));
	free(c->text);
	free(c);
}

static void
hash_later(struct req *r, struct key *key, const char *text,
    void (*then)(struct req *))
{
	struct keys *k = r->gw->keys;
	struct check *c = calloc(1, sizeof(*c));

	if (c == NULL || (c->text = strdup(text)) == NULL) {
		free(c);
		reply_error(r, 500, "out of memory");
		return;
	}
	c->keys = k;
	c->key = key;
	c->entry = key->entry;
	c->req = r;
	c->then = then;
	c->work.data = c;
	r->data = c;
	r->ops = &waiting;
	r->paused = true;
	k->checks++;
	(void)uv_queue_work(r->gw->loop, &c->work, work, after);
}

static const char *
key_of(const struct req *r)
{
	const char *s = http_field(&r->head, "x-api-key");

	if (s != NULL)
		return (s);
	s = http_field(&r->head, "authorization");
	return (s != NULL && strncasecmp(s, "Bearer ", 7) == 0 ? s + 7 :
	    NULL);
}

void
keys_check(struct req *r, void (*then)(struct req *))
{
	struct keys *k = r->gw->keys;
	const char *text = key_of(r);
	unsigned char d[DIGEST];
	struct key *key;

	if (keys_none(k)) {
		(void)snprintf(r->as, sizeof(r->as), "key:local");
		then(r);
		return;
	}
	if (text == NULL || !key_well_formed(text) ||
	    (key = find(k, text + strlen(KEY_PREFIX))) == NULL ||
	    key->revoked) {
		deny(r);
		return;
	}
	if (key->known && digest(k, text, d)) {
		if (CRYPTO_memcmp(d, key->digest, DIGEST) == 0)
			accept_key(r, key, then);
		else
			deny(r);
		return;
	}
	if (k->checks >= CHECKS_MAX) {
		reply_error(r, 429, "too many keys are being checked");
		return;
	}
	hash_later(r, key, text, then);
}

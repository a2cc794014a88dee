/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * TLS over bytes in memory, by OpenSSL.
 */

#include <stdlib.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "gw.h"

struct tls_ctx {
	SSL_CTX	*ssl;
};

struct tls {
	SSL	*ssl;
	BIO	*in, *out;
};

/* HTTP/1.1 is what we speak. */
static int
choose(SSL *ssl, const unsigned char **out, unsigned char *outlen,
    const unsigned char *in, unsigned int inlen, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *p;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&p, outlen, ours, sizeof(ours) - 1, in,
	    inlen) != OPENSSL_NPN_NEGOTIATED)
		return (SSL_TLSEXT_ERR_ALERT_FATAL);
	*out = p;
	return (SSL_TLSEXT_ERR_OK);
}

int
tls_ctx_new(const char *cert, const char *key, struct tls_ctx **cp,
    struct co_error *e)
{
	struct tls_ctx *c = calloc(1, sizeof(*c));

	if (c == NULL || (c->ssl = SSL_CTX_new(TLS_server_method())) == NULL) {
		free(c);
		return (co_error_set(e, CO_ESYS_NOMEM, NULL,
		    "out of memory"));
	}
	(void)SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION);
	(void)SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION);
	(void)SSL_CTX_set_mode(c->ssl, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(c->ssl, choose, NULL);
	if (SSL_CTX_use_certificate_chain_file(c->ssl, cert) == 1 &&
	    SSL_CTX_use_PrivateKey_file(c->ssl, key, SSL_FILETYPE_PEM) == 1 &&
	    SSL_CTX_check_private_key(c->ssl) == 1) {
		*cp = c;
		return (0);
	}
	SSL_CTX_free(c->ssl);
	free(c);
	return (co_error_set(e, CO_ESYS_CONFIG, cert, "\"%s\" and \"%s\" are "
	    "no certificate and its key: %s", cert, key,
	    ERR_reason_error_string(ERR_get_error())));
}

struct tls *
tls_new(struct tls_ctx *c)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return (NULL);
	t->ssl = SSL_new(c->ssl);
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	if (t->ssl == NULL || t->in == NULL || t->out == NULL) {
		SSL_free(t->ssl);
		BIO_free(t->in);
		BIO_free(t->out);
		free(t);
		return (NULL);
	}
	SSL_set_bio(t->ssl, t->in, t->out);
	SSL_set_accept_state(t->ssl);
	return (t);
}

void
tls_free(struct tls *t)
{

	if (t == NULL)
		return;
	SSL_free(t->ssl);
	free(t);
}

static void
flush(struct tls *t, struct buf *cipher)
{
	char *p;
	long n = BIO_get_mem_data(t->out, &p);

	if (n > 0)
		buf_add(cipher, p, (size_t)n);
	(void)BIO_reset(t->out);
}

int
tls_input(struct tls *t, const void *data, size_t len, struct buf *plain,
    struct buf *cipher)
{
	char piece[16 * 1024];
	int n;

	(void)BIO_write(t->in, data, (int)len);
	ERR_clear_error();
	while ((n = SSL_read(t->ssl, piece, sizeof(piece))) > 0)
		buf_add(plain, piece, (size_t)n);
	n = SSL_get_error(t->ssl, n);
	flush(t, cipher);
	return (n == SSL_ERROR_WANT_READ ? 0 : -1);
}

int
tls_output(struct tls *t, const void *data, size_t len, struct buf *cipher)
{
	const char *p = data;
	int n;

	ERR_clear_error();
	for (; len > 0; len -= (size_t)n, p += n) {
		n = SSL_write(t->ssl, p, len > 1 << 20 ? 1 << 20 : (int)len);
		if (n <= 0)
			return (-1);
	}
	flush(t, cipher);
	return (0);
}

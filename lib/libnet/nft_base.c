/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tables that all sandboxes share, through libnftables.  What the kernel
 * should list is found out by loading the same text in an empty network
 * namespace, so that a comparison needs no knowledge of nft(8)'s habits.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nftables/libnftables.h>

#include "nft_linux.h"

/* Run ${commands}; what they print goes to ${out} when that is not NULL. */
int
net_nft_run(const char *commands, char **out, struct co_error *e)
{
	struct nft_ctx *ctx;
	const char *err;
	int r;

	if ((ctx = nft_ctx_new(NFT_CTX_DEFAULT)) == NULL)
		return (co_error_set(e, CO_ENET_RULES, "nftables",
		    "can't open nftables; is nf_tables in the kernel?"));
	nft_ctx_buffer_output(ctx);
	nft_ctx_buffer_error(ctx);
	nft_ctx_output_set_flags(ctx, NFT_CTX_OUTPUT_NUMERIC_ALL |
	    NFT_CTX_OUTPUT_STATELESS);
	r = nft_run_cmd_from_buffer(ctx, commands);
	err = nft_ctx_get_error_buffer(ctx);
	if (r != 0)
		co_error_set(e, CO_ENET_RULES, "nftables",
		    "nftables refused our rules: %.600s", err);
	else if (out != NULL &&
	    (*out = strdup(nft_ctx_get_output_buffer(ctx))) == NULL)
		r = co_error_errno(e, ENOMEM, NULL, "rules");
	nft_ctx_free(ctx);
	return (r == 0 ? 0 : -1);
}

static const char *const base_chains[] = {
	"through", "outward", "inward", "arriving", "tohost", "leaving",
	"fromhost", "translate"
};

static const char *const base_sets[] = {
	"bridges", "gateway4", "gateway6", "service", "special4", "special6"
};

/*
 * List everything that is not a sandbox's; command by command, as one buffer
 * with tables of two families confuses libnftables' cache.
 */
static int
base_list(const struct net_conf *c, char **out, struct co_error *e)
{
	const size_t nc = sizeof(base_chains) / sizeof(base_chains[0]);
	const size_t ns = sizeof(base_sets) / sizeof(base_sets[0]);
	struct co_buf b = { 0 };
	char cmd[128], *one;
	size_t i;

	for (i = 0; i < nc + ns + 2; i++) {
		if (i < nc)
			snprintf(cmd, sizeof(cmd), "list chain inet %s %s",
			    c->instance, base_chains[i]);
		else if (i < nc + ns)
			snprintf(cmd, sizeof(cmd), "list set inet %s %s",
			    c->instance, base_sets[i - nc]);
		else
			snprintf(cmd, sizeof(cmd), "list chain bridge %s %s",
			    c->instance, i == nc + ns ? "ports" : "between");
		one = NULL;
		if (net_nft_run(cmd, &one, e) != 0 || one == NULL) {
			free(co_buf_take(&b));
			return (-1);
		}
		co_buf_add(&b, one, strlen(one));
		free(one);
	}
	if ((*out = co_buf_take(&b)) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	return (0);
}

struct trial {
	const struct net_conf *conf;
	const char	*load;
	char		*listing;
	struct co_error	*e;
	int		 r;
};

static void *
trial_thread(void *arg)
{
	struct trial *t = arg;

	if (unshare(CLONE_NEWNET) != 0) {
		t->r = co_error_errno(t->e, errno, "unshare",
		    "can't make a network namespace to try rules in");
		return (NULL);
	}
	if ((t->r = net_nft_run(t->load, NULL, t->e)) == 0)
		t->r = base_list(t->conf, &t->listing, t->e);
	return (NULL);
}

static int
base_expected(struct net_loader *ld, struct co_error *e)
{
	struct trial t = { .conf = ld->conf, .e = e, .r = -1 };
	pthread_t thread;
	char *text;
	int err;

	if (ld->expected != NULL)
		return (0);
	if ((text = net_render_nft_base(ld->conf)) == NULL)
		return (co_error_errno(e, ENOMEM, NULL, "rules"));
	t.load = text;
	if ((err = pthread_create(&thread, NULL, trial_thread, &t)) != 0)
		co_error_errno(e, err, NULL, "can't start a thread");
	else
		pthread_join(thread, NULL);
	free(text);
	ld->expected = t.listing;
	return (t.r);
}

int
net_rules_base_ok(struct net_loader *ld, struct co_error *e)
{
	char *have = NULL;
	int r;

	if (base_expected(ld, e) != 0)
		return (-1);
	r = base_list(ld->conf, &have, NULL) == 0 &&
	    strcmp(have, ld->expected) == 0;
	free(have);
	return (r);
}

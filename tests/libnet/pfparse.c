/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Recursive descent over pf.conf(5), line by line.
 */

#include <sys/socket.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pfparse.h"

#define	MAXTOK	4096		/* and one spare word behind them */
#define	MAXTABLES 256

struct parser {
	char		*tok[MAXTOK + 1];
	int		 n, at;
	const char	*why;
	struct pf_stats	*st;
	char		 table[MAXTABLES][32];
	int		 ntables;
	int		 section;	/* tables, nat, filter: only forward */
	bool		 scoped, inet6, inet;
};

static const char *
peek(struct parser *p)
{

	return (p->at < p->n ? p->tok[p->at] : "");
}

static bool
take(struct parser *p, const char *word)
{

	if (strcmp(peek(p), word) != 0)
		return (false);
	p->at++;
	return (true);
}

static bool
fail(struct parser *p, const char *why)
{

	if (p->why == NULL)
		p->why = why;
	return (false);
}

static bool
number(const char *s, unsigned long max)
{
	char *end;
	unsigned long v;

	if (!isdigit((unsigned char)*s))
		return (false);
	v = strtoul(s, &end, 10);
	return (*end == '\0' && v <= max);
}

static bool
address(const char *s, bool *six)
{
	char buf[64], *slash;
	unsigned char raw[16];

	if (strlen(s) >= sizeof(buf))
		return (false);
	strcpy(buf, s);
	if ((slash = strchr(buf, '/')) != NULL)
		*slash++ = '\0';
	*six = inet_pton(AF_INET6, buf, raw) == 1;
	if (!*six && inet_pton(AF_INET, buf, raw) != 1)
		return (false);
	return (slash == NULL || number(slash, *six ? 128 : 32));
}

static bool
ifname(const char *s)
{

	return (isalpha((unsigned char)*s) && strlen(s) < 16);
}

static bool
table_known(struct parser *p, const char *tok)
{
	char name[40];
	size_t len = strlen(tok);
	int i;

	if (len < 3 || len >= sizeof(name) || tok[len - 1] != '>')
		return (false);
	memcpy(name, tok + 1, len - 2);
	name[len - 2] = '\0';
	for (i = 0; i < p->ntables; i++)
		if (strcmp(p->table[i], name) == 0)
			return (true);
	return (false);
}

/* "table" "<" name ">" [ "persist" | "const" ] [ "{" addrs "}" ] */
static bool
table(struct parser *p)
{
	const char *t = peek(p);
	size_t len = strlen(t);
	bool six, any = false;

	if (t[0] != '<' || t[len - 1] != '>' || len < 3 || len - 2 > 31)
		return (fail(p, "table name"));
	if (p->ntables == MAXTABLES || p->section > 0)
		return (fail(p, "tables come first"));
	memcpy(p->table[p->ntables], t + 1, len - 2);
	p->table[p->ntables++][len - 2] = '\0';
	p->at++;
	while (take(p, "persist") || take(p, "const") ||
	    take(p, "counters"))
		;
	if (take(p, "{")) {
		while (!take(p, "}")) {
			if (!address(peek(p), &six))
				return (fail(p, "address in a table"));
			p->at++;
			any = true;
			if (!take(p, ",") && strcmp(peek(p), "}") != 0)
				return (fail(p, "comma in a table"));
		}
		if (!any)
			return (fail(p, "empty table"));
	}
	p->st->tables++;
	return (true);
}

/* host = [ "!" ] ( address | "<" table ">" | "(" if ")" ) | "any" */
static bool
host(struct parser *p, bool *named)
{
	bool six;

	*named = true;
	if (take(p, "any")) {
		*named = false;
		return (true);
	}
	(void)take(p, "!");
	if (take(p, "(")) {
		if (strcmp(peek(p), "self") != 0 && !ifname(peek(p)))
			return (fail(p, "interface in parentheses"));
		p->at++;
		return (take(p, ")") || fail(p, "closing parenthesis"));
	}
	if (peek(p)[0] == '<') {
		if (!table_known(p, peek(p)))
			return (fail(p, "unknown table"));
		p->at++;
		return (true);
	}
	if (!address(peek(p), &six))
		return (fail(p, "host"));
	if ((six && p->inet) || (!six && p->inet6))
		return (fail(p, "address of the other family"));
	p->at++;
	return (true);
}

/* "port" ( "=" n | n ":" n ) */
static bool
ports(struct parser *p)
{
	char buf[16], *colon;

	if (!take(p, "port"))
		return (true);
	if (take(p, "="))
		return (number(p->tok[p->at++], 65535) || fail(p, "port"));
	if (strlen(peek(p)) >= sizeof(buf))
		return (fail(p, "port range"));
	strcpy(buf, peek(p));
	if ((colon = strchr(buf, ':')) == NULL)
		return (fail(p, "port range"));
	*colon++ = '\0';
	if (!number(buf, 65535) || !number(colon, 65535) ||
	    atoi(buf) > atoi(colon))
		return (fail(p, "port range"));
	p->at++;
	return (true);
}

/* hosts = "all" | "from" host [ port ] "to" host [ port ] */
static bool
hosts(struct parser *p)
{
	bool a, b;

	if (take(p, "all"))
		return (true);
	if (!take(p, "from") || !host(p, &a) || !ports(p))
		return (fail(p, "from"));
	if (!take(p, "to") || !host(p, &b) || !ports(p))
		return (fail(p, "to"));
	p->scoped |= a || b;
	return (true);
}

static bool
family(struct parser *p)
{

	p->inet = take(p, "inet");
	p->inet6 = !p->inet && take(p, "inet6");
	return (true);
}

static bool
proto(struct parser *p, bool *ported)
{
	static const char *const names[] = {
		"tcp", "udp", "sctp", "icmp", "icmp6"
	};
	size_t i;

	*ported = false;
	if (!take(p, "proto"))
		return (true);
	for (i = 0; i < 5; i++)
		if (take(p, names[i])) {
			*ported = i < 3;
			if (i == 3 && p->inet6)
				return (fail(p, "icmp over inet6"));
			if (i == 4 && p->inet)
				return (fail(p, "icmp6 over inet"));
			return (true);
		}
	if (!number(peek(p), 255))
		return (fail(p, "protocol"));
	p->at++;
	return (true);
}

static bool
option(struct parser *p, bool pass)
{

	if (take(p, "keep"))
		return ((pass && take(p, "state")) || fail(p, "state"));
	if (take(p, "no"))
		return ((pass && take(p, "state")) || fail(p, "state"));
	if (take(p, "tag") || take(p, "tagged")) {
		if (!isalpha((unsigned char)*peek(p)))
			return (fail(p, "tag"));
		p->at++;
		return (true);
	}
	if (take(p, "icmp-type") || take(p, "icmp6-type")) {
		if (!isalpha((unsigned char)*peek(p)))
			return (fail(p, "icmp type"));
		p->at++;
		return (true);
	}
	if (take(p, "dnpipe"))
		return ((take(p, "(") && number(p->tok[p->at++], 65535) &&
		    take(p, ",") && number(p->tok[p->at++], 65535) &&
		    take(p, ")")) || fail(p, "dnpipe"));
	return (fail(p, "rule option"));
}

/* ( "pass" | "block" [ "drop" ] ) [dir] [quick] [on if] [af] [proto] hosts */
static bool
filter(struct parser *p, bool pass)
{
	bool ported;

	if (!pass && !take(p, "drop"))
		(void)take(p, "return");
	if (!take(p, "in"))
		(void)take(p, "out");
	(void)take(p, "log");
	(void)take(p, "quick");
	p->scoped = false;
	if (take(p, "on")) {
		if (!ifname(peek(p)))
			return (fail(p, "interface"));
		p->at++;
		p->scoped = true;
	}
	if (!family(p) || !proto(p, &ported) || !hosts(p))
		return (false);
	while (p->at < p->n)
		if (!option(p, pass))
			return (false);
	p->section = 2;
	p->st->passes += pass;
	p->st->blocks += !pass;
	p->st->unscoped += !p->scoped;
	return (true);
}

/* "nat" [on if] [af] hosts "->" "(" if ")" */
static bool
nat(struct parser *p)
{
	bool ported;

	if (p->section > 1)
		return (fail(p, "translation comes before filtering"));
	p->section = 1;
	if (!take(p, "on") || !ifname(peek(p)))
		return (fail(p, "interface"));
	p->at++;
	if (!family(p) || !proto(p, &ported) || !hosts(p))
		return (false);
	if (!take(p, "->") || !take(p, "(") || !ifname(peek(p)))
		return (fail(p, "translation address"));
	p->at++;
	if (!take(p, ")"))
		return (fail(p, "closing parenthesis"));
	p->st->nats++;
	return (true);
}

static bool
anchor(struct parser *p, bool isnat)
{
	const char *t = peek(p);

	if (t[0] != '"' || t[strlen(t) - 1] != '"' || strlen(t) < 3)
		return (fail(p, "anchor name"));
	if (isnat && p->section > 1)
		return (fail(p, "nat-anchor comes before filtering"));
	p->section = isnat ? 1 : 2;
	p->at++;
	*(isnat ? &p->st->nat_anchors : &p->st->anchors) += 1;
	return (true);
}

/* Words, with punctuation as words of their own. */
static bool
tokens(struct parser *p, char *line, char *store)
{
	static const char punct[] = "{}(),!=";
	static char none[1];
	bool quoted;

	p->n = p->at = 0;
	while (*line != '\0') {
		if (isspace((unsigned char)*line)) {
			line++;
			continue;
		}
		if (*line == '#')
			break;
		if (p->n == MAXTOK)
			return (fail(p, "too many words"));
		p->tok[p->n++] = store;
		if (strchr(punct, *line) != NULL) {
			*store++ = *line++;
			*store++ = '\0';
			continue;
		}
		quoted = *line == '"';
		do
			*store++ = *line++;
		while (*line != '\0' && (quoted ? *line != '"' :
		    !isspace((unsigned char)*line) &&
		    strchr(punct, *line) == NULL));
		if (quoted && *line == '"')
			*store++ = *line++;
		*store++ = '\0';
	}
	p->tok[p->n] = none;
	return (true);
}

static bool
statement(struct parser *p)
{
	bool ok;

	if (p->n == 0)
		return (true);
	if (take(p, "table"))
		ok = table(p);
	else if (take(p, "nat"))
		ok = nat(p);
	else if (take(p, "nat-anchor") || take(p, "rdr-anchor"))
		ok = anchor(p, true);
	else if (take(p, "anchor"))
		ok = anchor(p, false);
	else if (take(p, "pass"))
		ok = filter(p, true);
	else if (take(p, "block"))
		ok = filter(p, false);
	else
		ok = fail(p, "unknown statement");
	return (ok && (p->at == p->n || fail(p, "words left over")));
}

unsigned
pf_parse(const char *text, struct pf_stats *st, char *err, size_t size)
{
	struct parser *p;
	const char *nl;
	char *line, *store;
	unsigned number_ = 0;
	size_t n;
	bool ok = true;

	memset(st, 0, sizeof(*st));
	snprintf(err, size, "out of memory");
	n = strlen(text) + 1;
	p = calloc(1, sizeof(*p));
	line = malloc(n);
	store = malloc(2 * n + 2);
	if (p == NULL || line == NULL || store == NULL)
		abort();
	p->st = st;
	while (ok && *text != '\0') {
		number_++;
		nl = strchr(text, '\n');
		n = nl == NULL ? strlen(text) : (size_t)(nl - text);
		memcpy(line, text, n);
		line[n] = '\0';
		text += n + (nl != NULL);
		ok = tokens(p, line, store) && statement(p);
	}
	snprintf(err, size, "%s", p->why == NULL ? "" : p->why);
	free(store);
	free(line);
	free(p);
	return (ok ? 0 : number_);
}

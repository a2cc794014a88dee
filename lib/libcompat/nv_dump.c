/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A list as text, for people who debug.
 */

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "nv_internal.h"

static void
dump_number(FILE *fp, uint64_t n)
{
	fprintf(fp, "%" PRIu64 " (%" PRId64 ") (0x%" PRIx64 ")", n,
	    (int64_t)n, n);
}

static void
dump_item(FILE *fp, const struct nvpair *nvp, size_t i)
{
	switch (nvp->type) {
	case NV_TYPE_BOOL_ARRAY:
		fputs(nvp->v.bools[i] ? "TRUE" : "FALSE", fp);
		break;
	case NV_TYPE_NUMBER_ARRAY:
		dump_number(fp, nvp->v.numbers[i]);
		break;
	case NV_TYPE_STRING_ARRAY:
		fprintf(fp, "\"%s\"", nvp->v.strings[i]);
		break;
	case NV_TYPE_DESCRIPTOR_ARRAY:
		fprintf(fp, "%d", nvp->v.fds[i]);
		break;
	}
}

static void
dump_array(FILE *fp, const struct nvpair *nvp)
{
	size_t i;

	fputs(" [ ", fp);
	for (i = 0; i < nvp->nitems; i++) {
		dump_item(fp, nvp, i);
		if (i + 1 < nvp->nitems)
			fputs(", ", fp);
	}
	fputs(" ]\n", fp);
}

static void	dump_list(FILE *, const nvlist_t *, int level);

static void
dump_value(FILE *fp, const struct nvpair *nvp, int level)
{
	const unsigned char *p;
	size_t i;

	switch (nvp->type) {
	case NV_TYPE_NULL:
		fputs(" null\n", fp);
		break;
	case NV_TYPE_BOOL:
		fputs(nvp->v.number != 0 ? " TRUE\n" : " FALSE\n", fp);
		break;
	case NV_TYPE_NUMBER:
		fputc(' ', fp);
		dump_number(fp, nvp->v.number);
		fputc('\n', fp);
		break;
	case NV_TYPE_STRING:
		fprintf(fp, " [%s]\n", (const char *)nvp->v.data);
		break;
	case NV_TYPE_DESCRIPTOR:
		fprintf(fp, " %d\n", nvp->v.fd);
		break;
	case NV_TYPE_BINARY:
		fprintf(fp, " %zu ", nvp->size);
		for (p = nvp->v.data, i = 0; i < nvp->size; i++)
			fprintf(fp, "%02x", p[i]);
		fputc('\n', fp);
		break;
	case NV_TYPE_NVLIST:
		fputc('\n', fp);
		dump_list(fp, nvp->v.list, level + 1);
		break;
	case NV_TYPE_NVLIST_ARRAY:
		fprintf(fp, " %zu\n", nvp->nitems);
		for (i = 0; i < nvp->nitems; i++) {
			dump_list(fp, nvp->v.lists[i], level + 1);
			fprintf(fp, "%*s,\n", (level + 1) * 4, "");
		}
		break;
	default:
		dump_array(fp, nvp);
	}
}

static void
dump_list(FILE *fp, const nvlist_t *nvl, int level)
{
	const struct nvpair *nvp;

	if (nvlist_error(nvl) != 0) {
		fprintf(fp, "%*serror: %d\n", level * 4, "",
		    nvlist_error(nvl));
		return;
	}
	for (nvp = nvl->first; nvp != NULL; nvp = nvp->next) {
		fprintf(fp, "%*s%s (%s):", level * 4, "", nvp->name,
		    nv_type_name(nvp->type));
		dump_value(fp, nvp, level);
	}
}

void
nvlist_fdump(const nvlist_t *nvl, FILE *fp)
{
	dump_list(fp, nvl, 0);
	(void)fflush(fp);
}

void
nvlist_dump(const nvlist_t *nvl, int fd)
{
	FILE *fp;
	int copy;

	if ((copy = dup(fd)) == -1)
		return;
	if ((fp = fdopen(copy, "w")) == NULL) {
		(void)close(copy);
		return;
	}
	dump_list(fp, nvl, 0);
	(void)fclose(fp);
}

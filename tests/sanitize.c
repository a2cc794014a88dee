/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Linked into every test of the sanitize variant: the test framework keeps
 * its own tables until the end, which is not ours to report.
 */

const char *__lsan_default_options(void);
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{

	return ("leak:libatf-c\n");
}

/* A list of suppressions on stderr would spoil the list of test cases. */
const char *
__lsan_default_options(void)
{

	return ("print_suppressions=0");
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Messages in protocol buffers; the first byte says which.  What was read is
 * the same after it was written and read again.
 */

#include <stdlib.h>

#include "buf.h"
#include "pb.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static const struct pb_message *const messages[] = {
	&pb_start_request, &pb_send_input_request, &pb_stream_input_request,
	&pb_send_signal_request, &pb_watch_dir_request, &pb_move_request,
	&pb_process_response, &pb_list_dir_request
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct pb_message *m;
	struct buf b = { 0 };
	json_t *j, *k;

	if (size == 0)
		return (0);
	m = messages[data[0] % (sizeof(messages) / sizeof(messages[0]))];
	j = pb_decode(m, data + 1, size - 1);
	if (j == NULL)
		return (0);
	if (pb_encode(m, j, &b) != 0)
		abort();
	k = pb_decode(m, b.p, b.len);
	if (k == NULL || !json_equal(j, k))
		abort();
	json_decref(j);
	json_decref(k);
	buf_free(&b);
	return (0);
}

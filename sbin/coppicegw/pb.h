/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Protocol buffers, as far as envd's messages go: tables of messages, and
 * functions between their three forms: bytes, JSON as clients send it, and
 * JSON as the handlers see it.  The last has names in camel case, numbers of
 * 64 bits and bytes (base64) as strings, enumerations by name, and no value
 * of another type than the table says.
 */

#ifndef PB_H
#define PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct buf;

enum pb_type {
	PB_STRING, PB_BYTES, PB_BOOL, PB_UINT32, PB_SINT32, PB_INT64,
	PB_ENUM, PB_MESSAGE, PB_TIME, PB_MAP	/* of strings */
};

struct pb_value {
	const char	*name;		/* NULL ends a list */
	uint32_t	 number;
};

struct pb_message;

struct pb_field {
	uint32_t	 number;	/* 0 ends a list */
	const char	*name;
	enum pb_type	 type;
	bool		 repeated;
	const struct pb_message *sub;
	const struct pb_value *values;
};

struct pb_message {
	const struct pb_field *fields;
};

/**
 * pb_decode(m, data, len), pb_take(m, j):
 * Read bytes, or JSON of a client (which stays the caller's).  Return a new
 * object, or NULL if it is malformed.  Fields that the table does not know
 * are passed over.
 */
json_t *pb_decode(const struct pb_message *, const void *, size_t);
json_t *pb_take(const struct pb_message *, const json_t *);

/**
 * pb_encode(m, j, b):
 * Append ${j}, of our form, to ${b} as bytes.  Return 0, or -1.
 */
int pb_encode(const struct pb_message *, const json_t *, struct buf *);

extern const struct pb_message pb_empty, pb_list_response, pb_connect_request,
    pb_process_response, pb_start_request, pb_update_request,
    pb_stream_input_request, pb_send_input_request, pb_send_signal_request,
    pb_close_stdin_request, pb_stat_request, pb_entry_response,
    pb_move_request, pb_list_dir_request, pb_list_dir_response,
    pb_watch_dir_request, pb_watch_dir_response, pb_watcher_id,
    pb_watcher_events;

#endif /* PB_H */

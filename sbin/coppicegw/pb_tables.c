/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The messages of process.Process and filesystem.Filesystem.
 */

#include "pb.h"

#define	FIELD(n, name, t)	{ n, name, t, false, NULL, NULL }
#define	MANY(n, name, t)	{ n, name, t, true, NULL, NULL }
#define	SUB(n, name, m)		{ n, name, PB_MESSAGE, false, m, NULL }
#define	SUBS(n, name, m)	{ n, name, PB_MESSAGE, true, m, NULL }
#define	ENUM(n, name, v)	{ n, name, PB_ENUM, false, NULL, v }
#define	END			{ 0, NULL, PB_STRING, false, NULL, NULL }
#define	MESSAGE(name, ...)						\
	static const struct pb_field name##_fields[] = { __VA_ARGS__, END }; \
	const struct pb_message name = { name##_fields }
#define	PART(name, ...)							\
	static const struct pb_field name##_fields[] = { __VA_ARGS__, END }; \
	static const struct pb_message name = { name##_fields }

static const struct pb_field empty_fields[] = { END };
const struct pb_message pb_empty = { empty_fields };

static const struct pb_value signals[] = {
	{ "SIGNAL_UNSPECIFIED", 0 }, { "SIGNAL_SIGTERM", 15 },
	{ "SIGNAL_SIGKILL", 9 }, { NULL, 0 }
};
static const struct pb_value file_types[] = {
	{ "FILE_TYPE_UNSPECIFIED", 0 }, { "FILE_TYPE_FILE", 1 },
	{ "FILE_TYPE_DIRECTORY", 2 }, { "FILE_TYPE_SYMLINK", 3 }, { NULL, 0 }
};
static const struct pb_value event_types[] = {
	{ "EVENT_TYPE_UNSPECIFIED", 0 }, { "EVENT_TYPE_CREATE", 1 },
	{ "EVENT_TYPE_WRITE", 2 }, { "EVENT_TYPE_REMOVE", 3 },
	{ "EVENT_TYPE_RENAME", 4 }, { "EVENT_TYPE_CHMOD", 5 }, { NULL, 0 }
};

/* process.Process */
PART(size, FIELD(1, "cols", PB_UINT32), FIELD(2, "rows", PB_UINT32));
PART(pty, SUB(1, "size", &size));
PART(config, FIELD(1, "cmd", PB_STRING), MANY(2, "args", PB_STRING),
    FIELD(3, "envs", PB_MAP), FIELD(4, "cwd", PB_STRING));
PART(info, SUB(1, "config", &config), FIELD(2, "pid", PB_UINT32),
    FIELD(3, "tag", PB_STRING));
PART(selector, FIELD(1, "pid", PB_UINT32), FIELD(2, "tag", PB_STRING));
PART(input, FIELD(1, "stdin", PB_BYTES), FIELD(2, "pty", PB_BYTES));
PART(start_event, FIELD(1, "pid", PB_UINT32));
PART(data_event, FIELD(1, "stdout", PB_BYTES), FIELD(2, "stderr", PB_BYTES),
    FIELD(3, "pty", PB_BYTES));
PART(end_event, FIELD(1, "exitCode", PB_SINT32), FIELD(2, "exited", PB_BOOL),
    FIELD(3, "status", PB_STRING), FIELD(4, "error", PB_STRING));
PART(process_event, SUB(1, "start", &start_event),
    SUB(2, "data", &data_event), SUB(3, "end", &end_event),
    SUB(4, "keepalive", &pb_empty));
PART(input_start, SUB(1, "process", &selector));
PART(input_data, SUB(2, "input", &input));

MESSAGE(pb_list_response, SUBS(1, "processes", &info));
MESSAGE(pb_start_request, SUB(1, "process", &config), SUB(2, "pty", &pty),
    FIELD(3, "tag", PB_STRING), FIELD(4, "stdin", PB_BOOL));
MESSAGE(pb_update_request, SUB(1, "process", &selector),
    SUB(2, "pty", &pty));
MESSAGE(pb_process_response, SUB(1, "event", &process_event));
MESSAGE(pb_connect_request, SUB(1, "process", &selector));
MESSAGE(pb_close_stdin_request, SUB(1, "process", &selector));
MESSAGE(pb_send_input_request, SUB(1, "process", &selector),
    SUB(2, "input", &input));
MESSAGE(pb_send_signal_request, SUB(1, "process", &selector),
    ENUM(2, "signal", signals));
MESSAGE(pb_stream_input_request, SUB(1, "start", &input_start),
    SUB(2, "data", &input_data), SUB(3, "keepalive", &pb_empty));

/* filesystem.Filesystem */
PART(entry, FIELD(1, "name", PB_STRING), ENUM(2, "type", file_types),
    FIELD(3, "path", PB_STRING), FIELD(4, "size", PB_INT64),
    FIELD(5, "mode", PB_UINT32), FIELD(6, "permissions", PB_STRING),
    FIELD(7, "owner", PB_STRING), FIELD(8, "group", PB_STRING),
    FIELD(9, "modifiedTime", PB_TIME),
    FIELD(10, "symlinkTarget", PB_STRING), FIELD(11, "metadata", PB_MAP));
PART(fs_event, FIELD(1, "name", PB_STRING), ENUM(2, "type", event_types),
    SUB(3, "entry", &entry));

MESSAGE(pb_stat_request, FIELD(1, "path", PB_STRING));
MESSAGE(pb_entry_response, SUB(1, "entry", &entry));
MESSAGE(pb_move_request, FIELD(1, "source", PB_STRING),
    FIELD(2, "destination", PB_STRING));
MESSAGE(pb_list_dir_request, FIELD(1, "path", PB_STRING),
    FIELD(2, "depth", PB_UINT32));
MESSAGE(pb_list_dir_response, SUBS(1, "entries", &entry));
MESSAGE(pb_watch_dir_request, FIELD(1, "path", PB_STRING),
    FIELD(2, "recursive", PB_BOOL), FIELD(3, "includeEntry", PB_BOOL),
    FIELD(4, "allowNetworkMounts", PB_BOOL));
MESSAGE(pb_watch_dir_response, SUB(1, "start", &pb_empty),
    SUB(2, "filesystem", &fs_event), SUB(3, "keepalive", &pb_empty));
MESSAGE(pb_watcher_id, FIELD(1, "watcherId", PB_STRING));
MESSAGE(pb_watcher_events, SUBS(1, "events", &fs_event));

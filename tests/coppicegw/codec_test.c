/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The codecs: base64, envelopes, forms, protocol buffers, files of keys.
 */

#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atf-c.h>

#include "buf.h"
#include "connect.h"
#include "key_file.h"
#include "multipart.h"
#include "pb.h"

#define	COUNT(a)	(sizeof(a) / sizeof((a)[0]))

ATF_TC_WITHOUT_HEAD(base64);
ATF_TC_BODY(base64, tc)
{
	unsigned char data[64];
	struct buf b;
	size_t len;
	char *out;

	for (size_t n = 0; n <= sizeof(data); n++) {
		for (size_t i = 0; i < n; i++)
			data[i] = (unsigned char)(i * 37 + n);
		b = (struct buf){ 0 };
		buf_base64(&b, data, n);
		ATF_REQUIRE_EQ((n + 2) / 3 * 4, b.len);
		ATF_REQUIRE_EQ(0, base64_decode(b.p, b.len, &out, &len));
		ATF_REQUIRE_EQ(n, len);
		ATF_CHECK(memcmp(out, data, n) == 0);
		free(out);
		buf_free(&b);
	}
	ATF_REQUIRE_EQ(0, base64_decode("-_8", 3, &out, &len));
	ATF_CHECK_EQ(2, len);
	free(out);
	ATF_CHECK_EQ(-1, base64_decode("a", 1, &out, &len));
	ATF_CHECK_EQ(-1, base64_decode("a*aa", 4, &out, &len));
	ATF_CHECK_EQ(-1, base64_decode("a=aa", 4, &out, &len));
}

ATF_TC_WITHOUT_HEAD(envelope);
ATF_TC_BODY(envelope, tc)
{
	struct buf b = { 0 }, part = { 0 };
	unsigned int flags;
	const char *data;
	size_t len;

	connect_add(&b, 0, "{}", 2);
	connect_add(&b, CONNECT_END, "", 0);
	for (size_t i = 0; i < 7; i++) {
		ATF_CHECK_EQ(0, connect_next(&part, &flags, &data, &len));
		buf_add(&part, b.p + i, 1);
	}
	ATF_REQUIRE_EQ(1, connect_next(&b, &flags, &data, &len));
	ATF_CHECK_EQ(0, flags);
	ATF_CHECK_EQ(2, len);
	buf_take(&b, 7);
	ATF_REQUIRE_EQ(1, connect_next(&b, &flags, &data, &len));
	ATF_CHECK_EQ(CONNECT_END, flags);
	ATF_CHECK_EQ(0, len);
	buf_free(&b);
	buf_free(&part);
	/* too long, and compressed */
	buf_add(&b, "\0\x7f\xff\xff\xff", 5);
	ATF_CHECK_EQ(-1, connect_next(&b, &flags, &data, &len));
	buf_free(&b);
	buf_add(&b, "\1\0\0\0\0", 5);
	ATF_CHECK_EQ(-1, connect_next(&b, &flags, &data, &len));
	buf_free(&b);
	ATF_CHECK_STREQ("not_found", connect_name(CONNECT_NOTFOUND));
	ATF_CHECK_EQ(404, connect_status(CONNECT_NOTFOUND));
}

/* Read a form in pieces of n bytes; say what was in it. */
static char *
form(const char *type, const char *text, size_t n)
{
	struct multipart m;
	struct buf out = { 0 };
	enum multipart_event ev;
	const char *data;
	size_t len, left = strlen(text);

	buf_str(&out, "");
	if (multipart_init(&m, type) != 0) {
		buf_str(&out, "type");
		return (out.p);
	}
	do {
		ev = multipart_next(&m, &data, &len);
		if (ev == MULTIPART_MORE && left == 0) {
			buf_str(&out, "early");
			break;
		}
		if (ev == MULTIPART_MORE) {
			len = left < n ? left : n;
			multipart_add(&m, text, len);
			text += len;
			left -= len;
		} else if (ev == MULTIPART_PART)
			buf_fmt(&out, "%s/%s<", m.name, m.filename);
		else if (ev == MULTIPART_DATA)
			buf_add(&out, data, len);
		else if (ev == MULTIPART_END)
			buf_str(&out, ">");
	} while (ev != MULTIPART_DONE && ev != MULTIPART_BAD);
	if (ev == MULTIPART_BAD)
		buf_str(&out, "bad");
	multipart_free(&m);
	return (out.p);
}

ATF_TC_WITHOUT_HEAD(forms);
ATF_TC_BODY(forms, tc)
{
	static const char type[] = "multipart/form-data; boundary=\"b b\"";
	static const char good[] = "--b b\r\nContent-Disposition: form-data; "
	    "name=\"file\"; filename=\"/tmp/a%22\\\"b\"\r\n"
	    "Content-Type: text/plain\r\n\r\nhel\r\n--b\r\nlo\r\n--b b\r\n"
	    "content-disposition: form-data; filename=\"x\"; name=\"n\"\r\n"
	    "\r\n\r\n--b b--\r\nrest";
	static const char *const bad[][2] = {
		{ "--b b\r\n\r\nx\r\n--b b--", "bad" },
		{ "--b c\r\n", "bad" },
		{ "--b bXY", "bad" },
		{ "--b b\r\nA: b\r\n\r\n", "bad" },
		{ "--b b\r\nContent-Disposition: x; name=\"a\r\n\r\n", "bad" },
		{ "", "early" },
		{ "--b b\r\nContent-Disposition: x; name=\"a\"\r\n\r\nabc",
		    "a/<early" },
	};
	char *s;

	for (size_t n = 1; n < sizeof(good); n++) {
		s = form(type, good, n);
		ATF_CHECK_STREQ("file//tmp/a\"\"b<hel\r\n--b\r\nlo>n/x<>", s);
		free(s);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		s = form(type, bad[i][0], 3);
		ATF_CHECK_STREQ(bad[i][1], s);
		free(s);
	}
	s = form("multipart/form-data", "", 1);
	ATF_CHECK_STREQ("type", s);
	free(s);
	s = form("text/plain; boundary=x", "", 1);
	ATF_CHECK_STREQ("type", s);
	free(s);
	s = form("multipart/form-data; boundary=a\x01", "", 1);
	ATF_CHECK_STREQ("type", s);
	free(s);
}

ATF_TC_WITHOUT_HEAD(protobuf);
ATF_TC_BODY(protobuf, tc)
{
	/* process { cmd: "sh", args: ["-c", "x"], envs { A: "b" } },
	   pty { size { cols: 300, rows: 2 } }, stdin: true, and a field
	   that nobody knows */
	static const unsigned char wire[] = "\x0a\x16\x0a\x02sh\x12\x02-c"
	    "\x12\x01x\x1a\x06\x0a\x01" "A\x12\x01" "b\x22\x01/"
	    "\x12\x07\x0a\x05\x08\xac\x02\x10\x02\x20\x01\xf8\x01\x07";
	struct buf b = { 0 };
	json_t *j, *k;
	char *s;

	j = pb_decode(&pb_start_request, wire, sizeof(wire) - 1);
	ATF_REQUIRE(j != NULL);
	s = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);
	ATF_CHECK_STREQ("{\"process\":{\"args\":[\"-c\",\"x\"],\"cmd\":\"sh\","
	    "\"cwd\":\"/\",\"envs\":{\"A\":\"b\"}},\"pty\":{\"size\":{"
	    "\"cols\":300,\"rows\":2}},\"stdin\":true}", s);
	free(s);
	ATF_REQUIRE_EQ(0, pb_encode(&pb_start_request, j, &b));
	k = pb_decode(&pb_start_request, b.p, b.len);
	ATF_CHECK(json_equal(j, k));
	json_decref(j);
	json_decref(k);
	buf_free(&b);
	/* every shorter piece is malformed, or means something else */
	for (size_t n = 0; n < sizeof(wire) - 1; n++)
		json_decref(pb_decode(&pb_start_request, wire, n));
}

ATF_TC_WITHOUT_HEAD(protobuf_types);
ATF_TC_BODY(protobuf_types, tc)
{
	static const char text[] = "{\"entry\":{\"metadata\":{\"a\":\"b\"},"
	    "\"mode\":420,\"modifiedTime\":\"2026-01-02T03:04:05.000678Z\","
	    "\"name\":\"n\",\"size\":\"5000000000\","
	    "\"type\":\"FILE_TYPE_DIRECTORY\"}}";
	struct buf b = { 0 };
	json_t *j, *out;

	j = json_loads(text, 0, NULL);
	ATF_REQUIRE_EQ(0, pb_encode(&pb_entry_response, j, &b));
	ATF_CHECK(memmem(b.p, b.len, "\x10\x02", 2) != NULL);
	json_decref(j);
	buf_free(&b);
	j = json_loads("{\"event\":{\"end\":{\"exitCode\":-1}}}", 0, NULL);
	ATF_REQUIRE_EQ(0, pb_encode(&pb_process_response, j, &b));
	out = pb_decode(&pb_process_response, b.p, b.len);
	ATF_CHECK(json_equal(j, out));
	json_decref(j);
	json_decref(out);
	buf_free(&b);
	/* More than 32 bits of an enum are too many. */
	out = pb_decode(&pb_send_signal_request,
	    "\x10\x8f\x80\x80\x80\x80\x80\x10", 8);
	ATF_REQUIRE(out != NULL);
	ATF_CHECK_STREQ("SIGNAL_SIGTERM", json_string_value(json_object_get(
	    out, "signal")));
	json_decref(out);
}

ATF_TC_WITHOUT_HEAD(json_in);
ATF_TC_BODY(json_in, tc)
{
	static const char *const bad[] = {
		"{\"path\":1}", "{\"path\":[]}", "{\"recursive\":\"true\"}",
		"{\"recursive\":1}", "[]", "3"
	};
	json_t *j, *k;

	j = json_loads("{\"path\":\"/x\",\"include_entry\":true,\"other\":1,"
	    "\"recursive\":null}", 0, NULL);
	k = pb_take(&pb_watch_dir_request, j);
	ATF_REQUIRE(k != NULL);
	ATF_CHECK(json_is_true(json_object_get(k, "includeEntry")));
	ATF_CHECK_EQ(2, json_object_size(k));
	json_decref(j);
	json_decref(k);
	for (size_t i = 0; i < COUNT(bad); i++) {
		j = json_loads(bad[i], JSON_DECODE_ANY, NULL);
		k = pb_take(&pb_watch_dir_request, j);
		ATF_CHECK_MSG(k == NULL, "%s", bad[i]);
		json_decref(k);
		json_decref(j);
	}
	j = json_loads("{\"process\":{\"pid\":4294967296}}", 0, NULL);
	ATF_CHECK(pb_take(&pb_connect_request, j) == NULL);
	json_decref(j);
	j = json_loads("{\"signal\":\"SIGNAL_SIGHUP\"}", 0, NULL);
	ATF_CHECK(pb_take(&pb_send_signal_request, j) == NULL);
	json_decref(j);
	j = json_loads("{\"signal\":9}", 0, NULL);
	k = pb_take(&pb_send_signal_request, j);
	ATF_CHECK_STREQ("SIGNAL_SIGKILL", json_string_value(json_object_get(
	    k, "signal")));
	json_decref(j);
	json_decref(k);
}

ATF_TC_WITHOUT_HEAD(keys);
ATF_TC_BODY(keys, tc)
{
	struct key_entry k = { .name = "me", .scope = "use", .rate = 7 };
	struct key_entry *list;
	unsigned char hash[KEY_HASHLEN];
	char dir[1024], path[1100], key[sizeof(KEY_PREFIX) + KEY_DIGITS];
	struct co_error e;
	struct stat st;
	size_t n;
	int fd;

	ATF_REQUIRE(getcwd(dir, sizeof(dir)) != NULL);
	(void)snprintf(path, sizeof(path), "%s/gw/keys", dir);
	ATF_REQUIRE_EQ(0, key_file_load(path, &list, &n, &e));
	ATF_CHECK_EQ(0, n);
	ATF_REQUIRE_EQ(0, key_make(&k, key));
	ATF_CHECK(key_well_formed(key));
	ATF_CHECK(!key_well_formed(key + 1));
	ATF_REQUIRE_EQ_MSG(0, key_file_save(path, &k, 1, &e), "%s",
	    e.message);
	ATF_REQUIRE_EQ(0, stat(path, &st));
	ATF_CHECK_EQ(0640, st.st_mode & 07777);
	ATF_REQUIRE_EQ(0, key_file_load(path, &list, &n, &e));
	ATF_REQUIRE_EQ(1, n);
	ATF_CHECK_STREQ("me", list[0].name);
	ATF_CHECK_EQ(7, list[0].rate);
	ATF_REQUIRE_EQ(0, key_hash(key, list[0].salt, hash));
	ATF_CHECK(memcmp(hash, list[0].hash, KEY_HASHLEN) == 0);
	key[20] = key[20] == '0' ? '1' : '0';
	ATF_REQUIRE_EQ(0, key_hash(key, list[0].salt, hash));
	ATF_CHECK(memcmp(hash, list[0].hash, KEY_HASHLEN) != 0);
	free(list);
	/* what is no file of keys is no file without keys */
	fd = open(path, O_WRONLY | O_TRUNC);
	ATF_REQUIRE(fd != -1 && write(fd, "{}", 2) == 2);
	(void)close(fd);
	ATF_CHECK_EQ(-1, key_file_load(path, &list, &n, &e));
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, base64);
	ATF_TP_ADD_TC(tp, envelope);
	ATF_TP_ADD_TC(tp, forms);
	ATF_TP_ADD_TC(tp, protobuf);
	ATF_TP_ADD_TC(tp, protobuf_types);
	ATF_TP_ADD_TC(tp, json_in);
	ATF_TP_ADD_TC(tp, keys);
	return (atf_no_error());
}

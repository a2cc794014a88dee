/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * xo(3): the bytes that come out, in every style.  All of it also holds for
 * FreeBSD's own library, which the same source is linked with there.
 */

#include <errno.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <libxo/xo.h>

#include <atf-c.h>

static void
utf8(void)
{
	ATF_REQUIRE(setenv("LC_ALL", "C.UTF-8", 1) == 0);
	ATF_REQUIRE(setlocale(LC_ALL, "C.UTF-8") != NULL);
}

struct run {
	FILE		*fp;
	char		*text;
	size_t		 size;
	xo_handle_t	*xop;
};

static xo_handle_t *
start(struct run *r, xo_style_t style, xo_xof_flags_t flags)
{
	utf8();
	ATF_REQUIRE((r->fp = open_memstream(&r->text, &r->size)) != NULL);
	ATF_REQUIRE((r->xop = xo_create_to_file(r->fp, style, flags)) !=
	    NULL);
	return (r->xop);
}

static void
end(struct run *r, const char *expected)
{
	xo_destroy(r->xop);
	ATF_REQUIRE(fclose(r->fp) == 0);
	ATF_CHECK_STREQ(expected, r->text);
	free(r->text);
}

/* One call of xo_emit_h and nothing round it. */
#define	EMIT(style, flags, expected, ...)				\
	do {								\
		struct run r_;						\
									\
		ATF_CHECK(xo_emit_h(start(&r_, style, flags),		\
		    __VA_ARGS__) >= 0);					\
		end(&r_, expected);					\
	} while (0)
#define	TEXT(expected, ...)	EMIT(XO_STYLE_TEXT, 0, expected, __VA_ARGS__)

/* One call inside a container, for the styles that need one. */
#define	INSIDE(style, flags, expected, ...)				\
	do {								\
		struct run r_;						\
		xo_handle_t *x_ = start(&r_, style, flags);		\
									\
		(void)xo_open_container_h(x_, "t");			\
		ATF_CHECK(xo_emit_h(x_, __VA_ARGS__) >= 0);		\
		(void)xo_close_container_h(x_, "t");			\
		(void)xo_finish_h(x_);					\
		end(&r_, expected);					\
	} while (0)
#define	JSON(expected, ...)						\
	INSIDE(XO_STYLE_JSON, 0, "{\"t\": {" expected "}}\n", __VA_ARGS__)
#define	XML(expected, ...)						\
	INSIDE(XO_STYLE_XML, 0, "<t>" expected "</t>", __VA_ARGS__)

/* A document with everything that a command's list has. */
static void
document(xo_handle_t *x)
{
	(void)xo_open_container_h(x, "top");
	(void)xo_emit_h(x, "{T:ID/%-6s}{T:STATE/%-9s}{T:SIZE/%6s}\n");
	(void)xo_open_list_h(x, "sandbox");
	(void)xo_open_instance_h(x, "sandbox");
	(void)xo_emit_h(x, "{k:id/%-6s/%s}{:state/%-9s/%s}{:size/%6ju}\n",
	    "a1", "running", (uintmax_t)4096);
	(void)xo_open_container_h(x, "net");
	(void)xo_emit_h(x, "{P:  }{Lwc:Address}{:addr/%s}\n", "10.78.0.10");
	(void)xo_emit_h(x, "{P:  }{Lw:Names}{l:name/%s} {l:name/%s}\n", "x",
	    "y");
	(void)xo_close_container_h(x, "net");
	(void)xo_close_instance_h(x, "sandbox");
	(void)xo_open_instance_h(x, "sandbox");
	(void)xo_emit_h(x, "{k:id/%-6s/%s}{:state/%-9s/%s}{:size/%6ju}"
	    "{en:air-gap/%s}\n", "b2", "stopped", (uintmax_t)7, "true");
	(void)xo_close_instance_h(x, "sandbox");
	(void)xo_close_list_h(x, "sandbox");
	(void)xo_emit_h(x, "{Lwc:Total}{:total/%d}\n", 2);
	(void)xo_close_container_h(x, "top");
	(void)xo_finish_h(x);
}

ATF_TC_WITHOUT_HEAD(document_text);
ATF_TC_BODY(document_text, tc)
{
	struct run r;

	document(start(&r, XO_STYLE_TEXT, 0));
	end(&r,
	    "ID    STATE      SIZE\n"
	    "a1    running    4096\n"
	    "  Address: 10.78.0.10\n"
	    "  Names x y\n"
	    "b2    stopped       7\n"
	    "Total: 2\n");
}

ATF_TC_WITHOUT_HEAD(document_json);
ATF_TC_BODY(document_json, tc)
{
	struct run r;

	document(start(&r, XO_STYLE_JSON, 0));
	end(&r, "{\"top\": {\"sandbox\": [{\"id\":\"a1\","
	    "\"state\":\"running\",\"size\":4096, "
	    "\"net\": {\"addr\":\"10.78.0.10\", \"name\": [\"x\",\"y\"]}}, "
	    "{\"id\":\"b2\",\"state\":\"stopped\",\"size\":7,"
	    "\"air-gap\":true}],\"total\":2}}\n");
}

ATF_TC_WITHOUT_HEAD(document_json_pretty);
ATF_TC_BODY(document_json_pretty, tc)
{
	struct run r;

	document(start(&r, XO_STYLE_JSON, XOF_PRETTY));
	end(&r,
	    "{\n"
	    "  \"top\": {\n"
	    "    \"sandbox\": [\n"
	    "      {\n"
	    "        \"id\": \"a1\",\n"
	    "        \"state\": \"running\",\n"
	    "        \"size\": 4096,\n"
	    "        \"net\": {\n"
	    "          \"addr\": \"10.78.0.10\",\n"
	    "          \"name\": [\n"
	    "            \"x\",\n"
	    "            \"y\"\n"
	    "          ]\n"
	    "        }\n"
	    "      },\n"
	    "      {\n"
	    "        \"id\": \"b2\",\n"
	    "        \"state\": \"stopped\",\n"
	    "        \"size\": 7,\n"
	    "        \"air-gap\": true\n"
	    "      }\n"
	    "    ],\n"
	    "    \"total\": 2\n"
	    "  }\n"
	    "}\n");
}

ATF_TC_WITHOUT_HEAD(document_xml);
ATF_TC_BODY(document_xml, tc)
{
	struct run r;

	document(start(&r, XO_STYLE_XML, 0));
	end(&r, "<top><sandbox><id>a1</id><state>running</state>"
	    "<size>4096</size><net><addr>10.78.0.10</addr><name>x</name>"
	    "<name>y</name></net></sandbox><sandbox><id>b2</id>"
	    "<state>stopped</state><size>7</size><air-gap>true</air-gap>"
	    "</sandbox><total>2</total></top>");
}

ATF_TC_WITHOUT_HEAD(document_xml_pretty);
ATF_TC_BODY(document_xml_pretty, tc)
{
	struct run r;

	document(start(&r, XO_STYLE_XML, XOF_PRETTY));
	end(&r,
	    "<top>\n"
	    "  <sandbox>\n"
	    "    <id>a1</id>\n"
	    "    <state>running</state>\n"
	    "    <size>4096</size>\n"
	    "    <net>\n"
	    "      <addr>10.78.0.10</addr>\n"
	    "      <name>x</name>\n"
	    "      <name>y</name>\n"
	    "    </net>\n"
	    "  </sandbox>\n"
	    "  <sandbox>\n"
	    "    <id>b2</id>\n"
	    "    <state>stopped</state>\n"
	    "    <size>7</size>\n"
	    "    <air-gap>true</air-gap>\n"
	    "  </sandbox>\n"
	    "  <total>2</total>\n"
	    "</top>\n");
}

ATF_TC_WITHOUT_HEAD(empty);
ATF_TC_BODY(empty, tc)
{
	struct run r;
	xo_handle_t *x;

	(void)xo_finish_h(start(&r, XO_STYLE_JSON, 0));
	end(&r, "{ }\n");
	(void)xo_finish_h(start(&r, XO_STYLE_XML, 0));
	end(&r, "");
	(void)xo_finish_h(start(&r, XO_STYLE_TEXT, 0));
	end(&r, "");

	x = start(&r, XO_STYLE_JSON, XOF_PRETTY);
	(void)xo_open_list_h(x, "none");
	(void)xo_close_list_h(x, "none");
	(void)xo_finish_h(x);
	end(&r, "{\n  \"none\": [\n  ]\n}\n");
}

ATF_TC_WITHOUT_HEAD(roles);
ATF_TC_BODY(roles, tc)
{
	TEXT("Name      |abc  |X", "{T:Name/%-10s}|{T:/%-5s}|{T:X}", "abc");
	TEXT("Label:", "{Lc:Label}");
	TEXT("Label: 5 kB note.", "{Lwc:Label}{:n/%d}{Uw:kB}{Nw:note}{D:.}",
	    5);
	TEXT("[ab]", "{D:[}{L:/%s}{D:]}", "ab");
	TEXT("   x", "{P:/%3s}{:v/%s}", "", "x");
	TEXT("a=1", "{La:}{D:=}{a:/%d}", "a", "name", 1);
	TEXT("red", "{C:red}{:v/%s}{C:/fg-%s}{C:}", "red", "blue");
	TEXT("E W", "{E:E} {W:W}");
	JSON("\"v\":1", "{T:/%s}{L:/%s}{Lwc:x}{U:b}{N:/%d}{P:  }{:v/%d}{C:/%s}",
	    "t", "l", 9, 1, "c");
	JSON("\"name\":1", "{La:}{D:=}{a:/%d}", "a", "name", 1);
	JSON("\"__error\": {\"message\":\"bad\"}", "{E:bad}");
	JSON("\"__warning\": {\"message\":\"bad 7\"}", "{W:/bad %d}", 7);
	XML("<__error><message>bad</message></__error>", "{E:bad}");
	JSON("\"a\":1", "{,value,key:a/%d}{,label,colon:b}", 1);
	TEXT("1b:", "{,value,key:a/%d}{,label,colon:b}", 1);
}

ATF_TC_WITHOUT_HEAD(quoting);
ATF_TC_BODY(quoting, tc)
{
	JSON("\"a\":-1,\"b\":2,\"c\":3,\"d\":1.50,\"e\":7",
	    "{:a/%d}{:b/%u}{:c/%jd}{:d/%.2f}{:e/%5zu}", -1, 2u, (intmax_t)3,
	    1.5, (size_t)7);
	JSON("\"a\":\"ff\",\"b\":\"7 %\",\"c\":\"A\",\"d\":\"n1\"",
	    "{:a/%x}{:b/%d%%/%d %%}{:c/%c}{:d/n%d}", 255u, 7, 'A', 1);
	JSON("\"a\":\"5\",\"b\":true,\"c\":true,\"d\":null",
	    "{q:a/%d}{n:b/%s}{:c/}{n:d/%s}", 5, "true", (char *)NULL);
	JSON("\"a\":\"(null)\"", "{:a}", (char *)NULL);
	XML("<a>(null)</a><b>null</b>", "{:a}{n:b}", (char *)NULL,
	    (char *)NULL);
	JSON("\"s\":\"on\"", "{:s/%d/on}");
	TEXT("1", "{:s/%d/%s}", 1);
}

ATF_TC_WITHOUT_HEAD(escapes);
ATF_TC_BODY(escapes, tc)
{
	JSON("\"s\":\"a\\\"b\\\\c\\nd\\re\tf</\"", "{:s}",
	    "a\"b\\c\nd\re\tf</");
	JSON("\"s\":\"a   \\\"x\\\"\"", "{:s/%-4s%s}", "a", "\"x\"");
	XML("<s>a&lt;b&gt;&amp;\"c'</s>", "{:s}", "a<b>&\"c'");
	TEXT("a<b>&\"c\\", "{:s}", "a<b>&\"c\\");
	TEXT("{braces} 100% /:}", "{{braces}} 100% {L:\\/\\:\\}}");
	TEXT("a%b", "{:s/a%%b}");
	TEXT("50%", "{:s/%d}{U:%%}", 50);
	XML("<_9x>1</_9x>", "{:9x/%d}", 1);
}

ATF_TC_WITHOUT_HEAD(characters);
ATF_TC_BODY(characters, tc)
{
	TEXT("caf\u00e9   |", "{:s/%-7s}|", "caf\u00e9");
	TEXT("  \u65e5\u672c|", "{:s/%6s}|", "\u65e5\u672c");
	TEXT("caf|\u65e5|", "{:s/%..3s}|{:t/%..3s}|", "caf\u00e9",
	    "\u65e5\u672c");
	TEXT("abc|", "{:s/%.3s}|", "abcdef");
	TEXT("  ab|", "{:s/%*.*s}|", 4, 2, "abcdef");
	TEXT("ab  |", "{:s/%*s}|", -4, "ab");
	TEXT("w\u00efde \u65e5", "{:s/%ls} {:t/%S}", L"w\u00efde",
	    L"\u65e5");
	TEXT("\u00fcber", "{:s/%hs}", "\u00fcber");
	TEXT("\u00e9 text", "\u00e9 text");
	JSON("\"s\":\"caf\u00e9\",\"t\":\"\u65e5\"", "{:s}{:t/%ls}",
	    "caf\u00e9", L"\u65e5");
	/* Bytes that are not UTF-8 stay in data, and vanish from text. */
	JSON("\"s\":\"\xff\xc3\"", "{:s}", "\xff\xc3");
	TEXT("<>", "<{:s}>", "\xff\xc3");
	TEXT("A z", "{:c/%c} {:d/%lc}", 'A', (wint_t)L'z');
}

ATF_TC_WITHOUT_HEAD(conversions);
ATF_TC_BODY(conversions, tc)
{
	struct run r;
	xo_handle_t *x;

	TEXT("-7|007|+7| 7|0x1f|0X1F|17", "{:a/%d}|{:b/%03d}|{:c/%+d}|{:d/% d}|"
	    "{:e/%#x}|{:f/%#X}|{:g/%o}", -7, 7, 7, 7, 31u, 31u, 15u);
	TEXT("-1 255 65535 1", "{:a/%hhd} {:b/%hhu} {:c/%hu} {:d/%hd}", 255,
	    255, 65535, 1);
	TEXT("1 2 3 4 5 6", "{:a/%ld} {:b/%llu} {:c/%jd} {:d/%zu} {:e/%td} "
	    "{:f/%qd}", 1L, 2ULL, (intmax_t)3, (size_t)4, (ptrdiff_t)5,
	    6LL);
	TEXT("1.5 2 1.000e+00 0.1 3", "{:a/%.1f} {:b/%.f} {:c/%.3e} {:d/%g} "
	    "{:e/%.0f}", 1.5, 2.0, 1.0, 0.1, 3.0);
	TEXT("    7|7    |00007", "{:a/%*d}|{:b/%-*d}|{:c/%.*d}", 5, 7, 5, 7,
	    5, 7);
	TEXT("x-1-y 2", "{:a/x-%d-%s} {:b/%d}", 1, "y", 2);
	x = start(&r, XO_STYLE_TEXT, 0);
	errno = ENOENT;
	(void)xo_emit_h(x, "{:e/%m}|{:f/%-30m}|");
	end(&r, "No such file or directory|No such file or directory     |");
	/* Arguments of what is not shown are taken all the same. */
	TEXT("end", "{e:a/%d}{e:b/%s}{e:c/%f}{e:d/%*d}{:z}", 1, "x", 2.5, 3,
	    4, "end");
	JSON("\"z\":\"end\"", "{d:a/%d}{d:b/%s}{d:c/%f}{d:d/%*s}{:z}", 1, "x",
	    2.5, 3, "y", "end");
	/* A width goes away in data; a format for data is used as it is. */
	JSON("\"a\":7,\"b\":\"x\",\"c\":\"y   \",\"d\":\"z\",\"e\":007",
	    "{:a/%5d}{:b/%5s}{:c/%-4s}{t:d/%-4s}{:e/%d/%03d}", 7, "x", "y",
	    "z", 7);
	JSON("\"a\":\"5\",\"b\":6", "{qt:a/%-4d}{t:b/% 4d}", 5, 6);
}

ATF_TC_WITHOUT_HEAD(anchors);
ATF_TC_BODY(anchors, tc)
{
	TEXT("       1/2|", "{[:10}{:a/%d}/{:b/%d}{]:}|", 1, 2);
	TEXT("1/2       |", "{[:-10}{:a/%d}/{:b/%d}{]:}|", 1, 2);
	TEXT("    ab|", "{[:/%d}{:a/%s}{]:}|", 6, "ab");
	TEXT("    ab|", "{[:}{:a/%s}{]:6}|", "ab");
	TEXT("abcdef|", "{[:3}{:a/%s}{]:}|", "abcdef");
	TEXT("   \u65e5|", "{[:5}{:a/%s}{]:}|", "\u65e5");
	JSON("\"a\":1,\"b\":2", "{[:10}{:a/%d}/{:b/%d}{]:}|", 1, 2);
}

ATF_TC_WITHOUT_HEAD(humanize);
ATF_TC_BODY(humanize, tc)
{
	TEXT("44M 1K 1023 0", "{h:a/%ju} {h:b/%d} {h:c/%d} {h:d/%d}",
	    (uintmax_t)44 << 20, 1024, 1023, 0);
	TEXT("1.5K 10K 1.0M", "{h,hn-decimal:a/%d} {h,hn-decimal:b/%d} "
	    "{h,hn-decimal:c/%d}", 1536, 10240, 1048576);
	TEXT("2 k|2k", "{h,hn-space,hn-1000:a/%d}|{hn,hn-1000:b/%d}", 2000,
	    2000);
	JSON("\"a\":1024", "{h:a/%d}", 1024);
	EMIT(XO_STYLE_TEXT, XOF_NO_HUMANIZE, "1024", "{h:a/%d}", 1024);
}

ATF_TC_WITHOUT_HEAD(plural);
ATF_TC_BODY(plural, tc)
{
	TEXT("1 box", "{:n/%d} {Np:box,boxes}", 1);
	TEXT("2 boxes", "{:n/%d} {Np:box,boxes}", 2);
	TEXT("0 boxes", "{:n/%d} {Np:box,boxes}", 0);
	TEXT("11 boxes", "{:n/%d} {Np:box,boxes}", 11);
}

ATF_TC_WITHOUT_HEAD(columns);
ATF_TC_BODY(columns, tc)
{
	struct run r;
	xo_handle_t *x;

	x = start(&r, XO_STYLE_TEXT, XOF_COLUMNS);
	ATF_CHECK_EQ(9, xo_emit_h(x, "a {:s} {:d/%3d}b", "\u65e5", 7));
	ATF_CHECK_EQ(0, xo_emit_h(x, ""));
	end(&r, "a \u65e5   7b");
}

/* Formats that make no sense: nothing is written, nothing breaks. */
ATF_TC_WITHOUT_HEAD(malformed);
ATF_TC_BODY(malformed, tc)
{
	static const char *const formats[] = {
		"{", "{:", "{:a", "{:a/", "{:a/%d", "{:a/%d/", "{a}", "{}",
		"{{", "{{x", "{{x}", "text {:a/%d", "{Q:a}", "{TL:a}",
		"{:a\\", "{\\", "{:a/\\", "{k", "{k/%d}", "{,",
		"fine\n{:oops\n",
	};
	struct run r;
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		ATF_CHECK_EQ_MSG(-1, xo_emit_h(start(&r, XO_STYLE_TEXT, 0),
		    formats[i], 1, 2, 3), "%s", formats[i]);
		end(&r, "");
	}
	TEXT("ok} }}", "{:a}} }}", "ok");
	TEXT("1", "{,no-such-word:a/%d}", 1);
	ATF_CHECK_EQ(0, xo_emit_h(start(&r, XO_STYLE_TEXT, 0), NULL));
	end(&r, "");
}

ATF_TC_WITHOUT_HEAD(closing);
ATF_TC_BODY(closing, tc)
{
	struct run r;
	xo_handle_t *x;

	/* A close takes along what is inside; finish takes all. */
	x = start(&r, XO_STYLE_JSON, 0);
	(void)xo_open_container_h(x, "a");
	(void)xo_open_list_h(x, "l");
	(void)xo_open_instance_h(x, "l");
	(void)xo_open_container_h(x, "b");
	(void)xo_emit_h(x, "{:v/%d}", 1);
	(void)xo_close_container_h(x, "a");
	(void)xo_open_container_h(x, "c");
	(void)xo_finish_h(x);
	end(&r, "{\"a\": {\"l\": [{\"b\": {\"v\":1}}]}, \"c\": {}}\n");

	/* An instance makes its list; the next one closes the one before. */
	x = start(&r, XO_STYLE_JSON, 0);
	(void)xo_open_container_h(x, "a");
	(void)xo_open_instance_h(x, "i");
	(void)xo_emit_h(x, "{:v/%d}", 1);
	(void)xo_open_instance_h(x, "i");
	(void)xo_emit_h(x, "{:v/%d}", 2);
	(void)xo_close_list_h(x, "i");
	(void)xo_emit_h(x, "{l:z/%d}{l:z/%d}{:y/%d}", 3, 4, 5);
	(void)xo_finish_h(x);
	end(&r, "{\"a\": {\"i\": [{\"v\":1}, {\"v\":2}], \"z\": [3,4],"
	    "\"y\":5}}\n");

	/* What is not open cannot be closed. */
	x = start(&r, XO_STYLE_XML, 0);
	(void)xo_open_container_h(x, "a");
	(void)xo_close_container_h(x, "b");
	(void)xo_close_list_h(x, "a");
	(void)xo_close_instance_h(x, "a");
	(void)xo_emit_h(x, "{:v/%d}", 1);
	(void)xo_finish_h(x);
	end(&r, "<a><v>1</v></a>");
}

ATF_TC_WITHOUT_HEAD(remembered);
ATF_TC_BODY(remembered, tc)
{
	struct run r;
	xo_handle_t *x;

	x = start(&r, XO_STYLE_XML, 0);
	(void)xo_open_container_hd(x, "a");
	(void)xo_open_list_hd(x, "l");
	(void)xo_open_instance_hd(x, "i");
	(void)xo_emit_h(x, "{:v/%d}", 1);
	(void)xo_close_instance_hd(x);
	(void)xo_close_list_hd(x);
	(void)xo_close_container_hd(x);
	(void)xo_finish_h(x);
	end(&r, "<a><i><v>1</v></i></a>");
}

ATF_TC_WITHOUT_HEAD(markers);
ATF_TC_BODY(markers, tc)
{
	struct run r;
	xo_handle_t *x;

	x = start(&r, XO_STYLE_JSON, 0);
	(void)xo_open_container_h(x, "a");
	(void)xo_open_marker_h(x, "m");
	(void)xo_open_container_h(x, "b");
	(void)xo_close_container_h(x, "a");	/* the marker is in the way */
	(void)xo_emit_h(x, "{:v/%d}", 1);
	(void)xo_close_marker_h(x, "m");
	(void)xo_emit_h(x, "{:w/%d}", 2);
	(void)xo_close_container_h(x, "a");
	(void)xo_finish_h(x);
	end(&r, "{\"a\": {\"b\": {\"v\":1},\"w\":2}}\n");
}

ATF_TC_WITHOUT_HEAD(flags);
ATF_TC_BODY(flags, tc)
{
	INSIDE(XO_STYLE_JSON, XOF_UNDERSCORES, "{\"t\": {\"a_b\":1}}\n",
	    "{:a-b/%d}", 1);
	INSIDE(XO_STYLE_JSON, XOF_NO_TOP, "\"t\": {\"a\":1}", "{:a/%d}", 1);
	INSIDE(XO_STYLE_XML, XOF_KEYS, "<t><a key=\"key\">1</a></t>",
	    "{k:a/%d}", 1);
	INSIDE(XO_STYLE_XML, XOF_UNITS,
	    "<t><a units=\"kB\">1</a><b>2</b></t>", "{:a/%d}{U:kB}{:b/%d}",
	    1, 2);
	INSIDE(XO_STYLE_XML, 0, "<t><a>1</a></t>", "{k:a/%d}{U:kB}", 1);
}

ATF_TC_WITHOUT_HEAD(versions_and_attributes);
ATF_TC_BODY(versions_and_attributes, tc)
{
	struct run r;
	xo_handle_t *x;

	x = start(&r, XO_STYLE_JSON, XOF_PRETTY);
	xo_set_version_h(x, "3");
	(void)xo_open_container_h(x, "t");
	(void)xo_finish_h(x);
	end(&r, "{\n  \"__version\": \"3\", \n  \"t\": {\n\n  }\n}\n");

	x = start(&r, XO_STYLE_XML, 0);
	xo_set_version_h(x, "3");
	(void)xo_open_container_h(x, "t");
	(void)xo_attr_h(x, "n", "%d<", 7);
	(void)xo_emit_h(x, "{:a/%d}{:b/%d}", 1, 2);
	(void)xo_finish_h(x);
	end(&r, "<t version=\"3\"><a n=\"7&lt;\">1</a><b>2</b></t>");

	x = start(&r, XO_STYLE_TEXT, 0);
	xo_set_version_h(x, "3");
	(void)xo_attr_h(x, "n", "%d", 7);
	(void)xo_emit_h(x, "{:a/%d}", 1);
	(void)xo_finish_h(x);
	end(&r, "1");
}

ATF_TC_WITHOUT_HEAD(single_fields);
ATF_TC_BODY(single_fields, tc)
{
	struct run r;
	xo_handle_t *x;

	x = start(&r, XO_STYLE_TEXT, 0);
	(void)xo_emit_field_h(x, "Lwc", "Size", NULL, NULL);
	(void)xo_emit_field_h(x, NULL, "n", "%-4d", NULL, 7);
	(void)xo_emit_field_h(x, ",title", "End", "%5s", NULL);
	ATF_CHECK_EQ(-1, xo_emit_field_h(x, "Q", "n", "%d", NULL, 7));
	end(&r, "Size: 7     End");

	x = start(&r, XO_STYLE_JSON, 0);
	(void)xo_open_container_h(x, "t");
	(void)xo_emit_field_h(x, "q", "n", "%-4d", "%d", 7);
	(void)xo_emit_field_h(x, "V", "s", NULL, NULL, "x");
	(void)xo_finish_h(x);
	end(&r, "{\"t\": {\"n\":\"7\",\"s\":\"x\"}}\n");
}

ATF_TC_WITHOUT_HEAD(styles);
ATF_TC_BODY(styles, tc)
{
	struct run r;
	xo_handle_t *x;

	x = start(&r, XO_STYLE_TEXT, 0);
	ATF_CHECK_EQ(XO_STYLE_TEXT, xo_get_style(x));
	ATF_CHECK_EQ(0, xo_set_style_name(x, "json"));
	ATF_CHECK_EQ(XO_STYLE_JSON, xo_get_style(x));
	ATF_CHECK_EQ(-1, xo_set_style_name(x, "no-such"));
	xo_set_style(x, XO_STYLE_XML);
	ATF_CHECK_EQ(XO_STYLE_XML, xo_get_style(x));
	ATF_CHECK_EQ(0, xo_set_options(x, "json,pretty,indent=1"));
	ATF_CHECK_EQ(XO_STYLE_JSON, xo_get_style(x));
	ATF_CHECK((xo_get_flags(x) & XOF_PRETTY) != 0);
	(void)xo_open_container_h(x, "t");
	(void)xo_emit_h(x, "{:a/%d}", 1);
	(void)xo_finish_h(x);
	xo_clear_flags(x, XOF_PRETTY);
	ATF_CHECK((xo_get_flags(x) & XOF_PRETTY) == 0);
	ATF_CHECK_EQ(0, xo_set_options(x, ":XW"));
	ATF_CHECK_EQ(XO_STYLE_XML, xo_get_style(x));
	ATF_CHECK((xo_get_flags(x) & XOF_WARN) != 0);
	end(&r, "{\n \"t\": {\n  \"a\": 1\n }\n}\n");
}

static xo_ssize_t
gather(void *opaque, const char *s)
{
	(void)strcat(opaque, s);
	return ((xo_ssize_t)strlen(s));
}

static int
count_flush(void *opaque)
{
	(void)strcat(opaque, ".");
	return (0);
}

ATF_TC_WITHOUT_HEAD(writers);
ATF_TC_BODY(writers, tc)
{
	char text[128];
	xo_handle_t *x;

	utf8();
	text[0] = '\0';
	ATF_REQUIRE((x = xo_create(XO_STYLE_TEXT, 0)) != NULL);
	xo_set_writer(x, text, gather, NULL, count_flush);
	xo_clear_flags(x, XOF_FLUSH_LINE);
	(void)xo_emit_h(x, "a\n");
	ATF_CHECK_STREQ("", text);
	(void)xo_flush_h(x);
	ATF_CHECK_STREQ("a\n.", text);
	xo_set_flags(x, XOF_FLUSH);
	(void)xo_emit_h(x, "b\n");
	ATF_CHECK_STREQ("a\n.b\n.", text);
	xo_destroy(x);
}

ATF_TC_WITHOUT_HEAD(large);
ATF_TC_BODY(large, tc)
{
	struct run r;
	xo_handle_t *x;
	size_t each, i, n;
	char *big;

	n = 300000;
	ATF_REQUIRE((big = malloc(n + 1)) != NULL);
	/* Escapes in long strings are not safe in libxo 1.6. */
#ifdef COMPAT_XO
	memset(big, '"', n);
	each = 2;
#else
	memset(big, 'x', n);
	each = 1;
#endif
	big[n] = '\0';
	x = start(&r, XO_STYLE_JSON, XOF_NO_TOP);
	for (i = 0; i < 100; i++)
		(void)xo_open_container_h(x, "c");
	(void)xo_emit_h(x, "{:s}", big);
	(void)xo_finish_h(x);
	xo_destroy(x);
	ATF_REQUIRE(fclose(r.fp) == 0);
	ATF_CHECK_EQ(100 * strlen("\"c\": {}") + strlen("\"s\":\"\"") +
	    each * n, r.size);
	free(r.text);
	free(big);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, document_text);
	ATF_TP_ADD_TC(tp, document_json);
	ATF_TP_ADD_TC(tp, document_json_pretty);
	ATF_TP_ADD_TC(tp, document_xml);
	ATF_TP_ADD_TC(tp, document_xml_pretty);
	ATF_TP_ADD_TC(tp, empty);
	ATF_TP_ADD_TC(tp, roles);
	ATF_TP_ADD_TC(tp, quoting);
	ATF_TP_ADD_TC(tp, escapes);
	ATF_TP_ADD_TC(tp, characters);
	ATF_TP_ADD_TC(tp, conversions);
	ATF_TP_ADD_TC(tp, anchors);
	ATF_TP_ADD_TC(tp, humanize);
	ATF_TP_ADD_TC(tp, plural);
	ATF_TP_ADD_TC(tp, columns);
	ATF_TP_ADD_TC(tp, malformed);
	ATF_TP_ADD_TC(tp, closing);
	ATF_TP_ADD_TC(tp, remembered);
	ATF_TP_ADD_TC(tp, markers);
	ATF_TP_ADD_TC(tp, flags);
	ATF_TP_ADD_TC(tp, versions_and_attributes);
	ATF_TP_ADD_TC(tp, single_fields);
	ATF_TP_ADD_TC(tp, styles);
	ATF_TP_ADD_TC(tp, writers);
	ATF_TP_ADD_TC(tp, large);
	return (atf_no_error());
}

/*-
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The protocol as it is on the wire, spoken to the real shim by hand: by
 * text alone, and wrongly.  Also over a serial line.
 */

#include <sys/socket.h>
#include <sys/wait.h>

#include <atf-c.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "client.h"
#include "plat.h"

static pid_t shim;
static int chan;
static char got[262144];
static size_t len;

static pid_t
start(const char *how, const char *what, int fd)
{
	const char *argv[] = { "coppice-shim", how, what, "--run", "run",
	    NULL }, *env[] = { NULL }, *prog = getenv("COPPICE_SHIM");
	pid_t pid;

	ATF_REQUIRE((pid = plat_fork(0)) != -1);
	if (pid == 0) {
		if (fd != -1 && (dup2(fd, 3) != 3 || fcntl(3, F_SETFD,
		    0) != 0))
			_exit(1);
		plat_exec(prog != NULL ? prog : SHIM_PROG, argv, env);
		_exit(1);
	}
	return (pid);
}

static void
begin(void)
{
	int sv[2];

	signal(SIGPIPE, SIG_IGN);
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	(void)fcntl(sv[0], F_SETFD, FD_CLOEXEC);
	shim = start("--fd", "3", sv[1]);
	close(sv[1]);
	chan = sv[0];
	len = 0;
}

static void
say(const char *text)
{

	ATF_REQUIRE(write(chan, text, strlen(text)) == (ssize_t)strlen(text));
}

/* Read until text was said, or the end; tell which. */
static bool
hear(const char *text)
{
	struct pollfd p = { .fd = chan, .events = POLLIN };
	ssize_t n;

	for (;;) {
		got[len] = '\0';
		if (text != NULL && memmem(got, len, text, strlen(text)) !=
		    NULL)
			return (true);
		ATF_REQUIRE_MSG(poll(&p, 1, WAIT_MS) == 1,
		    "waited for '%s', heard '%s'", text, got);
		n = read(chan, got + len, sizeof(got) - 1 - len);
		if (n <= 0)
			return (false);
		len += (size_t)n;
	}
}

static void
end(void)
{
	int status;

	close(chan);
	ATF_REQUIRE(waitpid(shim, &status, 0) == shim);
	ATF_CHECK_EQ_MSG(0, status, "the shim ended with %#x", status);
}

#define	HELLO	"{\"type\":\"hello\",\"version\":1,\"nonce\":\"n1\"}\n"

ATF_TC_WITHOUT_HEAD(text);
ATF_TC_BODY(text, tc)
{

	begin();
	say(HELLO);
	ATF_CHECK(hear("\"nonce\":\"n1\""));
	ATF_CHECK_EQ('\n', got[0]);
	say("{\"type\":\"exec\",\"id\":42,\"command\":\"printf 'a\\\\377b'; "
	    "cat\",\"cwd\":\"/\",\"stdin\":\"pipe\","
	    "\"env\":{\"A\":\"b\"}}\n");
	ATF_CHECK(hear("{\"type\":\"step_started\",\"id\":42,"));
	say("{\"type\":\"stdin\",\"id\":42,\"offset\":0,\"data\":\"typed "
	    "\\u20ac\\udcfe\\u0000\",\"eof\":true}\n");
	ATF_CHECK(hear("\"data\":\"a\\udcffb"));
	ATF_CHECK(hear("typed \xe2\x82\xac\\udcfe\\u0000\"}\n"));
	ATF_CHECK(hear("{\"type\":\"step_completed\",\"id\":42,"
	    "\"exit_code\":0,"));
	/* Payload after the line works all the same. */
	say("{\"type\":\"write\",\"req\":1,\"path\":\"/dev/null\"}\n"
	    "{\"type\":\"data\",\"req\":1,\"offset\":0,\"bytes\":5,"
	    "\"eof\":true}\nab\ncd");
	ATF_CHECK(hear("{\"type\":\"reply\",\"req\":1,\"offset\":5}"));
	end();
}

/* What a host must not do ends the connection, with a word why. */
ATF_TC_WITHOUT_HEAD(wrong);
ATF_TC_BODY(wrong, tc)
{
	static const char *const bad[] = {
		"nonsense\n",
		"{\"type\":\"exec\"}\n",
		"{\"type\":\"nosuch\",\"id\":1}\n",
		"{\"type\":\"exec\",\"id\":0,\"command\":\"x\"}\n",
		"{\"type\":\"exec\",\"id\":1,\"command\":\"x\","
		    "\"unknown\":1}\n",
		"{\"type\":\"exec\",\"id\":1,\"id\":2,\"command\":\"x\"}\n",
		"{\"type\":\"exec\",\"id\":1,\"command\":7}\n",
		"{\"type\":\"exec\",\"id\":1,\"command\":\"a\\u0000b\"}\n",
		"{\"type\":\"exec\",\"id\":1,\"command\":\"x\",\"fds\":2}\n",
		"{\"type\":\"output\",\"id\":1,\"stream\":\"stdout\","
		    "\"offset\":0,\"data\":\"x\"}\n",
		"{\"type\":\"exec\",\"id\":1,\"command\":\"sleep 100\"}\n"
		    "{\"type\":\"exec\",\"id\":1,\"command\":\"true\"}\n",
		"{\"type\":\"exec\",\"id\":1,\"command\":\"sleep 100\"}\n"
		    "{\"type\":\"ack\",\"id\":1,\"offset\":5}\n",
		"{\"type\":\"exec\",\"id\":1,\"command\":\"sleep 100\","
		    "\"stdin\":\"pipe\"}\n{\"type\":\"stdin\",\"id\":1,"
		    "\"offset\":7,\"data\":\"x\"}\n",
		"{\"type\":\"data\",\"req\":1,\"offset\":0,"
		    "\"bytes\":65537}\n",
		"{\"type\":\"data\",\"req\":1,\"offset\":0,\"bytes\":1,"
		    "\"data\":\"x\"}\n",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin();
		say(HELLO);
		ATF_CHECK(hear("\"nonce\":\"n1\""));
		say(bad[i]);
		ATF_CHECK_MSG(hear("{\"type\":\"error\",\"error\":\"EPROTO\""),
		    "%s", bad[i]);
		ATF_CHECK(!hear(NULL));
		end();
	}
}

ATF_TC_WITHOUT_HEAD(silent);
ATF_TC_BODY(silent, tc)
{
	static char line[300000];

	/* Before a hello nothing counts and nothing is said. */
	begin();
	say("{\"type\":\"exec\",\"id\":1,\"command\":\"touch bad\"}\n");
	memset(line, 'x', sizeof(line) - 1);
	say(line);
	say("\n" HELLO);
	ATF_CHECK(hear("\"nonce\":\"n1\""));
	ATF_CHECK_EQ('\n', got[0]);
	ATF_CHECK(memmem(got, len, "step", 4) == NULL);
	ATF_CHECK(access("bad", F_OK) != 0);
	/* After it, a line without end is too long. */
	say(line);
	ATF_CHECK(hear("EPROTO"));
	ATF_CHECK(!hear(NULL));
	end();
	/* A hello in the middle begins anew. */
	begin();
	say(HELLO);
	say("{\"type\":\"exec\",\"id\":1,\"command\":\"sleep 0.3; "
	    "echo x\"}\n");
	ATF_CHECK(hear("step_started"));
	say("{\"type\":\"hello\",\"version\":1,\"nonce\":\"n2\"}\n");
	ATF_CHECK(hear("\"nonce\":\"n2\""));
	say("{\"type\":\"attach\",\"id\":1}\n");
	ATF_CHECK(hear("\"data\":\"x\\n\""));
	ATF_CHECK(hear("step_completed"));
	end();
}

/* Requests without end, from a host that reads nothing. */
ATF_TC_WITHOUT_HEAD(flood);
ATF_TC_BODY(flood, tc)
{
	static const char ask[] = "{\"type\":\"ps\",\"req\":1}\n";
	struct pollfd p;
	long rss;
	int full = 0, sent = 0;
	size_t at = 0;
	ssize_t n;

	begin();
	say(HELLO);
	ATF_CHECK(hear("\"nonce\":\"n1\""));
	ATF_REQUIRE(fcntl(chan, F_SETFL, O_NONBLOCK) == 0);
	while (sent < 1000000 && full < 5) {
		n = write(chan, ask + at, sizeof(ask) - 1 - at);
		ATF_REQUIRE(n > 0 || errno == EAGAIN);
		if (n > 0) {
			at = (at + (size_t)n) % (sizeof(ask) - 1);
			sent += at == 0;
			continue;
		}
		p = (struct pollfd){ .fd = chan, .events = POLLOUT };
		full = poll(&p, 1, 200) == 1 ? 0 : full + 1;
	}
	rss = plat_rss(shim);
	printf("%d requests until it stopped reading; %ld KiB\n", sent, rss);
	ATF_CHECK_EQ(5, full);
	ATF_CHECK_MSG(plat_sanitized() || rss < 4096, "%ld KiB", rss);
	end();
}

/* A terminal line between both, which the host leaves and comes back to. */
ATF_TC_WITHOUT_HEAD(serial);
ATF_TC_BODY(serial, tc)
{
	struct termios tio;
	const char *name;
	int keep;

	signal(SIGPIPE, SIG_IGN);
	chan = posix_openpt(O_RDWR | O_NOCTTY);
	ATF_REQUIRE(chan != -1 && grantpt(chan) == 0 && unlockpt(chan) == 0);
	ATF_REQUIRE((name = ptsname(chan)) != NULL);
	ATF_REQUIRE((keep = open(name, O_RDWR | O_NOCTTY)) != -1);
	ATF_REQUIRE(tcgetattr(keep, &tio) == 0);
	cfmakeraw(&tio);
	ATF_REQUIRE(tcsetattr(keep, TCSANOW, &tio) == 0);
	shim = start("--serial", name, -1);
	say(HELLO);
	ATF_CHECK(hear("\"nonce\":\"n1\""));
	say("{\"type\":\"exec\",\"id\":9,\"command\":\"echo over the "
	    "wire\"}\n");
	ATF_CHECK(hear("over the wire\\n"));
	ATF_CHECK(hear("step_completed"));
	/* Garbage of a host that died in the middle of a line. */
	say("{\"type\":\"ex");
	say("\nrubbish\n");
	ATF_CHECK(hear("EPROTO"));
	len = 0;
	say("{\"type\":\"hello\",\"version\":1,\"nonce\":\"n3\"}\n");
	ATF_CHECK(hear("\"nonce\":\"n3\""));
	say("{\"type\":\"attach\",\"id\":9}\n");
	ATF_CHECK(hear("step_completed"));
	say("{\"type\":\"shutdown\"}\n");
	close(keep);
	end();
}

ATF_TP_ADD_TCS(tp)
{

	ATF_TP_ADD_TC(tp, text);
	ATF_TP_ADD_TC(tp, wrong);
	ATF_TP_ADD_TC(tp, silent);
	ATF_TP_ADD_TC(tp, flood);
	ATF_TP_ADD_TC(tp, serial);
	return (atf_no_error());
}
